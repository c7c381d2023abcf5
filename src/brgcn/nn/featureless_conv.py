"""The bi-level attention layer for nodes without features: a one-hot vector each.

With one-hot input W_r e_j is row j of W_r, and only rows that occur can ever matter. So the layer is built for a graph
and keeps rows instead of matrices: exact, and far smaller than [R, N, out].

A row that only one or two edges ever use can do nothing but memorise. With ``rare`` set, the sources that bring fewer
edges than that to a relation share one row there, as if they were one node: what is left of them is that they exist.
"""

from __future__ import annotations

from typing import NamedTuple, Unpack

import torch
from torch import Tensor

from brgcn.errors import SettingsError
from brgcn.graph import RelationalGraph
from brgcn.nn.attention import AttentionWeights
from brgcn.nn.frame import BiLevelFrame, LayerOptions, glorot
from brgcn.nn.slots import EdgeScores, Seed
from brgcn.ops import EdgeRows, TypedRows, edge_rows, mix_rows, typed_rows


class SourceRows(NamedTuple):
    """The (relation, source) that occur in a graph, ascending, and the one of each edge. The source of a row that rare
    ones share is num_nodes."""

    key: Tensor  # [rows] relation * (num_nodes + 1) + source
    of_edge: Tensor  # [E]


class GraphPart(NamedTuple):
    """What of a layer's tables a graph needs that was cut from the layer's own; None: all of it, in order."""

    row: Tensor | None  # [m] rows (relation, source)
    pair: Tensor | None  # [pairs]
    node: Tensor | None  # [targets]
    items: TypedRows  # those rows as (node of the layer's graph, relation)
    edge_rows: EdgeRows  # which of those rows each edge brings


class FeaturelessConv(BiLevelFrame):
    """``BRGCNConv`` on one-hot features of the nodes of one graph; see there for the equations and options.

    Parameters (one head, no bases; M = occurring (relation, source), P = pairs, N = nodes): ``query``, ``key``,
    ``value`` [M, out]; ``attention_source`` [M]; ``attention_target`` [P]; ``root`` [N, out]. With bases the tables of
    query, key and value are one ``basis`` [N, B, out] with coefficients [R, B].

    Called as ``conv(graph)`` with that graph or a part of it cut by ``receptive_field``.
    """

    def __init__(
        self, graph: RelationalGraph, out_channels: int, *, rare: int = 0, **options: Unpack[LayerOptions]
    ) -> None:
        super().__init__(out_channels, graph.num_relations, **options)
        if self.num_blocks:
            raise SettingsError("one-hot input has no blocks", remedy="Use num_bases.")
        if graph.origin is not None:
            raise SettingsError("a featureless layer is built for the whole graph, not for a part of it")
        self.num_nodes, self.identity, self.rare = graph.num_nodes, graph.identity, rare
        self.rows_of = (graph.identity, rare)  # the graph that decided which sources have a row of their own
        rows = source_rows(graph, rare)
        self.edge_row: Tensor
        self.row_key: Tensor
        self.register_buffer("edge_row", rows.of_edge, persistent=False)
        self.register_buffer("row_key", rows.key, persistent=False)
        num_rows = rows.key.numel()
        if self.node_slot.has_scores:
            self.attention_target = self.per_lane(leading=graph.num_pairs)
            self.attention_source = self.per_lane(leading=num_rows)
        if self.num_bases:
            self.basis = self.per_lane(self.num_bases, out_channels, leading=graph.num_nodes + bool(rare))
            self.add_coefficients()
        else:
            for name in self.relation_slot.projections:
                setattr(self, name, self.per_lane(out_channels, leading=num_rows))
        if self.has_root:
            self.root = self.per_lane(out_channels, leading=graph.num_nodes)
        if self.relation_slot.attends_to_self:
            self.root_query = self.per_lane(out_channels, leading=graph.num_nodes)
            self.root_key = self.per_lane(out_channels, leading=graph.num_nodes)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """As if the rows were those of matrices [N, out]."""
        for name, parameter in self.named_parameters():
            if name.startswith("attention_"):
                glorot(parameter, 2 * self.num_nodes, 1)
            elif not name.endswith("_coefficients"):
                glorot(parameter, self.num_nodes, self.out_channels)
        if self.num_bases:
            self.reset_coefficients()

    def forward(
        self, graph: RelationalGraph, *, return_attention_weights: bool = False, seed: Seed = None
    ) -> Tensor | tuple[Tensor, AttentionWeights]:
        """-> [num_targets, out] (heads * out with ``concat``); with replicas, [num_targets, replicas, ..]."""
        self.check_graph(graph)
        part = self._part(graph)
        scores = None
        if self.node_slot.has_scores:
            target, source = self._rows(self.attention_target, part.pair), self._rows(self.attention_source, part.row)
            scores = EdgeScores(target, source, part.edge_rows)
        if self.num_bases:
            table = mix_rows(self.lanes(self.basis, 1), self.coefficients(), part.items)
        else:
            parts = [self._rows(getattr(self, name), part.row) for name in self.relation_slot.projections]
            table = torch.cat(parts, dim=-1)  # [rows, L, projections * out]
        projected, edge_attention = self.node_slot(table, part.edge_rows, scores, graph, seed)
        projected = self.with_counts(projected, graph)
        root = self._rows(self.root, part.node) if self.has_root else None
        own = None
        if self.relation_slot.attends_to_self:
            own = torch.cat([self._rows(self.root_query, part.node), self._rows(self.root_key, part.node)], dim=-1)
        out, relation_attention = self.relation_slot(projected, root, own, graph, return_attention_weights)
        return self.finish(out, edge_attention, relation_attention, graph, return_attention_weights)

    def rebuilt_for(self, old: RelationalGraph, new: RelationalGraph) -> FeaturelessConv:
        """The same layer for a grown graph whose first nodes are those of the ``old`` one.

        Rows of what the layer has not seen are zero: new nodes are known by their neighbours alone.
        """
        old_rows = source_rows(old, self.rare)
        new_rows = source_rows(new) if not self.rare else _rows_as_before(old_rows.key, old, new)
        row_place = _places_of(old_rows.key, old.num_nodes, new_rows.key, new.num_nodes)
        node_place = torch.arange(old.num_nodes)
        pair_place = _places_of(_pair_key(old), old.num_nodes, _pair_key(new), new.num_nodes)
        parameters: dict[str, Tensor] = {}
        for name, parameter in self.named_parameters():
            if name.endswith("_coefficients"):
                parameters[name] = parameter.detach().clone()
                continue
            place, size = (row_place, new_rows.key.numel())
            if name == "basis" and self.rare:  # the rare ones' own row stays the last
                place, size = torch.cat([node_place, torch.tensor([new.num_nodes])]), new.num_nodes + 1
            elif name.startswith("root") or name == "basis":
                place, size = node_place, new.num_nodes
            elif name == "attention_target":
                place, size = pair_place, new.num_pairs
            moved = parameter.new_zeros(size, *parameter.shape[1:])
            known = place >= 0
            moved[place[known].to(moved.device)] = parameter.detach()[known.to(parameter.device)]
            parameters[name] = moved
        layer = self.with_parameters(parameters, num_nodes=new.num_nodes, identity=new.identity)
        if not self.rare:
            layer.rows_of = (new.identity, 0)
        layer.register_buffer("edge_row", new_rows.of_edge, persistent=False)
        layer.register_buffer("row_key", new_rows.key, persistent=False)
        return layer

    def _part(self, graph: RelationalGraph) -> GraphPart:
        """Where the rows, pairs and target nodes of ``graph`` stand in the layer's graph."""
        origin = graph.origin
        if (graph.identity if origin is None else origin.identity) != self.identity:
            raise SettingsError(
                "a featureless layer knows the graph it was built for (or a part cut from it), not another one",
                remedy="Build it for this graph, or give the nodes features and use BRGCNConv.",
            )
        # the same for every layer with the same rows, so it may be kept with the part
        return graph.derived(f"featureless_part_{self.rows_of}", self._find_part)

    def _find_part(self, graph: RelationalGraph) -> GraphPart:
        origin = graph.origin
        row = pair = node = None
        key, of_edge = self.row_key, self.edge_row
        if origin is not None:
            row, of_edge = torch.unique(self.edge_row.index_select(0, origin.edge), return_inverse=True)
            key = key.index_select(0, row)
            pair, node = origin.pair, origin.node[: graph.num_targets]
        relation = torch.div(key, self.num_nodes + 1, rounding_mode="floor")
        num_rows = self.num_nodes + bool(self.rare)
        items = typed_rows(key % (self.num_nodes + 1), relation, num_rows, self.num_relations)
        return GraphPart(row, pair, node, items, edge_rows(of_edge, key.numel()))

    def _rows(self, table: Tensor, place: Tensor | None) -> Tensor:
        """[rows, L, ..] those rows of a table that the part of the graph needs."""
        lanes = self.lanes(table, 1)
        return lanes if place is None else lanes.index_select(0, place)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.num_nodes} nodes, {self.out_channels}, num_relations={self.num_relations}, "
            f"node={type(self.node_slot).__name__}, relation={type(self.relation_slot).__name__}, heads={self.heads})"
        )


def source_rows(graph: RelationalGraph, rare: int = 0) -> SourceRows:
    shared = graph.num_nodes
    key = graph.edge_type * (shared + 1) + graph.edge_source
    if rare:
        _, of_edge, count = torch.unique(key, return_inverse=True, return_counts=True)
        key = torch.where(count[of_edge] < rare, graph.edge_type * (shared + 1) + shared, key)
    return SourceRows(*torch.unique(key, return_inverse=True))


def _rows_as_before(old_key: Tensor, old: RelationalGraph, new: RelationalGraph) -> SourceRows:
    """Rows of a grown graph: the sources that had one keep it, the others are rare, however many edges they bring."""
    relation, source = torch.div(old_key, old.num_nodes + 1, rounding_mode="floor"), old_key % (old.num_nodes + 1)
    own = relation[source < old.num_nodes] * (new.num_nodes + 1) + source[source < old.num_nodes]
    key = new.edge_type * (new.num_nodes + 1) + new.edge_source
    key = torch.where(torch.isin(key, own), key, new.edge_type * (new.num_nodes + 1) + new.num_nodes)
    return SourceRows(*torch.unique(key, return_inverse=True))


def _pair_key(graph: RelationalGraph) -> Tensor:
    """[P] relation * (num_nodes + 1) + target node."""
    return graph.pair_relation * (graph.num_nodes + 1) + graph.pair_node


def _places_of(old_key: Tensor, old_nodes: int, new_key: Tensor, new_nodes: int) -> Tensor:
    """[old] position in ``new_key`` of each (relation, node) of ``old_key``, -1 where it no longer occurs."""
    source = old_key % (old_nodes + 1)
    source = torch.where(source == old_nodes, new_nodes, source)  # the row that rare ones share
    wanted = torch.div(old_key, old_nodes + 1, rounding_mode="floor") * (new_nodes + 1) + source
    ascending, order = torch.sort(new_key)
    place = torch.searchsorted(ascending, wanted).clamp(max=max(len(ascending) - 1, 0))
    found = ascending[place] == wanted if len(ascending) else torch.zeros_like(wanted, dtype=torch.bool)
    return torch.where(found, order[place] if len(order) else place, -1)
