"""Node level: edges are summarised into pairs.

The seam for fused kernels: scores, LeakyReLU, softmax per pair, dropout and weighted sum are one function. ``L`` is an
axis of independent lanes (attention heads) that every operator carries along.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from brgcn.graph import RelationalGraph
from brgcn.ops.dropout import dropout_scale
from brgcn.ops.segment import segment_softmax, segment_sum


def attend_edges(
    values: Tensor,
    row: Tensor,
    target_score: Tensor,
    source_score: Tensor,
    graph: RelationalGraph,
    *,
    negative_slope: float,
    dropout: float = 0.0,
    seed: int = 0,
) -> tuple[Tensor, Tensor]:
    """z_p = sum_e g_e values[row_e] with g = softmax over the edges e of pair p of LeakyReLU(target_p + source_e).

    Args:
        values: [M, L, C], one row for each thing an edge can bring.
        row: [E] the row of ``values`` that each edge brings.
        target_score: [P, L].
        source_score: [E, L].
        dropout: probability with which an edge's g is set to zero (the others are scaled up).
    Returns:
        z [P, L, C] and the attention g [E, L] before dropout.
    """
    scores = F.leaky_relu(target_score.index_select(0, graph.edge_pair) + source_score, negative_slope)
    attention = segment_softmax(scores, graph.edge_pair, graph.num_pairs)
    weight = attention
    if dropout > 0:
        edge = graph.origin.edge if graph.origin is not None else graph.derived("edge_id", edge_id)
        weight = attention * dropout_scale(edge, attention.size(-1), dropout, seed, attention.dtype)
    return _weighted_sum(values, row, weight, graph), attention


def average_edges(values: Tensor, row: Tensor, graph: RelationalGraph) -> tuple[Tensor, Tensor]:
    """The mean instead of attention: g = 1 / (edges of the pair). Same shapes as ``attend_edges``."""
    count = graph.derived("edges_of_own_pair", edges_of_own_pair)
    weight = (1.0 / count.to(values.dtype)).unsqueeze(-1).expand(-1, values.size(1))
    return _weighted_sum(values, row, weight, graph), weight


def typed_dot(x: Tensor, row: Tensor, vector: Tensor, relation: Tensor) -> Tensor:
    """<vector[relation_m], x[row_m]> for x [N, L, C], vector [R, L, C], row and relation [M] -> [M, L]."""
    return (x.index_select(0, row) * vector.index_select(0, relation)).sum(-1)


def edge_id(graph: RelationalGraph) -> Tensor:
    """[E] identity of each edge, for dropout: its place in the layout of the whole graph."""
    return torch.arange(graph.num_edges, device=graph.device)


def edges_of_own_pair(graph: RelationalGraph) -> Tensor:
    """[E] the number of edges of each edge's pair."""
    return (graph.pair_ptr[1:] - graph.pair_ptr[:-1])[graph.edge_pair]


def _weighted_sum(values: Tensor, row: Tensor, weight: Tensor, graph: RelationalGraph) -> Tensor:
    return segment_sum(values.index_select(0, row) * weight.unsqueeze(-1), graph.edge_pair, graph.num_pairs)
