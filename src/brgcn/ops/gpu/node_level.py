# mypy: ignore-errors
"""Node level: edges into pairs.

The edges of a pair are next to each other, and most pairs have one edge only: its attention is 1 and no gradient
reaches its score, so neither is computed. Pairs with more than CHUNK edges are treated apart.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from brgcn.ops.gpu.common import LOWEST, Dropping, blocks, kept, on_device, power_of_2, sums_in
from brgcn.ops.gpu.weighted_sum import add_chunks, weighted_sum
from brgcn.ops.tables import CHUNK

LONG = tl.constexpr(CHUNK)
HUB_BLOCK = 4096


# ---------------------------------------------------------------------- forward


@triton.jit
def _scores(source, score_row, edge, is_edge, here, target, lane, L: tl.constexpr, SLOPE: tl.constexpr):
    """LeakyReLU(target + source) of edges, LOWEST where not ``here``; ``is_edge`` has the shape of ``edge``."""
    row = tl.load(score_row + edge, mask=is_edge, other=0).to(tl.int64)
    score = target + tl.load(source + row * L + lane, mask=here, other=0.0)
    return tl.where(here, tl.where(score > 0, score, score * SLOPE), LOWEST)


@triton.jit
def _softmax_of_pairs(
    attention, target, source, score_row, ptr, num_pairs,
    L: tl.constexpr, SLOPE: tl.constexpr, ACC: tl.constexpr, P: tl.constexpr, LANES: tl.constexpr, UNROLL: tl.constexpr,
):  # fmt: skip
    pair = tl.program_id(0).to(tl.int64) * P + tl.arange(0, P)
    lane = tl.arange(0, LANES)[None, :]
    exists = pair < num_pairs
    begin = tl.load(ptr + pair, mask=exists, other=0)
    count = tl.load(ptr + pair + 1, mask=exists, other=0) - begin
    count = tl.where(count <= LONG, count, 0)
    several = tl.where(count > 1, count, 0)
    begin, count, several = begin[:, None], count[:, None], several[:, None]
    largest = tl.max(tl.max(count, 1), 0)
    compared = tl.max(tl.max(several, 1), 0)
    own = tl.load(target + pair[:, None] * L + lane, mask=(several > 0) & (lane < L), other=0.0)
    highest = tl.full([P, LANES], LOWEST, ACC)
    total = tl.zeros([P, LANES], ACC)
    for first in range(0, compared, UNROLL):
        for step in tl.static_range(UNROLL):
            is_edge = first + step < several
            here = is_edge & (lane < L)
            score = _scores(source, score_row, begin + first + step, is_edge, here, own, lane, L, SLOPE)
            raised = tl.maximum(highest, score)
            total = total * tl.exp(highest - raised) + tl.where(here, tl.exp(score - raised), 0.0)
            highest = raised
    for first in range(0, largest, UNROLL):
        for step in tl.static_range(UNROLL):
            edge = begin + first + step
            is_edge = first + step < several
            here = is_edge & (lane < L)
            score = _scores(source, score_row, edge, is_edge, here, own, lane, L, SLOPE)
            share = tl.where(here, tl.exp(score - highest) / tl.where(here, total, 1.0), 1.0)
            there = (first + step < count) & (lane < L)
            tl.store(attention + edge.to(tl.int64) * L + lane, share, mask=there)


@triton.jit
def _softmax_of_hubs(
    attention, target, source, score_row, ptr, whole,
    L: tl.constexpr, SLOPE: tl.constexpr, ACC: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """One program per pair with many edges, and lane."""
    program = tl.program_id(0)
    lane = program % L
    pair = tl.load(whole + program // L).to(tl.int64)
    begin = tl.load(ptr + pair)
    end = tl.load(ptr + pair + 1)
    own = tl.load(target + pair * L + lane)
    highest = tl.full([BLOCK], LOWEST, ACC)
    total = tl.zeros([BLOCK], ACC)
    for first in range(begin, end, BLOCK):
        edge = first + tl.arange(0, BLOCK)
        here = edge < end
        score = _scores(source, score_row, edge, here, here, own, lane, L, SLOPE)
        tl.store(attention + edge.to(tl.int64) * L + lane, score, mask=here)  # each thread reads its own again
        raised = tl.maximum(highest, score)
        total = total * tl.exp(highest - raised) + tl.where(here, tl.exp(score - raised), 0.0)
        highest = raised
    top = tl.max(highest, 0)
    norm = tl.sum(total * tl.exp(highest - top), 0)
    for first in range(begin, end, BLOCK):
        edge = first + tl.arange(0, BLOCK)
        here = edge < end
        place = attention + edge.to(tl.int64) * L + lane
        tl.store(place, tl.exp(tl.load(place, mask=here, other=0.0) - top) / norm, mask=here)


def attend_edges(
    values: Tensor,
    target_score: Tensor,
    source_score: Tensor,
    seed: Tensor,
    tables: list[Tensor],
    negative_slope: float,
    dropout: float,
) -> tuple[Tensor, Tensor]:
    values, target, source = values.contiguous(), target_score.contiguous(), source_score.contiguous()
    edge_pair, edge_id, value_row, score_row = tables[:4]
    pairs = tables[4:11]
    ptr, whole = pairs[0], pairs[5]
    num_pairs, lanes = target.shape
    attention = target.new_empty(edge_pair.size(0), lanes)
    if attention.numel():
        acc = sums_in(target.dtype)
        width = power_of_2(lanes)
        height = max(8, 64 // width)
        with on_device(values):
            _softmax_of_pairs[(blocks(num_pairs, height),)](
                attention, target, source, score_row, ptr, num_pairs, lanes, negative_slope, acc, height, width, 2,
                num_warps=2,
            )  # fmt: skip
            if whole.numel():
                _softmax_of_hubs[(whole.numel() * lanes,)](
                    attention, target, source, score_row, ptr, whole, lanes, negative_slope, acc, HUB_BLOCK,
                    num_warps=16,
                )  # fmt: skip
    dropping = Dropping(edge_id, seed, dropout) if dropout > 0 else None
    z = weighted_sum(values, pairs, num_pairs, index=value_row, weight=attention, dropping=dropping)
    return z, attention


# ---------------------------------------------------------------------- backward


@triton.jit
def _score_gradient(
    grad, delta, own, edge, here, lane, column, within,
    values, source, seed, attention, edge_id, value_row, score_row,
    L: tl.constexpr, C: tl.constexpr, SLOPE: tl.constexpr, IDS: tl.constexpr, BELOW: tl.constexpr, SCALE: tl.constexpr,
    ACC: tl.constexpr,
):  # fmt: skip
    """[K] gradients of the scores (before LeakyReLU) of edges [K]; grad [K or 1, W] is that of their pairs.

    Where g = softmax(s) and z = sum_e g_e keep_e v_e, ds_e = g_e (keep_e <dz, v_e> - <dz, z>).
    Edges that are not ``here`` must exist, too: as in weighted_sum.py, indices are read without a mask.
    """
    reads = here
    if BELOW > 0:
        if IDS:
            identity = tl.load(edge_id + edge)
        else:
            identity = edge
        reads = here & kept(identity, tl.load(seed + lane).to(tl.uint32), BELOW)
    row = tl.load(value_row + edge).to(tl.int64)
    mask = reads[:, None] & within[None, :]
    value = tl.load(values + (row * L + lane)[:, None] * C + column[None, :], mask=mask, other=0.0).to(ACC)
    slope_row = tl.load(score_row + edge).to(tl.int64)
    score = own + tl.load(source + slope_row * L + lane, mask=here, other=0.0)
    share = tl.load(attention + edge * L + lane, mask=here, other=0.0)
    along = tl.sum(grad * value, 1)
    if BELOW > 0:
        along = along * SCALE
    slope = share * (along - delta)
    return tl.where(here, tl.where(score > 0, slope, slope * SLOPE), 0.0)


@triton.jit
def _score_gradients_of_pairs(
    grad_score, grad_target, grad, z, values, target, source, seed, attention, edge_id, value_row, score_row, ptr,
    num_pairs,
    L: tl.constexpr, C: tl.constexpr, SLOPE: tl.constexpr, IDS: tl.constexpr, BELOW: tl.constexpr, SCALE: tl.constexpr,
    ACC: tl.constexpr, P: tl.constexpr, W: tl.constexpr, UNROLL: tl.constexpr,
):  # fmt: skip
    """Gradients of the scores of edges, and their sums over each pair."""
    program = tl.program_id(0)
    lane = program % L
    pair = (program // L).to(tl.int64) * P + tl.arange(0, P)
    exists = pair < num_pairs
    begin = tl.load(ptr + pair, mask=exists, other=0).to(tl.int64)
    count = (tl.load(ptr + pair + 1, mask=exists, other=0) - begin).to(tl.int32)
    short = exists & (count <= LONG)
    count = tl.where(short, count, 0)
    several = tl.where(count > 1, count, 0)  # a single edge has attention 1 whatever its score
    begin = tl.where(count > 0, begin, 0)
    top = tl.maximum(count - 1, 0)
    column = tl.arange(0, W)
    within = column < C
    mask = (several > 0)[:, None] & within[None, :]
    place = (pair * L + lane)[:, None] * C + column[None, :]
    dz = tl.load(grad + place, mask=mask, other=0.0).to(ACC)
    delta = tl.sum(dz * tl.load(z + place, mask=mask, other=0.0).to(ACC), 1)
    own = tl.load(target + pair * L + lane, mask=several > 0, other=0.0)
    total = tl.zeros([P], ACC)
    for first in range(0, tl.max(count, 0), UNROLL):
        for step in tl.static_range(UNROLL):
            edge = begin + tl.minimum(top, first + step)
            there = first + step < count
            ds = _score_gradient(
                dz, delta, own, edge, first + step < several, lane, column, within,
                values, source, seed, attention, edge_id, value_row, score_row, L, C, SLOPE, IDS, BELOW, SCALE, ACC,
            )  # fmt: skip
            tl.store(grad_score + edge * L + lane, ds, mask=there)
            total += ds
    tl.store(grad_target + pair * L + lane, total, mask=short)


@triton.jit
def _score_gradients_of_chunks(
    grad_score, partial, grad, z, values, target, source, seed, attention, edge_id, value_row, score_row, segment,
    begin, end,
    L: tl.constexpr, C: tl.constexpr, SLOPE: tl.constexpr, IDS: tl.constexpr, BELOW: tl.constexpr, SCALE: tl.constexpr,
    ACC: tl.constexpr, K: tl.constexpr, W: tl.constexpr,
):  # fmt: skip
    """The same for one chunk of a pair with many edges; partial [Q, L] is the sum over the chunk."""
    program = tl.program_id(0)
    lane = program % L
    q = (program // L).to(tl.int64)
    pair = tl.load(segment + q).to(tl.int64)
    last = tl.load(end + q)
    column = tl.arange(0, W)
    within = column < C
    place = (pair * L + lane) * C + column
    dz = tl.load(grad + place, mask=within, other=0.0).to(ACC)
    delta = tl.sum(dz * tl.load(z + place, mask=within, other=0.0).to(ACC), 0)
    own = tl.load(target + pair * L + lane)
    total = tl.zeros([K], ACC)
    for first in range(tl.load(begin + q), last, K):
        edge = first + tl.arange(0, K).to(tl.int64)
        here = edge < last
        ds = _score_gradient(
            dz[None, :], delta, own, tl.minimum(edge, last - 1), here, lane, column, within,
            values, source, seed, attention, edge_id, value_row, score_row, L, C, SLOPE, IDS, BELOW, SCALE, ACC,
        )  # fmt: skip
        tl.store(grad_score + edge * L + lane, ds, mask=here)
        total += ds
    tl.store(partial + q * L + lane, tl.sum(total, 0))


def attend_edges_backward(
    grad: Tensor,
    values: Tensor,
    target_score: Tensor,
    source_score: Tensor,
    seed: Tensor,
    z: Tensor,
    attention: Tensor,
    tables: list[Tensor],
    negative_slope: float,
    dropout: float,
) -> tuple[Tensor, Tensor, Tensor]:
    grad, values = grad.contiguous(), values.contiguous()
    target, source = target_score.contiguous(), source_score.contiguous()
    edge_pair, edge_id, value_row, score_row = tables[:4]
    ptr, _, segment, begin, end, whole, whole_ptr = tables[4:11]
    num_pairs, lanes, channels = z.shape
    dropping = Dropping(edge_id, seed, dropout) if dropout > 0 else None
    grad_score = target.new_empty(edge_pair.size(0), lanes, 1)
    grad_target = target.new_empty(num_pairs, lanes)
    width = power_of_2(channels)
    pointers = (grad, z, values, target, source, seed, attention, edge_id, value_row, score_row)
    ids = dropping is not None and edge_id.numel() > 0
    below, scale = (0, 1.0) if dropping is None else (dropping.below, dropping.scale)
    flags = (lanes, channels, negative_slope, ids, below, scale, sums_in(values.dtype))
    with on_device(values):
        if grad_target.numel():
            height = max(1, min(512 // width, 64))
            _score_gradients_of_pairs[(blocks(num_pairs, height) * lanes,)](
                grad_score, grad_target, *pointers, ptr, num_pairs, *flags, height, width, 2, num_warps=2
            )
        if begin.numel():
            partial = target.new_empty(begin.numel(), lanes)
            height = max(1, min(2048 // width, CHUNK))
            _score_gradients_of_chunks[(begin.numel() * lanes,)](
                grad_score, partial, *pointers, segment, begin, end, *flags, height, width
            )
            add_chunks(partial, whole, whole_ptr, grad_target)
    grad_source = weighted_sum(grad_score, tables[18:25], source.size(0)).squeeze(2)
    grad_values = weighted_sum(
        grad, tables[11:18], values.size(0), index=edge_pair, weight=attention, dropping=dropping
    )
    return grad_values, grad_target, grad_source
