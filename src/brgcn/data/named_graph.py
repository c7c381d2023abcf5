"""A graph together with the names of its nodes and relations, and one file to keep it in."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from brgcn.data.files import atomic_write, check_file
from brgcn.data.literals import Literals
from brgcn.data.names import NameTable
from brgcn.errors import DataError, GraphError
from brgcn.graph import RelationalGraph

FORMAT_VERSION = 1
_LAYOUT = ("node_ptr", "pair_ptr", "pair_relation", "edge_source", "edge_order")


@dataclass(frozen=True, eq=False)
class NamedGraph:
    """A ``RelationalGraph`` with what its ids stand for.

    A node is a full RDF term. The name of an IRI is its bare text, that of a literal its N-Triples form
    (``"text"@en``), that of a blank node ``_:label``, so that an IRI and a literal with the same text are two nodes.
    """

    graph: RelationalGraph
    node_names: NameTable
    relation_names: tuple[str, ...]
    literals: Literals

    @classmethod
    def from_triples(
        cls, node_names: Iterable[str], relation_names: Iterable[str], triples: Tensor, *, rdf: bool
    ) -> NamedGraph:
        """Sort ``triples`` [n, 3] (head, relation, tail) into a graph; an edge leads from head to tail."""
        names = node_names if isinstance(node_names, NameTable) else NameTable.from_names(node_names)
        relations = tuple(relation_names)
        head, relation, tail = triples.unbind(1)
        graph = RelationalGraph.from_edges(torch.stack([head, tail]), relation, len(names), len(relations))
        return cls(graph, names, relations, Literals.from_names(names) if rdf else Literals.none(names))

    def find_nodes(self, names: Iterable[str]) -> Tensor:
        """[n] ids of the named nodes, -1 where unknown; an IRI may stand in angle brackets."""
        given = list(names)
        ids = self.node_names.find(given)
        bracketed = [row for row, name in enumerate(given) if name.startswith("<") and name.endswith(">")]
        if bracketed:
            rows = torch.tensor(bracketed)
            bare = self.node_names.find(given[row][1:-1] for row in bracketed)
            ids[rows] = torch.where(ids[rows] >= 0, ids[rows], bare)
        return ids

    def triples(self) -> Tensor:
        """[num_edges, 3] head, relation, tail in the order in which the edges were given."""
        graph = self.graph
        given = torch.empty_like(graph.edge_order)
        given[graph.edge_order] = torch.arange(graph.num_edges)
        return torch.stack([graph.edge_source, graph.edge_type, graph.edge_target], dim=1)[given]

    def save(self, path: str | Path) -> None:
        """Write one safetensors file, beside its place first and then renamed."""
        write_tensors(Path(path), "named graph", *self.pack())

    @classmethod
    def load(cls, path: str | Path) -> NamedGraph:
        """Open what ``save`` wrote; the arrays stay on disk and are mapped into memory."""
        tensors, facts = read_tensors(Path(path), "named graph")
        return cls.unpack(tensors, facts, where=str(path))

    def pack(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Tensors and JSON-ready facts from which ``unpack`` makes the same graph."""
        tensors = {f"graph.{name}": getattr(self.graph, name) for name in _LAYOUT}
        tensors |= {f"names.{name}": tensor for name, tensor in self.node_names.tensors().items()}
        tensors |= {"literals.nodes": self.literals.nodes, "literals.datatype": self.literals.datatype}
        facts = {
            "num_nodes": self.graph.num_nodes,
            "num_relations": self.graph.num_relations,
            "has_inverse": self.graph.has_inverse,
            "relation_names": list(self.relation_names),
            "datatype_names": list(self.literals.datatype_names),
        }
        return tensors, facts

    @classmethod
    def unpack(cls, tensors: Mapping[str, Tensor], facts: Mapping[str, Any], *, where: str) -> NamedGraph:
        """The inverse of ``pack``; inconsistent arrays are an error, because the file may have been damaged."""
        try:
            node_ptr, pair_ptr, pair_relation, edge_source, edge_order = (tensors[f"graph.{name}"] for name in _LAYOUT)
            graph = RelationalGraph(
                num_nodes=int(facts["num_nodes"]),
                num_relations=int(facts["num_relations"]),
                node_ptr=node_ptr,
                pair_ptr=pair_ptr,
                pair_relation=pair_relation,
                edge_source=edge_source,
                edge_order=edge_order,
                has_inverse=bool(facts["has_inverse"]),
            )
            _check_layout(graph)
            names = NameTable.from_tensors({key.removeprefix("names."): value for key, value in tensors.items()})
            literals = Literals(
                tensors["literals.nodes"], tensors["literals.datatype"], tuple(facts["datatype_names"]), names
            )
            relation_names = tuple(facts["relation_names"])
            if len(names) != graph.num_nodes or len(relation_names) != graph.num_original_relations:
                raise GraphError("names and graph differ in size")
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise DataError(f"the stored graph is damaged ({error})", where=where, remedy="Make it again.") from error
        return cls(graph, names, relation_names, literals)


def first_occurrences(triples: Tensor) -> Tensor:
    """[n] bool, False for rows of ``triples`` [n, 3] that repeat an earlier one."""
    keep = torch.ones(len(triples), dtype=torch.bool, device=triples.device)
    if len(triples) == 0:
        return keep
    sizes = (triples.amax(dim=0) + 1).tolist()
    if math.prod(sizes) < torch.iinfo(torch.int64).max:
        order = torch.argsort((triples[:, 0] * sizes[1] + triples[:, 1]) * sizes[2] + triples[:, 2], stable=True)
    else:
        order = torch.arange(len(triples), device=triples.device)
        for column in (2, 1, 0):  # stable sorts, the last key first
            order = order[torch.argsort(triples[order, column], stable=True)]
    ordered = triples[order]
    keep[order[1:]] = (ordered[1:] != ordered[:-1]).any(dim=1)
    return keep


# ---------------------------------------------------------------------- the file


def write_tensors(path: Path, kind: str, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
    """One safetensors file with ``facts`` as JSON in its header."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    header = {"brgcn": json.dumps({"kind": kind, "version": FORMAT_VERSION, **facts})}
    with atomic_write(path) as beside:
        try:
            save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, str(beside), metadata=header)
        except SafetensorError as error:
            if code := re.search(r"\(os error (\d+)\)", str(error)):  # a full disk, say
                raise OSError(int(code[1]), os.strerror(int(code[1])), str(path)) from error
            raise


def read_tensors(path: Path, kind: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Memory-mapped tensors and the facts of a file that ``write_tensors`` wrote."""
    from safetensors import SafetensorError, safe_open

    check_file(path)
    where = str(path)
    named = kind if kind.endswith("s") else f"a {kind}"
    remedy = f"Give {named} that brgcn wrote."
    try:
        with safe_open(path, framework="pt") as stored:
            facts = json.loads((stored.metadata() or {}).get("brgcn", "{}"))
            if facts.get("kind") != kind:
                raise DataError(f"this is not {named} of brgcn", where=where, remedy=remedy)
            if facts.get("version") != FORMAT_VERSION:
                raise DataError(
                    f"the file has format version {facts.get('version')}, this brgcn reads {FORMAT_VERSION}",
                    where=where,
                    remedy="Make it again.",
                )
            return {name: stored.get_tensor(name) for name in stored.keys()}, facts  # noqa: SIM118
    except (SafetensorError, json.JSONDecodeError, AttributeError, OSError) as error:
        message = f"damaged, cut short or not a readable safetensors file ({error})"
        raise DataError(message, where=where, remedy=remedy) from error


def _check_layout(graph: RelationalGraph) -> None:
    pairs, edges = graph.num_pairs, graph.num_edges
    fits = (
        graph.node_ptr.numel() == graph.num_nodes + 1
        and graph.pair_ptr.numel() == pairs + 1
        and graph.edge_order.numel() == edges
        and (int(graph.node_ptr[0]), int(graph.node_ptr[-1])) == (0, pairs)
        and (int(graph.pair_ptr[0]), int(graph.pair_ptr[-1])) == (0, edges)
        and _within(graph.edge_source, graph.num_nodes)
        and _within(graph.pair_relation, graph.num_relations)
    )
    if not fits:
        raise GraphError("the arrays do not fit each other")


def _within(ids: Tensor, size: int) -> bool:
    if ids.numel() == 0:
        return True
    low, high = torch.aminmax(ids)
    return int(low) >= 0 and int(high) < size


def join_names(names: Sequence[str], limit: int = 3) -> str:
    """The first few names, for messages."""
    more = ", …" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more
