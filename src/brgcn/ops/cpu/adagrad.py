# mypy: ignore-errors
"""A step of Adagrad on the CPU in one pass over the rows that have a gradient."""

from __future__ import annotations

import math

import torch
from numba import prange
from torch import Tensor

from brgcn.ops.cpu.parallel import array, over_rows, parallel_compiled


def adagrad_(parameter: Tensor, total: Tensor, gradient: Tensor, rate: float, epsilon: float) -> None:
    """In place, for a gradient of all rows, or a sparse one of some."""
    if gradient.is_sparse:
        rows, gradient = _rows_of(gradient)
    else:
        rows = torch.arange(len(parameter))
    gradient = gradient.contiguous()
    over_rows(
        _update,
        len(rows),
        *(array(t.flatten(1) if t.dim() > 1 else t.unsqueeze(1)) for t in (parameter, total, gradient)),
        array(rows),
        array(parameter.new_tensor([rate, epsilon])),
        work=gradient.numel(),
    )


def _rows_of(gradient: Tensor) -> tuple[Tensor, Tensor]:
    """Rows, each once, and their gradients; a lookup of ascending rows need not be sorted again."""
    rows = gradient._indices()[0]
    if not (rows[1:] > rows[:-1]).all():
        gradient = gradient.coalesce()
        rows = gradient._indices()[0]
    return rows, gradient._values()


@parallel_compiled
def _update(bounds, parameter, total, gradient, rows, numbers):
    """total += gradient^2; parameter -= rate * gradient / (sqrt(total) + epsilon)"""
    rate, epsilon = numbers[0], numbers[1]
    for task in prange(len(bounds) - 1):
        for place in range(bounds[task], bounds[task + 1]):
            values, squares, slope = parameter[rows[place]], total[rows[place]], gradient[place]
            for k in range(len(slope)):
                square = squares[k] + slope[k] * slope[k]
                squares[k] = square
                values[k] -= rate * slope[k] / (math.sqrt(square) + epsilon)
