# mypy: ignore-errors
"""Typed dot products on the CPU."""

from __future__ import annotations

from functools import lru_cache
from types import SimpleNamespace

import numpy as np
import torch
from torch import Tensor

from brgcn.ops.cpu.parallel import array, compiled, over_rows, over_segments
from brgcn.ops.cpu.vector import vectors, width_for


def typed_dot(x: Tensor, vector: Tensor, tables: list[Tensor]) -> Tensor:
    x, vector = x.contiguous(), vector.contiguous()
    row, relation = tables[:2]
    out = x.new_empty(row.size(0), x.size(1))
    kernel = _kernels(width_for(x.size(2))).forward
    over_rows(kernel, len(out), array(row), array(relation), *_flat(x, vector), x.size(2), array(out))
    return out


def typed_dot_backward(grad: Tensor, x: Tensor, vector: Tensor, tables: list[Tensor]) -> tuple[Tensor, Tensor]:
    x, vector = x.contiguous(), vector.contiguous()
    row, relation = array(tables[0]), array(tables[1])
    kernel = _kernels(width_for(x.size(2))).gather
    grad_x, grad_vector = torch.empty_like(x), torch.empty_like(vector)
    flat_x, flat_vector = _flat(x, vector)
    for result, grouping, index, features in (
        (grad_x, tables[2:4], relation, flat_vector),
        (grad_vector, tables[9:11], row, flat_x),
    ):
        ptr, entry = array(grouping[0]), array(grouping[1])
        over_segments(kernel, ptr, ptr, entry, index, array(grad), features, x.size(2), array(result).reshape(-1))
    return grad_x, grad_vector


def _flat(x: Tensor, vector: Tensor) -> tuple[np.ndarray, np.ndarray]:
    return array(x).reshape(-1), array(vector).reshape(-1)


@lru_cache
def _kernels(width: int) -> SimpleNamespace:
    v = vectors(width)
    zero, load, store, add, dot = v.zero, v.load, v.store, v.add, v.dot

    @compiled
    def forward(begin, end, row, relation, x, vector, channels, out):
        lanes = out.shape[1]
        for item in range(begin, end):
            for lane in range(lanes):
                here = (np.int64(row[item]) * lanes + lane) * channels
                there = (np.int64(relation[item]) * lanes + lane) * channels
                total = x[0] * 0
                for part in range(0, channels, width):
                    total += dot(load(x, here + part), load(vector, there + part))
                out[item, lane] = total

    @compiled
    def gather(begin, end, ptr, entry, index, weight, features, channels, out):
        """out[s] = sum over the items of segment s of weight[item] * features[index[item]]."""
        lanes = weight.shape[1]
        for segment in range(begin, end):
            for lane in range(lanes):
                for part in range(0, channels, width):
                    total = zero(features)
                    for k in range(ptr[segment], ptr[segment + 1]):
                        item = np.int64(entry[k]) if len(entry) else np.int64(k)
                        there = (np.int64(index[item]) * lanes + lane) * channels + part
                        total = add(total, weight[item, lane], load(features, there))
                    store(out, (segment * lanes + lane) * channels + part, total)

    return SimpleNamespace(forward=forward, gather=gather)
