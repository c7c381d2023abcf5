# mypy: ignore-errors
"""Sums of absolute differences between all pairs of rows on the CPU, and their gradient, four rows at a time."""

from __future__ import annotations

import numpy as np
import torch
from numba import prange
from torch import Tensor

from brgcn.ops.cpu.parallel import array, over_rows, parallel_compiled
from brgcn.ops.cpu.vector import add_apart, add_sign, load, store, total_of, width_of, zero

LANES = 16  # rows are filled up with zeros to a multiple of it, which changes no difference


def distances(mine: Tensor, others: Tensor) -> Tensor:
    """[M, width] and [N, width] -> [M, N]"""
    mine, others = _filled(mine), _filled(others)
    out = mine.new_empty(len(mine), len(others))
    if out.numel():
        over_rows(
            _distances,
            -(-len(mine) // 4),
            *(array(t).reshape(-1) for t in (mine, others)),
            (len(mine), len(others), mine.size(1)),
            width_of(LANES),
            array(out),
            work=out.numel() * mine.size(1),
        )
    return out


def gradient(mine: Tensor, others: Tensor, slope: Tensor) -> Tensor:
    """out[m] = sum over n of slope[n, m] sign(mine[m] - others[n])"""
    width = mine.size(1)
    mine, others = _filled(mine), _filled(others)
    slope = slope if slope.stride(1) == 1 else slope.contiguous()
    out = torch.zeros_like(mine)
    if len(mine) and len(others):
        over_rows(
            _gradient,
            -(-len(mine) // 4),
            *(array(t).reshape(-1) for t in (mine, others)),
            array(slope),
            (len(mine), len(others), mine.size(1)),
            width_of(LANES),
            array(out).reshape(-1),
            work=slope.numel() * width,
        )
    return out[:, :width]


def _filled(rows: Tensor) -> Tensor:
    missing = -rows.size(1) % LANES
    return (torch.nn.functional.pad(rows, (0, missing)) if missing else rows).contiguous()


@parallel_compiled
def _distances(bounds, mine, others, shape, w, out):
    rows, columns, width = shape
    for task in prange(len(bounds) - 1):
        for four in range(bounds[task], bounds[task + 1]):
            first = np.int64(four) * 4
            # the last row again where there are no more
            a, b, c, d = first, min(first + 1, rows - 1), min(first + 2, rows - 1), min(first + 3, rows - 1)
            for n in range(columns):
                of_a = of_b = of_c = of_d = zero(mine, w)
                for part in range(0, width, len(w)):
                    other = load(others, n * width + part, w)
                    of_a = add_apart(of_a, load(mine, a * width + part, w), other)
                    of_b = add_apart(of_b, load(mine, b * width + part, w), other)
                    of_c = add_apart(of_c, load(mine, c * width + part, w), other)
                    of_d = add_apart(of_d, load(mine, d * width + part, w), other)
                out[a, n], out[b, n], out[c, n], out[d, n] = (
                    total_of(of_a),
                    total_of(of_b),
                    total_of(of_c),
                    total_of(of_d),
                )


@parallel_compiled
def _gradient(bounds, mine, others, slope, shape, w, out):
    rows, columns, width = shape
    for task in prange(len(bounds) - 1):
        for four in range(bounds[task], bounds[task + 1]):
            first = np.int64(four) * 4
            a, b, c, d = first, min(first + 1, rows - 1), min(first + 2, rows - 1), min(first + 3, rows - 1)
            for part in range(0, width, len(w)):
                at_a, at_b = load(mine, a * width + part, w), load(mine, b * width + part, w)
                at_c, at_d = load(mine, c * width + part, w), load(mine, d * width + part, w)
                of_a = of_b = of_c = of_d = zero(mine, w)
                for n in range(columns):
                    other = load(others, n * width + part, w)
                    of_a = add_sign(of_a, slope[n, a], at_a, other)
                    of_b = add_sign(of_b, slope[n, b], at_b, other)
                    of_c = add_sign(of_c, slope[n, c], at_c, other)
                    of_d = add_sign(of_d, slope[n, d], at_d, other)
                store(out, a * width + part, of_a)
                store(out, b * width + part, of_b)
                store(out, c * width + part, of_c)
                store(out, d * width + part, of_d)
