"""The two-level layout of a multi-relational graph: node -> pair -> edge.

Edges are sorted once by (target node, relation, source). What results is two nested ragged arrays::

    node i ──┬── pair (i, r1) ──┬── edge from j1
             │                  └── edge from j2
             └── pair (i, r2) ───── edge from j3

``node_ptr`` says where the pairs of a node begin, ``pair_ptr`` where the edges of a pair begin. Node-level attention is
a softmax inside each pair, relation-level attention a small self-attention among the pairs of each node; everything in
``brgcn.ops`` works on these arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor

from brgcn.errors import GraphError

if TYPE_CHECKING:
    from torch_geometric.data import Data, HeteroData

T = TypeVar("T")
_INT64_MAX = torch.iinfo(torch.int64).max


@dataclass(frozen=True)
class Origin:
    """Where the parts of a cut graph stand in the graph it was cut from (positions in *its* layout)."""

    node: Tensor  # [num_nodes]
    pair: Tensor  # [num_pairs]
    edge: Tensor  # [num_edges]
    identity: int  # of the graph it was cut from


@dataclass(frozen=True, eq=False)
class RelationalGraph:
    """An immutable directed multi-relational graph in the two-level layout.

    The first ``num_targets`` of the ``num_nodes`` nodes may have incoming edges; the two numbers differ only in graphs
    that were cut to a receptive field. A layer maps features of all nodes to features of the targets.
    """

    num_nodes: int
    num_relations: int  # inverse relations included
    node_ptr: Tensor  # [num_targets + 1] first pair of each target node
    pair_ptr: Tensor  # [num_pairs + 1] first edge of each pair
    pair_relation: Tensor  # [num_pairs]
    edge_source: Tensor  # [num_edges]
    edge_order: Tensor  # [num_edges] edge e of the layout was given as edge edge_order[e]
    has_inverse: bool = False
    origin: Origin | None = None

    @classmethod
    def from_edges(
        cls, edge_index: Tensor, edge_type: Tensor, num_nodes: int | None = None, num_relations: int | None = None
    ) -> RelationalGraph:
        """Sort edges into the layout.

        Args:
            edge_index: [2, E] source and target of each edge, as in PyG. Parallel edges are counted.
            edge_type: [E] relation of each edge.
            num_nodes: inferred as the largest id + 1 when left out.
            num_relations: likewise.
        """
        _check_edges(edge_index, edge_type)
        edge_index, edge_type = edge_index.long(), edge_type.long()
        num_nodes = _checked_size("num_nodes", num_nodes, edge_index, "node")
        num_relations = _checked_size("num_relations", num_relations, edge_type, "relation")
        source, target = edge_index
        order = _layout_order(target, edge_type, source, num_nodes, num_relations)
        source, relation, target = source[order], edge_type[order], target[order]

        begins_pair = torch.ones_like(target, dtype=torch.bool)
        begins_pair[1:] = (target[1:] != target[:-1]) | (relation[1:] != relation[:-1])
        first_edge = begins_pair.nonzero().squeeze(1)
        pair_ptr = torch.cat([first_edge, first_edge.new_tensor([target.numel()])])
        pairs_of_node = torch.bincount(target[first_edge], minlength=num_nodes)
        return cls(
            num_nodes=num_nodes,
            num_relations=num_relations,
            node_ptr=ptr_from_counts(pairs_of_node),
            pair_ptr=pair_ptr,
            pair_relation=relation[first_edge],
            edge_source=source.contiguous(),
            edge_order=order,
        )

    # ------------------------------------------------------------------ sizes and derived index arrays

    @property
    def num_targets(self) -> int:
        return self.node_ptr.numel() - 1

    @property
    def num_pairs(self) -> int:
        return self.pair_relation.numel()

    @property
    def num_edges(self) -> int:
        return self.edge_source.numel()

    @property
    def device(self) -> torch.device:
        return self.edge_source.device

    @cached_property
    def pair_node(self) -> Tensor:
        """[num_pairs] target node of each pair."""
        return _members(self.node_ptr)

    @cached_property
    def edge_pair(self) -> Tensor:
        """[num_edges] pair of each edge."""
        return _members(self.pair_ptr)

    @cached_property
    def edge_type(self) -> Tensor:
        """[num_edges] relation of each edge, in layout order."""
        return self.pair_relation[self.edge_pair]

    @cached_property
    def edge_target(self) -> Tensor:
        """[num_edges] target node of each edge, in layout order."""
        return self.pair_node[self.edge_pair]

    @cached_property
    def edge_index(self) -> Tensor:
        """[2, num_edges] sources and targets in layout order."""
        return torch.stack([self.edge_source, self.edge_target])

    @cached_property
    def identity(self) -> int:
        """A hash of sizes and edges: equal for the same graph, and practically never for another one."""
        place = torch.arange(1, self.num_edges + 1, device=self.device)
        word = self.edge_source * 0x9E3779B1 + self.edge_type * 0x85EBCA6B + self.edge_target * 0xC2B2AE35
        mixed = int(((word ^ (word >> 15)) * place).sum())
        return hash((self.num_nodes, self.num_relations, self.num_edges, mixed))

    def derived(self, name: str, build: Callable[[RelationalGraph], T]) -> T:
        """A table that an operator derives from the layout, built once per graph and kept with it."""
        tables: dict[str, Any] = self.__dict__.setdefault("_derived", {})
        if name not in tables:
            tables[name] = build(self)
        table: T = tables[name]
        return table

    def to(self, device: torch.device | str) -> RelationalGraph:
        """The same graph with its arrays on another device."""
        if torch.device(device) == self.device:
            return self
        moved: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Tensor):
                moved[field.name] = value.to(device)
        if self.origin is not None:
            o = self.origin
            moved["origin"] = Origin(o.node.to(device), o.pair.to(device), o.edge.to(device), o.identity)
        return replace(self, **moved)

    # ------------------------------------------------------------------ inverse relations

    @property
    def num_original_relations(self) -> int:
        """Relations without their inverses."""
        return self.num_relations // 2 if self.has_inverse else self.num_relations

    def with_inverse(self) -> RelationalGraph:
        """Add for each edge s -r-> t the edge t -inverse(r)-> s.

        In the result's ``edge_order``, E + e stands for the inverse of the given edge e.
        """
        if self.has_inverse:
            raise GraphError("the graph has inverse relations already", remedy="Call with_inverse() once.")
        if self.origin is not None:
            raise GraphError("a cut graph cannot get inverse relations", remedy="Add them before cutting.")
        given = torch.empty_like(self.edge_order)
        given[self.edge_order] = torch.arange(self.num_edges, device=self.device)
        edge_index, edge_type = self.edge_index[:, given], self.edge_type[given]
        both = RelationalGraph.from_edges(
            torch.cat([edge_index, edge_index.flip(0)], dim=1),
            torch.cat([edge_type, inverse_relation(edge_type, self.num_relations)]),
            self.num_nodes,
            2 * self.num_relations,
        )
        return replace(both, has_inverse=True)

    def original_relation(self, relation: Tensor) -> Tensor:
        """The relations that these are, or are the inverse of."""
        return original_relation(relation, self.num_original_relations)

    def relation_label(self, relation: int, names: Any) -> str:
        """A readable name of a relation id, ``names`` being those of the original relations."""
        original = self.num_original_relations
        return str(names[relation]) if relation < original else f"inverse of {names[relation - original]}"

    # ------------------------------------------------------------------ PyG

    @classmethod
    def from_pyg(cls, data: Data | HeteroData) -> RelationalGraph:
        """From a PyG ``Data`` with ``edge_type``, or a ``HeteroData`` (its types numbered in their order)."""
        from brgcn.pyg import graph_from_pyg

        return graph_from_pyg(data)

    def to_data(self) -> Data:
        """As PyG ``Data`` with ``edge_index`` and ``edge_type`` in layout order."""
        from brgcn.pyg import graph_to_data

        return graph_to_data(self)

    def to_hetero_data(
        self,
        node_type: Tensor | None = None,
        node_type_names: list[str] | None = None,
        relation_names: list[str] | None = None,
    ) -> HeteroData:
        """As PyG ``HeteroData``; without ``node_type`` [num_nodes] all nodes are of the one type ``node``."""
        from brgcn.pyg import graph_to_hetero_data

        return graph_to_hetero_data(self, node_type, node_type_names, relation_names)

    def __repr__(self) -> str:
        targets = f", targets={self.num_targets}" if self.num_targets != self.num_nodes else ""
        inverse = ", with inverses" if self.has_inverse else ""
        return (
            f"RelationalGraph(nodes={self.num_nodes}{targets}, relations={self.num_relations}, "
            f"pairs={self.num_pairs}, edges={self.num_edges}{inverse})"
        )


def inverse_relation(relation: Tensor, num_original: int) -> Tensor:
    """The id of the inverse of each relation; original relations are 0..R-1, the inverse of r is r + R."""
    return torch.where(is_inverse(relation, num_original), relation - num_original, relation + num_original)


def is_inverse(relation: Tensor, num_original: int) -> Tensor:
    """Whether each relation is the inverse of an original one."""
    return relation >= num_original


def original_relation(relation: Tensor, num_original: int) -> Tensor:
    """The original relation that each relation is, or is the inverse of."""
    return relation % num_original


# ---------------------------------------------------------------------- ragged helpers


def ragged_range(start: Tensor, count: Tensor) -> Tensor:
    """start[0], .., start[0] + count[0] - 1, start[1], ..: the members of chosen segments, one after another."""
    total = int(count.sum())
    ends = count.cumsum(0)
    shift = torch.repeat_interleave(start - (ends - count), count, output_size=total)
    return torch.arange(total, device=start.device) + shift


def _members(ptr: Tensor) -> Tensor:
    """[ptr[-1]] the segment that each member belongs to."""
    count = ptr[1:] - ptr[:-1]
    return torch.repeat_interleave(torch.arange(count.numel(), device=ptr.device), count, output_size=int(ptr[-1]))


def ptr_from_counts(count: Tensor) -> Tensor:
    return torch.cat([count.new_zeros(1), count.cumsum(0)])


def _layout_order(target: Tensor, relation: Tensor, source: Tensor, num_nodes: int, num_relations: int) -> Tensor:
    """The stable permutation that sorts by (target, relation, source)."""
    pair_key = target * num_relations + relation
    if num_nodes * num_relations * num_nodes < _INT64_MAX:
        return torch.argsort(pair_key * num_nodes + source, stable=True)
    by_source = torch.argsort(source, stable=True)
    return by_source[torch.argsort(pair_key[by_source], stable=True)]


# ---------------------------------------------------------------------- checks


def _check_edges(edge_index: Tensor, edge_type: Tensor) -> None:
    for name, value in (("edge_index", edge_index), ("edge_type", edge_type)):
        if not isinstance(value, Tensor):
            raise GraphError(f"{name} must be a torch tensor, not {type(value).__name__}")
        if value.is_floating_point() or value.is_complex() or value.dtype == torch.bool:
            raise GraphError(f"{name} must hold integers, not {value.dtype}")
    if edge_index.dim() != 2 or edge_index.size(0) != 2:
        raise GraphError(f"edge_index must have shape [2, E], not {list(edge_index.shape)}")
    if edge_type.dim() != 1 or edge_type.numel() != edge_index.size(1):
        raise GraphError(
            f"edge_type must have shape [E] with E = {edge_index.size(1)} edges, not {list(edge_type.shape)}"
        )


def _checked_size(name: str, size: int | None, ids: Tensor, what: str) -> int:
    low, high = (int(ids.min()), int(ids.max())) if ids.numel() else (0, -1)
    if low < 0:
        raise GraphError(f"{what} ids must not be negative, but {low} occurs")
    if size is None:
        return high + 1
    if high >= size:
        raise GraphError(f"{name} is {size}, but {what} {high} occurs", remedy=f"Ids run from 0 to {name} - 1.")
    return int(size)
