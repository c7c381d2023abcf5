# mypy: ignore-errors
"""Node level on the CPU: one pass over the pairs forward, one over the pairs and one over the rows backward."""

from __future__ import annotations

import numpy as np
import torch
from numba import prange
from torch import Tensor

from brgcn.ops.cpu.exponential import exp_of
from brgcn.ops.cpu.parallel import array, compiled, numbers, over_segments, parallel_compiled
from brgcn.ops.cpu.vector import add, dot, load, store, width_of, zero
from brgcn.ops.dropout import FIRST_FACTOR, SECOND_FACTOR, SPREAD, WORD, threshold

_WORD, _FIRST, _SECOND, _SPREAD = (np.uint64(word) for word in (WORD, FIRST_FACTOR, SECOND_FACTOR, SPREAD))
_INFINITE = np.float32(np.inf)  # the narrow type, which a float64 kernel widens
_15, _16, _32 = np.uint64(15), np.uint64(16), np.uint64(32)


def attend_edges(
    values: Tensor,
    target_score: Tensor,
    source_score: Tensor,
    seed: Tensor,
    tables: list[Tensor],
    negative_slope: float,
    dropout: float,
) -> tuple[Tensor, Tensor]:
    values = values.contiguous()
    _, lanes, channels = values.shape
    pair_ptr = tables[4]
    z = values.new_empty(target_score.size(0), lanes, channels)
    attention = target_score.new_empty(tables[0].size(0), lanes)
    ptr = array(pair_ptr)
    dropping = _dropping(seed, tables[1], dropout, values)
    over_segments(
        _forward,
        ptr,
        *_about_pairs(values, target_score, source_score, tables, dropping, negative_slope),
        array(z).reshape(-1),
        array(attention),
    )
    return z, attention


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
    values = values.contiguous()
    channels = values.size(2)
    edge_pair, edge_id, pair_ptr = tables[0], tables[1], tables[4]
    value_ptr, value_entry, score_ptr, score_entry = tables[11], tables[12], tables[18], tables[19]
    grad_score = torch.empty_like(attention)
    grad_target, grad_source = torch.empty_like(target_score), torch.empty_like(source_score)
    grad_values = torch.empty_like(values)
    dropping = _dropping(seed, edge_id, dropout, values)
    dz = array(grad).reshape(-1)
    ptr = array(pair_ptr)
    over_segments(
        _scores,
        ptr,
        *_about_pairs(values, target_score, source_score, tables, dropping, negative_slope),
        array(attention),
        dz,
        array(grad_score),
        array(grad_target),
    )
    ptr = array(value_ptr)
    over_segments(
        _values,
        ptr,
        ptr,
        array(value_entry),
        array(edge_pair),
        array(attention),
        *dropping,
        channels,
        width_of(channels),
        dz,
        array(grad_values).reshape(-1),
    )
    ptr = array(score_ptr)
    over_segments(_sum_scores, ptr, ptr, array(score_entry), array(grad_score), array(grad_source))
    return grad_values, grad_target, grad_source


def _about_pairs(values, target_score, source_score, tables, dropping, negative_slope):
    """Arguments of the kernels that walk over pairs."""
    channels = values.size(2)
    return (
        array(tables[4]),
        array(tables[2]),
        array(tables[3]),
        array(target_score.contiguous()),
        array(source_score.contiguous()),
        array(values).reshape(-1),
        *dropping,
        _like(negative_slope, values),
        channels,
        width_of(channels),
    )


def _dropping(seed: Tensor, edge_id: Tensor, dropout: float, values: Tensor):
    """Arguments of the kernels: lane seeds (none: no dropout), edge ids, threshold, factor of what is kept."""
    return (
        array(seed).astype(np.uint64),
        array(edge_id),
        np.uint64(threshold(dropout)),
        _like(1.0 / (1.0 - dropout), values),
    )


def _like(number: float, tensor: Tensor):
    """As a scalar of the tensor's type: a float64 scalar would widen all arithmetic of a float32 kernel."""
    return array(tensor).dtype.type(number)


@compiled
def _mix(word):
    word = ((word ^ (word >> _16)) * _FIRST) & _WORD
    word = ((word ^ (word >> _15)) * _SECOND) & _WORD
    return word ^ (word >> _15)


@compiled
def _kept(edge, ids, seed, threshold, factor, nothing):
    """0 or the factor of an edge; see ops/dropout.py."""
    identity = np.uint64(ids[edge]) if len(ids) else np.uint64(edge)
    word = _mix((((identity & _WORD) * _SPREAD) & _WORD) ^ seed)
    word = _mix(word ^ (identity >> _32) ^ seed)
    return factor if word >= threshold else nothing


@parallel_compiled
def _sum_scores(bounds, ptr, entry, grad_score, out):
    """out[s] = sum of grad_score over the entries of segment s."""
    lanes = out.shape[1]
    for task in prange(len(bounds) - 1):
        for segment in range(bounds[task], bounds[task + 1]):
            for lane in range(lanes):
                out[segment, lane] = 0
            for k in range(ptr[segment], ptr[segment + 1]):
                edge = entry[k] if len(entry) else k
                for lane in range(lanes):
                    out[segment, lane] += grad_score[edge, lane]


@parallel_compiled
def _forward(
    bounds, ptr, value_row, score_row, target, source, values, seed, ids, threshold, factor, slope, channels, w,
    z, attention,
):  # fmt: skip
    lanes = target.shape[1]
    nothing, one = numbers(target)
    for task in prange(len(bounds) - 1):
        for pair in range(bounds[task], bounds[task + 1]):
            first, last = np.int64(ptr[pair]), np.int64(ptr[pair + 1])
            for lane in range(lanes):
                if last - first == 1:
                    attention[first, lane] = 1
                else:
                    t = target[pair, lane]
                    highest = nothing - _INFINITE
                    for edge in range(first, last):
                        s = t + source[score_row[edge], lane]
                        s = s if s > 0 else s * slope
                        attention[edge, lane] = s
                        highest = s if not s <= highest else highest  # NaN is taken over
                    total = nothing
                    for edge in range(first, last):
                        s = exp_of(attention[edge, lane] - highest)
                        attention[edge, lane] = s
                        total += s
                    share = one / total
                    for edge in range(first, last):
                        attention[edge, lane] *= share
                for part in range(0, channels, len(w)):
                    total = zero(values, w)
                    for edge in range(first, last):
                        weight = attention[edge, lane]
                        if len(seed):
                            weight *= _kept(edge, ids, seed[lane], threshold, factor, nothing)
                        if weight != 0:
                            row = np.int64(value_row[edge])
                            total = add(total, weight, load(values, (row * lanes + lane) * channels + part, w))
                    store(z, (pair * lanes + lane) * channels + part, total)


@parallel_compiled
def _scores(
    bounds, ptr, value_row, score_row, target, source, values, seed, ids, threshold, factor, slope, channels, w,
    attention, dz, grad_score, grad_target,
):  # fmt: skip
    lanes = target.shape[1]
    nothing, one = numbers(target)
    for task in prange(len(bounds) - 1):
        for pair in range(bounds[task], bounds[task + 1]):
            first, last = np.int64(ptr[pair]), np.int64(ptr[pair + 1])
            for lane in range(lanes):
                if last - first == 1:  # a softmax over one is constant
                    grad_score[first, lane] = 0
                    grad_target[pair, lane] = 0
                    continue
                mean = nothing
                for edge in range(first, last):
                    row = np.int64(value_row[edge])
                    kept = _kept(edge, ids, seed[lane], threshold, factor, nothing) if len(seed) else one
                    g = nothing
                    if kept != 0:
                        for part in range(0, channels, len(w)):
                            there = load(values, (row * lanes + lane) * channels + part, w)
                            g += dot(load(dz, (pair * lanes + lane) * channels + part, w), there)
                        g *= kept
                    grad_score[edge, lane] = g
                    mean += attention[edge, lane] * g
                total = nothing
                for edge in range(first, last):
                    g = attention[edge, lane] * (grad_score[edge, lane] - mean)
                    if not target[pair, lane] + source[score_row[edge], lane] > 0:
                        g *= slope
                    grad_score[edge, lane] = g
                    total += g
                grad_target[pair, lane] = total


@parallel_compiled
def _values(bounds, ptr, entry, edge_pair, attention, seed, ids, threshold, factor, channels, w, dz, grad_values):
    lanes = attention.shape[1]
    nothing, _ = numbers(attention)
    for task in prange(len(bounds) - 1):
        for row in range(bounds[task], bounds[task + 1]):
            for lane in range(lanes):
                for part in range(0, channels, len(w)):
                    total = zero(dz, w)
                    for k in range(ptr[row], ptr[row + 1]):
                        edge = np.int64(entry[k]) if len(entry) else np.int64(k)
                        weight = attention[edge, lane]
                        if len(seed):
                            weight *= _kept(edge, ids, seed[lane], threshold, factor, nothing)
                        if weight != 0:
                            pair = np.int64(edge_pair[edge])
                            total = add(total, weight, load(dz, (pair * lanes + lane) * channels + part, w))
                    store(grad_values, (row * lanes + lane) * channels + part, total)
