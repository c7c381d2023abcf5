# mypy: ignore-errors
"""Relation level on the CPU: the attention of a node's pairs is small, so it is computed again in the backward pass."""

from __future__ import annotations

import math
from functools import lru_cache
from types import SimpleNamespace

import numpy as np
import torch
from torch import Tensor

from brgcn.ops.cpu.parallel import array, compiled, over_segments
from brgcn.ops.cpu.vector import vectors, width_for


def attend_relations(projected: Tensor, root: Tensor | None, tables: list[Tensor], relu: bool, scale: float) -> Tensor:
    projected = projected.contiguous()
    ptr = array(tables[0])
    _, lanes, width = projected.shape
    channels = width // 3
    out = projected.new_empty(len(ptr) - 1, lanes, channels)
    kernels = _kernels(width_for(channels))
    over_segments(kernels.forward, ptr, *_arguments(projected, root, ptr, relu, scale), array(out).reshape(-1))
    return out


def attend_relations_backward(
    grad: Tensor, projected: Tensor, root: Tensor | None, tables: list[Tensor], relu: bool, scale: float
) -> tuple[Tensor, Tensor]:
    projected = projected.contiguous()
    ptr = array(tables[0])
    kernels = _kernels(width_for(grad.size(2)))
    grad_projected = torch.empty_like(projected)
    grad_root = grad.new_empty(0) if root is None else torch.empty_like(grad)
    over_segments(
        kernels.backward,
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
    return ptr, x, r, projected.size(1), projected.size(2) // 3, largest, relu, x.dtype.type(scale)


@lru_cache
def _kernels(width: int) -> SimpleNamespace:
    """The kernels for rows of ``width`` numbers, or of a multiple of it."""
    v = vectors(width)
    zero, load, store, add, dot, relu_of, where_positive = (
        v.zero, v.load, v.store, v.add, v.dot, v.relu, v.where_positive,
    )  # fmt: skip

    @compiled
    def attention(x, query, key, stride, count, channels, scale, psi):
        """psi[m] = softmax over the node's members m of scale * q . k_m; ``key`` is the offset of the first."""
        highest = -np.inf
        for member in range(count):
            score = scale * 0
            for part in range(0, channels, width):
                score += dot(load(x, query + part), load(x, key + member * stride + part))
            score *= scale
            psi[member] = score
            highest = score if not score <= highest else highest
        total = scale * 0
        for member in range(count):
            share = math.exp(psi[member] - highest)
            psi[member] = share
            total += share
        share = 1 / total
        for member in range(count):
            psi[member] *= share

    @compiled
    def forward(begin, end, ptr, x, root, lanes, channels, largest, relu, scale, out):
        psi = np.empty(largest, x.dtype)
        stride = lanes * 3 * channels
        for node in range(begin, end):
            first, count = np.int64(ptr[node]), np.int64(ptr[node + 1] - ptr[node])
            for lane in range(lanes):
                here = (node * lanes + lane) * channels
                member = (first * lanes + lane) * 3 * channels
                for part in range(0, channels, width):
                    nothing = zero(x)
                    if count == 0 and len(root):
                        nothing = load(root, here + part)
                        if relu:
                            nothing = relu_of(nothing)
                    store(out, here + part, nothing)
                for query in range(count):
                    if count == 1:
                        psi[0] = 1
                    else:
                        attention(x, member + query * stride, member + channels, stride, count, channels, scale, psi)
                    for part in range(0, channels, width):
                        total = zero(x)
                        if len(root):
                            total = load(root, here + part)
                        for key in range(count):
                            total = add(total, psi[key], load(x, member + key * stride + 2 * channels + part))
                        if relu:
                            total = relu_of(total)
                        store(out, here + part, add(load(out, here + part), 1, total))

    @compiled
    def backward(begin, end, ptr, x, root, lanes, channels, largest, relu, scale, grad, grad_x, grad_root):
        psi, grad_psi = np.empty(largest, x.dtype), np.empty(largest, x.dtype)
        inner = np.empty(channels, x.dtype)  # gradient of what the activation was applied to
        stride = lanes * 3 * channels
        for node in range(begin, end):
            first, count = np.int64(ptr[node]), np.int64(ptr[node + 1] - ptr[node])
            for lane in range(lanes):
                here = (node * lanes + lane) * channels
                member = (first * lanes + lane) * 3 * channels
                if len(root):
                    for part in range(0, channels, width):
                        given = zero(x)
                        if count == 0:
                            given = load(grad, here + part)
                            if relu:
                                given = where_positive(load(root, here + part), given)
                        store(grad_root, here + part, given)
                for key in range(count):
                    for part in range(0, 3 * channels, width):
                        store(grad_x, member + key * stride + part, zero(x))
                for query in range(count):
                    q = member + query * stride
                    if count == 1:
                        psi[0] = 1
                    else:
                        attention(x, q, member + channels, stride, count, channels, scale, psi)
                    for part in range(0, channels, width):
                        given = load(grad, here + part)
                        if relu:
                            total = zero(x)
                            if len(root):
                                total = load(root, here + part)
                            for key in range(count):
                                total = add(total, psi[key], load(x, member + key * stride + 2 * channels + part))
                            given = where_positive(total, given)
                        store(inner, part, given)
                        if len(root):
                            store(grad_root, here + part, add(load(grad_root, here + part), 1, given))
                    for key in range(count):
                        value = member + key * stride + 2 * channels
                        for part in range(0, channels, width):
                            added = add(load(grad_x, value + part), psi[key], load(inner, part))
                            store(grad_x, value + part, added)
                    if count == 1:  # a softmax over one is constant
                        continue
                    mean = scale * 0
                    for key in range(count):
                        g = scale * 0
                        for part in range(0, channels, width):
                            there = load(x, member + key * stride + 2 * channels + part)
                            g += dot(load(inner, part), there)
                        grad_psi[key] = g
                        mean += g * psi[key]
                    for key in range(count):
                        grad_psi[key] = psi[key] * (grad_psi[key] - mean) * scale
                    for part in range(0, channels, width):
                        total = load(grad_x, q + part)
                        own = load(x, q + part)
                        for key in range(count):
                            k = member + key * stride + channels + part
                            total = add(total, grad_psi[key], load(x, k))
                            store(grad_x, k, add(load(grad_x, k), grad_psi[key], own))
                        store(grad_x, q + part, total)

    return SimpleNamespace(forward=forward, backward=backward)
