# mypy: ignore-errors
"""A step of Adagrad: five passes over a table (two of them writing), where separate operations take eleven."""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from brgcn.ops.gpu.common import blocks, on_device

WIDTH = 1024


@triton.jit
def _update(parameter, total, gradient, size, rate, epsilon, W: tl.constexpr):
    """total += gradient^2; parameter -= rate * gradient / (sqrt(total) + epsilon)"""
    place = tl.program_id(0).to(tl.int64) * W + tl.arange(0, W)
    exists = place < size
    slope = tl.load(gradient + place, mask=exists, other=0.0)
    squares = tl.load(total + place, mask=exists, other=0.0) + slope * slope
    tl.store(total + place, squares, mask=exists)
    value = tl.load(parameter + place, mask=exists, other=0.0)
    tl.store(parameter + place, value - rate * slope / (tl.sqrt(squares) + epsilon), mask=exists)


def adagrad_(parameter: Tensor, total: Tensor, gradient: Tensor, rate: float, epsilon: float) -> None:
    """In place; all tensors have the same shape."""
    size = parameter.numel()
    with on_device(parameter):
        _update[(blocks(size, WIDTH),)](parameter, total, gradient.contiguous(), size, rate, epsilon, WIDTH)
