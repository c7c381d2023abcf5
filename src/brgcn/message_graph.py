"""The graph that an encoder of links passes messages over, and what is taken out of it."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from brgcn.errors import GraphError, SettingsError
from brgcn.graph import RelationalGraph, ptr_from_counts

MESSAGE_GRAPHS = ("true", "random", "empty")


def message_graph(graph: RelationalGraph, kind: str, seed: int = 0) -> RelationalGraph:
    """The training graph with inverse relations; ``random``: as many edges of each relation between nodes drawn at
    random; ``empty``: none. The last two show what of a result is owed to the graph."""
    if kind not in MESSAGE_GRAPHS:
        raise SettingsError(f"there is no message graph {kind!r}", remedy=f"Known: {', '.join(MESSAGE_GRAPHS)}.")
    if kind == "true":
        return graph.with_inverse()
    generator = torch.Generator().manual_seed(seed)
    edges = graph.num_edges if kind == "random" else 0
    between = torch.randint(max(1, graph.num_nodes), (2, edges), generator=generator)
    drawn = RelationalGraph.from_edges(between, graph.edge_type[:edges].cpu(), graph.num_nodes, graph.num_relations)
    return drawn.with_inverse().to(graph.device)


def keep_edges(graph: RelationalGraph, keep: Tensor) -> RelationalGraph:
    """The graph with the edges where ``keep`` [num_edges], in the order of the layout, is true. Nothing is sorted."""
    if graph.origin is not None:
        raise GraphError("a cut graph cannot lose edges", remedy="Take them out before cutting.")
    kept = torch.cat([keep.new_zeros(1, dtype=torch.long), keep.long().cumsum(0)])  # [E + 1] edges kept before each
    pair_ptr = kept[graph.pair_ptr]
    sizes = pair_ptr.diff()
    stays = sizes > 0  # pairs that lost all their edges are gone
    before = torch.cat([stays.new_zeros(1, dtype=torch.long), stays.long().cumsum(0)])
    return replace(
        graph,
        node_ptr=before[graph.node_ptr],
        pair_ptr=ptr_from_counts(sizes[stays]),
        pair_relation=graph.pair_relation[stays],
        edge_source=graph.edge_source[keep],
        edge_order=graph.edge_order[keep],
    )
