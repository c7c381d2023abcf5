# mypy: ignore-errors
"""Cubed sizes on CUDA: one pass over the vectors in each direction."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from brgcn.ops.gpu.common import on_device, power_of_2, sums_in


@triton.jit
def _size(mine, column, exists, half, PAIRS: tl.constexpr, SUMS: tl.constexpr):
    """The numbers, of pairs their second parts, and their sizes."""
    real = tl.load(mine + column, mask=exists, other=0.0).to(SUMS)
    if PAIRS:
        imaginary = tl.load(mine + half + column, mask=exists, other=0.0).to(SUMS)
        return real, imaginary, tl.sqrt(real * real + imaginary * imaginary)
    return real, real, tl.abs(real)


@triton.jit
def _cubes(out, vectors, width, half, PAIRS: tl.constexpr, SUMS: tl.constexpr, W: tl.constexpr):
    """One program per row, of ``half`` numbers or pairs."""
    row = tl.program_id(0).to(tl.int64)
    total = tl.zeros([W], SUMS)
    for begin in range(0, half, W):
        column = begin + tl.arange(0, W)
        _, _, size = _size(vectors + row * width, column, column < half, half, PAIRS, SUMS)
        total += size * size * size
    tl.store(out + row, tl.sum(total, 0).to(out.dtype.element_ty))


@triton.jit
def _gradient(out, vectors, weight, width, half, PAIRS: tl.constexpr, SUMS: tl.constexpr, W: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    factor = 3 * tl.load(weight + row).to(SUMS)
    for begin in range(0, half, W):
        column = begin + tl.arange(0, W)
        exists = column < half
        real, imaginary, size = _size(vectors + row * width, column, exists, half, PAIRS, SUMS)
        place = out + row * width + column
        tl.store(place, (factor * size * real).to(out.dtype.element_ty), mask=exists)
        if PAIRS:
            tl.store(place + half, (factor * size * imaginary).to(out.dtype.element_ty), mask=exists)


def cubes_of_rows(vectors: Tensor, pairs: bool) -> Tensor:
    """[n]"""
    out = vectors.new_empty(len(vectors))
    _launch(_cubes, (out, vectors), vectors, pairs)
    return out


def gradient(vectors: Tensor, weight: Tensor, pairs: bool) -> Tensor:
    """weight_i times the gradient of the cubes of row i."""
    out = torch.empty_like(vectors)
    _launch(_gradient, (out, vectors, weight.contiguous()), vectors, pairs)
    return out


def _launch(kernel, tensors, vectors: Tensor, pairs: bool) -> None:
    rows, width = vectors.shape
    half = width // 2 if pairs else width
    if rows:
        with on_device(vectors):
            kernel[(rows,)](*tensors, width, half, pairs, sums_in(vectors.dtype), min(1024, power_of_2(max(half, 1))))
