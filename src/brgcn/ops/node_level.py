"""Node level: edges are summarised into pairs.

Scores, LeakyReLU, softmax per pair, dropout and weighted sum are one operator. ``L`` is an axis of independent lanes
(attention heads, runs that train together) that every operator carries along.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from brgcn.graph import RelationalGraph
from brgcn.ops.backend import backend_for
from brgcn.ops.dropout import dropout_scale
from brgcn.ops.precision import autocast_features
from brgcn.ops.registered import FusedOp
from brgcn.ops.segment import segment_softmax, segment_sum
from brgcn.ops.tables import EdgeRows, Layout, layout


def attend_edges(
    values: Tensor,
    value_rows: EdgeRows,
    target_score: Tensor,
    source_score: Tensor,
    score_rows: EdgeRows,
    graph: RelationalGraph,
    *,
    negative_slope: float,
    dropout: float = 0.0,
    seed: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """z_p = sum_e g_e value_e with g = softmax over the edges e of pair p of LeakyReLU(target_p + source_e).

    Args:
        values: [V, L, C], one row for each thing an edge can bring; ``value_rows`` says which.
        target_score: [P, L].
        source_score: [M, L]; ``score_rows`` says which row belongs to an edge.
        dropout: probability with which an edge's g is set to zero (the others are scaled up).
        seed: [L] ``lane_seeds`` of the dropout.
    Returns:
        z [P, L, C] and the attention g [E, L] before dropout.
    """
    values = autocast_features(values)
    target_score, source_score = target_score.to(_score_dtype(values)), source_score.to(_score_dtype(values))
    if dropout == 0 or seed is None:
        dropout, seed = 0.0, values.new_empty(0, dtype=torch.long)
    tables = layout(graph)
    backend = backend_for(values)
    if backend == "torch":
        return _attend_edges(
            values, value_rows, target_score, source_score, score_rows, graph, negative_slope, dropout, seed
        )
    z, attention = _fused(
        backend,
        values,
        target_score,
        source_score,
        seed,
        _tables(value_rows, score_rows, tables),
        negative_slope,
        dropout,
    )
    return z, attention


def average_edges(values: Tensor, rows: EdgeRows, graph: RelationalGraph) -> tuple[Tensor, Tensor]:
    """The mean instead of attention: equal scores give g = 1 / (edges of the pair)."""
    lanes = values.size(1)
    zero = values.new_zeros(1, dtype=_score_dtype(values))
    target, source = zero.expand(graph.num_pairs, lanes), zero.expand(values.size(0), lanes)
    return attend_edges(values, rows, target.contiguous(), source.contiguous(), rows, graph, negative_slope=1.0)


def _attend_edges(
    values: Tensor,
    value_rows: EdgeRows,
    target_score: Tensor,
    source_score: Tensor,
    score_rows: EdgeRows,
    graph: RelationalGraph,
    negative_slope: float,
    dropout: float,
    seed: Tensor,
) -> tuple[Tensor, Tensor]:
    """The reference, in plain torch."""
    tables = layout(graph)
    target = target_score.index_select(0, tables.edge_pair)
    scores = F.leaky_relu(target + source_score.index_select(0, score_rows.row), negative_slope)
    attention = segment_softmax(scores, tables.edge_pair, graph.num_pairs)
    weight = attention
    if dropout > 0:
        edge = tables.edge_id if tables.edge_id.numel() else torch.arange(graph.num_edges, device=values.device)
        weight = attention * dropout_scale(edge, seed, dropout, attention.dtype)
    brought = values.index_select(0, value_rows.row) * weight.unsqueeze(-1)
    return segment_sum(brought, tables.edge_pair, graph.num_pairs).to(values.dtype), attention


def _score_dtype(values: Tensor) -> torch.dtype:
    """Softmax is computed in float32 at least."""
    return torch.promote_types(values.dtype, torch.float32)


# ---------------------------------------------------------------------- the fused operator


def _tables(value_rows: EdgeRows, score_rows: EdgeRows, tables: Layout) -> list[Tensor]:
    """What the kernels read, in this order: the edge's pair, identity, value row and score row [E]; then the groupings
    (seven tensors each) of edges by pair, by value row and by score row."""
    return [
        tables.edge_pair,
        tables.edge_id,
        value_rows.row,
        score_rows.row,
        *tables.pairs.tensors(),
        *value_rows.by_row.tensors(),
        *score_rows.by_row.tensors(),
    ]


def _fake(
    values: Tensor,
    target_score: Tensor,
    source_score: Tensor,
    seed: Tensor,
    tables: list[Tensor],
    negative_slope: float,
    dropout: float,
) -> tuple[Tensor, Tensor]:
    _, lanes, channels = values.shape
    z = values.new_empty(target_score.size(0), lanes, channels)
    return z, target_score.new_empty(tables[0].size(0), lanes)


def _fake_backward(
    grad: Tensor, values: Tensor, target_score: Tensor, source_score: Tensor, *rest: Any
) -> tuple[Tensor, Tensor, Tensor]:
    return torch.empty_like(values), torch.empty_like(target_score), torch.empty_like(source_score)


def _setup(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    values, target_score, source_score, seed, tables, ctx.negative_slope, ctx.dropout = inputs
    z, attention = output
    ctx.save_for_backward(values, target_score, source_score, seed, z, attention, *tables)
    ctx.mark_non_differentiable(attention)
    ctx.set_materialize_grads(False)


def _backward(ctx: Any, op: Any, grad: Tensor | None, _: Tensor | None) -> tuple[Any, ...]:
    values, target_score, source_score, seed, z, attention, *tables = ctx.saved_tensors
    nothing = (None, [None] * len(tables), None, None)
    if grad is None:
        return (None, None, None, *nothing)
    grads = op(
        grad.contiguous(),
        values,
        target_score,
        source_score,
        seed,
        z,
        attention,
        tables,
        ctx.negative_slope,
        ctx.dropout,
    )
    return (*grads, *nothing)


_fused = FusedOp(
    "attend_edges",
    "node_level",
    schema="(Tensor values, Tensor target_score, Tensor source_score, Tensor seed, Tensor[] tables, "
    "float negative_slope, float dropout) -> (Tensor, Tensor)",
    backward_schema="(Tensor grad, Tensor values, Tensor target_score, Tensor source_score, Tensor seed, Tensor z, "
    "Tensor attention, Tensor[] tables, float negative_slope, float dropout) -> (Tensor, Tensor, Tensor)",
    fake=_fake,
    fake_backward=_fake_backward,
    setup=_setup,
    backward=_backward,
)
