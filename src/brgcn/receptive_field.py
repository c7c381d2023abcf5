"""The part of a graph that can influence chosen nodes, layer by layer.

A node's output after L layers depends on its L-hop in-neighbourhood only. Cutting the graph to it is exact: outputs and
gradients are the same as on the whole graph. On the AM stand-in, 861 labelled nodes need 0.3 % of the edges in the
second layer and 11 % in the first.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from brgcn.errors import GraphError
from brgcn.graph import Origin, RelationalGraph, ptr_from_counts, ragged_range


@dataclass(frozen=True)
class ReceptiveField:
    """One graph per layer; the targets of ``layers[l]`` are exactly the nodes of ``layers[l + 1]``."""

    layers: tuple[RelationalGraph, ...]
    rows: (
        Tensor  # [wanted] rows of the last layer's output that belong to the wanted nodes, in the order they were given
    )

    @property
    def input_nodes(self) -> Tensor:
        """[layers[0].num_nodes] ids, in the whole graph, of the nodes whose features enter."""
        origin = self.layers[0].origin
        assert origin is not None
        return origin.node

    def to(self, device: torch.device | str) -> ReceptiveField:
        return ReceptiveField(tuple(layer.to(device) for layer in self.layers), self.rows.to(device))


def receptive_field(graph: RelationalGraph, wanted: Tensor, num_layers: int) -> ReceptiveField:
    """Cut ``graph`` to what ``num_layers`` layers need to compute the ``wanted`` [n] nodes."""
    if graph.origin is not None:
        raise GraphError("a cut graph cannot be cut again", remedy="Cut the whole graph.")
    if num_layers < 1:
        raise GraphError(f"num_layers must be at least 1, not {num_layers}")
    if wanted.numel() and not 0 <= int(wanted.min()) <= int(wanted.max()) < graph.num_nodes:
        raise GraphError(f"wanted node ids must lie in 0..{graph.num_nodes - 1}")
    targets, rows = torch.unique(wanted.to(graph.device).long(), return_inverse=True)
    layers: list[RelationalGraph] = []
    for _ in range(num_layers):
        layer = _cut(graph, targets)
        assert layer.origin is not None
        targets = layer.origin.node
        layers.append(layer)
    return ReceptiveField(tuple(reversed(layers)), rows)


def _cut(graph: RelationalGraph, targets: Tensor) -> RelationalGraph:
    """The pairs and edges that end in ``targets`` [t]; the nodes are the targets, then the other sources ascending."""
    pairs_of_target = graph.node_ptr[targets + 1] - graph.node_ptr[targets]
    pair = ragged_range(graph.node_ptr[targets], pairs_of_target)
    edges_of_pair = graph.pair_ptr[pair + 1] - graph.pair_ptr[pair]
    edge = ragged_range(graph.pair_ptr[pair], edges_of_pair)
    source = graph.edge_source[edge]

    is_new = torch.zeros(graph.num_nodes, dtype=torch.bool, device=graph.device)
    is_new[source] = True
    is_new[targets] = False
    nodes = torch.cat([targets, is_new.nonzero().squeeze(1)])
    position = torch.empty(graph.num_nodes, dtype=torch.long, device=graph.device)
    position[nodes] = torch.arange(nodes.numel(), device=graph.device)
    return RelationalGraph(
        num_nodes=nodes.numel(),
        num_relations=graph.num_relations,
        node_ptr=ptr_from_counts(pairs_of_target),
        pair_ptr=ptr_from_counts(edges_of_pair),
        pair_relation=graph.pair_relation[pair],
        edge_source=position[source],
        edge_order=torch.arange(edge.numel(), device=graph.device),
        has_inverse=graph.has_inverse,
        origin=Origin(nodes, pair, edge, graph.identity),
    )
