# mypy: ignore-errors
"""Relation level on the CPU: the attention of a node's pairs is small, so it is computed again in the backward pass."""

from __future__ import annotations

import numpy as np
import torch
from numba import prange
from torch import Tensor

from brgcn.ops.cpu.exponential import exp_of
from brgcn.ops.cpu.parallel import array, compiled, numbers, over_segments, parallel_compiled
from brgcn.ops.cpu.vector import add, dot, load, plus, store, where_positive, width_of, zero
from brgcn.ops.cpu.vector import relu as relu_of

BLOCK = 64  # scores of a node's queries that are computed together; at least those of one query
_INFINITE = np.float32(np.inf)  # the narrow type, which a float64 kernel widens


def attend_relations(projected: Tensor, root: Tensor | None, tables: list[Tensor], relu: bool, scale: float) -> Tensor:
    projected = projected.contiguous()
    ptr = array(tables[0])
    _, lanes, width = projected.shape
    channels = width // 3
    out = projected.new_empty(len(ptr) - 1, lanes, channels)
    over_segments(_forward, ptr, *_arguments(projected, root, ptr, relu, scale), array(out).reshape(-1))
    return out


def attend_relations_backward(
    grad: Tensor, projected: Tensor, root: Tensor | None, tables: list[Tensor], relu: bool, scale: float
) -> tuple[Tensor, Tensor]:
    projected = projected.contiguous()
    ptr = array(tables[0])
    grad_projected = torch.empty_like(projected)
    grad_root = grad.new_empty(0) if root is None else torch.empty_like(grad)
    over_segments(
        _backward,
        ptr,
        *_arguments(projected, root, ptr, relu, scale),
        array(grad).reshape(-1),
        array(grad_projected).reshape(-1),
        array(grad_root).reshape(-1),
    )
    return grad_projected, grad_root


def _arguments(projected: Tensor, root: Tensor | None, ptr: np.ndarray, relu: bool, scale: float):
    x = array(projected).reshape(-1)
    r = x[:0] if root is None else array(root.contiguous()).reshape(-1)
    largest = int((ptr[1:] - ptr[:-1]).max(initial=0))
    channels = projected.size(2) // 3
    return ptr, x, r, projected.size(1), channels, width_of(channels), largest, relu, x.dtype.type(scale)


@compiled
def _attention(x, query, key, stride, count, first, last, channels, w, scale, nothing, one, psi):
    """psi[q - first, m] = softmax over the node's members m of scale * q . k_m, for the queries first .. last - 1.

    ``query`` and ``key`` are the offsets of the node's first. All scores are there before the first exp, because a
    compiler computes several of them at a time, and most nodes have few members."""
    place = 0
    for q in range(first, last):
        highest = nothing - _INFINITE
        row = place
        for member in range(count):
            score = nothing
            for part in range(0, channels, len(w)):
                score += dot(load(x, query + q * stride + part, w), load(x, key + member * stride + part, w))
            score *= scale
            psi[place] = score
            highest = score if not score <= highest else highest
            place += 1
        for i in range(row, place):
            psi[i] -= highest
    for i in range(place):
        psi[i] = exp_of(psi[i])
    place = 0
    for _ in range(first, last):
        total = nothing
        for i in range(place, place + count):
            total += psi[i]
        share = one / total
        for i in range(place, place + count):
            psi[i] *= share
        place += count


@compiled
def _row_of(query, x, member, stride, count, channels, w, scale, nothing, one, psi):
    """Where psi holds the attention of a query to the node's ``count`` members, the first of which is at ``member``. It
    is computed for a block of queries when the first of them comes."""
    if count == 1:
        psi[0] = one
        return 0
    block = max(1, BLOCK // count)
    place = query % block
    if place == 0:
        last = min(query + block, count)
        _attention(x, member, member + channels, stride, count, query, last, channels, w, scale, nothing, one, psi)
    return place * count


@parallel_compiled
def _forward(bounds, ptr, x, root, lanes, channels, w, largest, relu, scale, out):
    nothing, one = numbers(x)
    stride = lanes * 3 * channels
    for task in prange(len(bounds) - 1):
        psi = np.empty(max(largest, BLOCK), x.dtype)
        for node in range(bounds[task], bounds[task + 1]):
            first, count = np.int64(ptr[node]), np.int64(ptr[node + 1] - ptr[node])
            for lane in range(lanes):
                here = (node * lanes + lane) * channels
                member = (first * lanes + lane) * 3 * channels
                for part in range(0, channels, len(w)):
                    alone = zero(x, w)
                    if count == 0 and len(root):
                        alone = load(root, here + part, w)
                        if relu:
                            alone = relu_of(alone)
                    store(out, here + part, alone)
                for query in range(count):
                    row = _row_of(query, x, member, stride, count, channels, w, scale, nothing, one, psi)
                    for part in range(0, channels, len(w)):
                        total = zero(x, w)
                        if len(root):
                            total = load(root, here + part, w)
                        for key in range(count):
                            total = add(total, psi[row + key], load(x, member + key * stride + 2 * channels + part, w))
                        if relu:
                            total = relu_of(total)
                        store(out, here + part, plus(load(out, here + part, w), total))


@parallel_compiled
def _backward(bounds, ptr, x, root, lanes, channels, w, largest, relu, scale, grad, grad_x, grad_root):
    nothing, one = numbers(x)
    stride = lanes * 3 * channels
    for task in prange(len(bounds) - 1):
        psi, grad_psi = np.empty(max(largest, BLOCK), x.dtype), np.empty(largest, x.dtype)
        inner = np.empty(channels, x.dtype)  # gradient of what the activation was applied to
        for node in range(bounds[task], bounds[task + 1]):
            first, count = np.int64(ptr[node]), np.int64(ptr[node + 1] - ptr[node])
            for lane in range(lanes):
                here = (node * lanes + lane) * channels
                member = (first * lanes + lane) * 3 * channels
                if len(root):
                    for part in range(0, channels, len(w)):
                        given = zero(x, w)
                        if count == 0:
                            given = load(grad, here + part, w)
                            if relu:
                                given = where_positive(load(root, here + part, w), given)
                        store(grad_root, here + part, given)
                for key in range(count):
                    for part in range(0, 3 * channels, len(w)):
                        store(grad_x, member + key * stride + part, zero(x, w))
                for query in range(count):
                    q = member + query * stride
                    row = _row_of(query, x, member, stride, count, channels, w, scale, nothing, one, psi)
                    for part in range(0, channels, len(w)):
                        given = load(grad, here + part, w)
                        if relu:
                            total = zero(x, w)
                            if len(root):
                                total = load(root, here + part, w)
                            for key in range(count):
                                total = add(
                                    total, psi[row + key], load(x, member + key * stride + 2 * channels + part, w)
                                )
                            given = where_positive(total, given)
                        store(inner, part, given)
                        if len(root):
                            store(grad_root, here + part, plus(load(grad_root, here + part, w), given))
                    for key in range(count):
                        value = member + key * stride + 2 * channels
                        for part in range(0, channels, len(w)):
                            added = add(load(grad_x, value + part, w), psi[row + key], load(inner, part, w))
                            store(grad_x, value + part, added)
                    if count == 1:  # a softmax over one is constant
                        continue
                    mean = nothing
                    for key in range(count):
                        g = nothing
                        for part in range(0, channels, len(w)):
                            there = load(x, member + key * stride + 2 * channels + part, w)
                            g += dot(load(inner, part, w), there)
                        grad_psi[key] = g
                        mean += g * psi[row + key]
                    for key in range(count):
                        grad_psi[key] = psi[row + key] * (grad_psi[key] - mean) * scale
                    for part in range(0, channels, len(w)):
                        total = load(grad_x, q + part, w)
                        own = load(x, q + part, w)
                        for key in range(count):
                            k = member + key * stride + channels + part
                            total = add(total, grad_psi[key], load(x, k, w))
                            store(grad_x, k, add(load(grad_x, k, w), grad_psi[key], own))
                        store(grad_x, q + part, total)
