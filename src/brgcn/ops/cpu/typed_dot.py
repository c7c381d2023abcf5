# mypy: ignore-errors
"""Typed dot products on the CPU."""

from __future__ import annotations

import numpy as np
import torch
from numba import prange
from torch import Tensor

from brgcn.ops.cpu.parallel import array, numbers, over_rows, over_segments, parallel_compiled
from brgcn.ops.cpu.vector import add, dot, load, store, width_of, zero


def typed_dot(x: Tensor, vector: Tensor, tables: list[Tensor]) -> Tensor:
    x, vector = x.contiguous(), vector.contiguous()
    row, relation = tables[:2]
    out = x.new_empty(row.size(0), x.size(1))
    channels = x.size(2)
    over_rows(
        _forward,
        len(out),
        array(row),
        array(relation),
        *_flat(x, vector),
        channels,
        width_of(channels),
        array(out),
    )
    return out


def typed_dot_backward(grad: Tensor, x: Tensor, vector: Tensor, tables: list[Tensor]) -> tuple[Tensor, Tensor]:
    x, vector = x.contiguous(), vector.contiguous()
    row, relation = array(tables[0]), array(tables[1])
    channels = x.size(2)
    grad_x, grad_vector = torch.empty_like(x), torch.empty_like(vector)
    flat_x, flat_vector = _flat(x, vector)
    for result, grouping, index, features in (
        (grad_x, tables[2:4], relation, flat_vector),
        (grad_vector, tables[9:11], row, flat_x),
    ):
        ptr, entry = array(grouping[0]), array(grouping[1])
        over_segments(
            _gather,
            ptr,
            ptr,
            entry,
            index,
            array(grad),
            features,
            channels,
            width_of(channels),
            array(result).reshape(-1),
        )
    return grad_x, grad_vector


def _flat(x: Tensor, vector: Tensor) -> tuple[np.ndarray, np.ndarray]:
    return array(x).reshape(-1), array(vector).reshape(-1)


@parallel_compiled
def _forward(bounds, row, relation, x, vector, channels, w, out):
    lanes = out.shape[1]
    nothing, _ = numbers(x)
    for task in prange(len(bounds) - 1):
        for item in range(bounds[task], bounds[task + 1]):
            for lane in range(lanes):
                here = (np.int64(row[item]) * lanes + lane) * channels
                there = (np.int64(relation[item]) * lanes + lane) * channels
                total = nothing
                for part in range(0, channels, len(w)):
                    total += dot(load(x, here + part, w), load(vector, there + part, w))
                out[item, lane] = total


@parallel_compiled
def _gather(bounds, ptr, entry, index, weight, features, channels, w, out):
    """out[s] = sum over the items of segment s of weight[item] * features[index[item]]."""
    lanes = weight.shape[1]
    for task in prange(len(bounds) - 1):
        for segment in range(bounds[task], bounds[task + 1]):
            for lane in range(lanes):
                for part in range(0, channels, len(w)):
                    total = zero(features, w)
                    for k in range(ptr[segment], ptr[segment + 1]):
                        item = np.int64(entry[k]) if len(entry) else np.int64(k)
                        there = (np.int64(index[item]) * lanes + lane) * channels + part
                        total = add(total, weight[item, lane], load(features, there, w))
                    store(out, (segment * lanes + lane) * channels + part, total)
