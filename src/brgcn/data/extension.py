"""Nodes that came after training: a graph grown by the triples of a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import torch
from torch import Tensor

from brgcn.data.assemble import warn_of_unused_drops
from brgcn.data.named_graph import NamedGraph, first_occurrences, join_names
from brgcn.data.names import NameTable
from brgcn.data.rdf import is_rdf, read_rdf
from brgcn.data.triples import Columns, TripleReader
from brgcn.errors import DataError


@dataclass(frozen=True, eq=False)
class Extension:
    """The grown graph; the ids of the old nodes and relations are what they were."""

    named_graph: NamedGraph
    new_nodes: Tensor  # [n] ids of the nodes that were not there, ascending
    warnings: tuple[str, ...]


def extend(
    named_graph: NamedGraph,
    path: str | Path,
    *,
    drop_relations: Sequence[str] = (),
    columns: Columns | None = None,
    same_blank_nodes: bool = False,
) -> Extension:
    """Add the triples of an RDF file or a table.

    A model knows only the relations it was trained with: triples of another relation are left out with a warning. An
    edge that is there already is not added again. Blank nodes belong to their file, so those of ``path`` are new nodes
    even where their labels are known; ``same_blank_nodes`` says that the file continues the first one.
    """
    if named_graph.graph.has_inverse:
        raise DataError("the graph has inverse relations", remedy="Extend it first, then call with_inverse().")
    path = Path(path).expanduser()
    names, relations, triples, warnings = _read(path, drop_relations, columns)
    relation_ids = {name: i for i, name in enumerate(named_graph.relation_names)}
    known_relation = torch.tensor([relation_ids.get(name, -1) for name in relations])
    relation = known_relation[triples[:, 1]]
    kept = relation >= 0
    if not bool(kept.all()):
        unknown = [name for name in relations if name not in relation_ids]
        warnings.append(
            f"{int((~kept).sum())} of {len(triples)} triples of {path.name} were left out, because the graph does "
            f"not have their relations: {join_names(unknown, limit=10)}"
        )
    head, tail = triples[kept, 0], triples[kept, 2]

    ids = named_graph.find_nodes(names)
    if is_rdf(path) and not same_blank_nodes:
        names, renamed = _fresh_blank_nodes(named_graph, names, ids)
        if renamed:
            warnings.append(f"{renamed} blank nodes of {path.name} have labels of the graph; they are other nodes")
    ids, new_names = _number_new_nodes(ids, names, torch.cat([head, tail]), len(named_graph.node_names))

    old = named_graph.triples()
    together = torch.cat([old, torch.stack([ids[head], relation[kept], ids[tail]], dim=1)])
    # Parallel edges of the old graph stay, so only the added part is looked at.
    wanted = first_occurrences(together)
    wanted[: len(old)] = True
    grown = NamedGraph.from_triples(
        NameTable.from_names(chain(named_graph.node_names, new_names)),
        named_graph.relation_names,
        together[wanted],
        rdf=is_rdf(path) or len(named_graph.literals) > 0,
    )
    first_new = len(named_graph.node_names)
    return Extension(grown, torch.arange(first_new, first_new + len(new_names)), tuple(warnings))


def _read(
    path: Path, drop_relations: Sequence[str], columns: Columns | None
) -> tuple[list[str], list[str], Tensor, list[str]]:
    if is_rdf(path):
        content = read_rdf(path, drop_relations)
        warnings = [*content.warnings, *warn_of_unused_drops(drop_relations, content.dropped)]
        return content.node_names, content.relation_names, content.triples, warnings
    reader = TripleReader(columns, drop_relations)
    triples = reader.read(path)
    warnings = [*reader.warnings, *warn_of_unused_drops(drop_relations, reader.dropped)]
    return list(reader.nodes), list(reader.relations), triples, warnings


def _fresh_blank_nodes(named_graph: NamedGraph, names: list[str], ids: Tensor) -> tuple[list[str], int]:
    """Give blank nodes whose labels are taken a label of their own; their ``ids`` become -1."""
    taken = [row for row, name in enumerate(names) if name.startswith("_:") and ids[row] >= 0]
    ids[taken] = -1
    names = list(names)
    in_file = set(names)
    for row in taken:
        count = 2
        while (fresh := f"{names[row]}-{count}") in in_file or fresh in named_graph.node_names:
            count += 1
        in_file.add(fresh)
        names[row] = fresh
    return names, len(taken)


def _number_new_nodes(ids: Tensor, names: list[str], used: Tensor, first_id: int) -> tuple[Tensor, list[str]]:
    """Ids for the unknown among the nodes that occur in kept triples, and their names in that order."""
    occurs = torch.zeros(len(names), dtype=torch.bool)
    occurs[used] = True
    new = ((ids < 0) & occurs).nonzero().squeeze(1)
    ids = ids.clone()
    ids[new] = torch.arange(first_id, first_id + new.numel())
    return ids, [names[row] for row in new.tolist()]
