# mypy: ignore-errors
"""Cubed sizes on the CPU: one pass over the vectors in each direction."""

from __future__ import annotations

import math

import torch
from numba import prange
from torch import Tensor

from brgcn.ops.cpu.parallel import array, numbers, over_rows, parallel_compiled


def cubes_of_rows(vectors: Tensor, pairs: bool) -> Tensor:
    """[n]"""
    out = vectors.new_empty(len(vectors))
    over_rows(_of_pairs if pairs else _of_numbers, len(vectors), array(vectors), array(out), work=vectors.numel())
    return out


def gradient(vectors: Tensor, weight: Tensor, pairs: bool) -> Tensor:
    """weight_i times the gradient of the cubes of row i."""
    out = torch.empty_like(vectors)
    kernel = _gradient_of_pairs if pairs else _gradient_of_numbers
    over_rows(kernel, len(vectors), array(vectors), array(weight.contiguous()), array(out), work=vectors.numel())
    return out


@parallel_compiled
def _of_numbers(bounds, vectors, out):
    nothing, _ = numbers(vectors)
    for task in prange(len(bounds) - 1):
        for row in range(bounds[task], bounds[task + 1]):
            total = nothing
            for k in range(vectors.shape[1]):
                total += vectors[row, k] * vectors[row, k] * abs(vectors[row, k])
            out[row] = total


@parallel_compiled
def _of_pairs(bounds, vectors, out):
    nothing, _ = numbers(vectors)
    half = vectors.shape[1] // 2
    for task in prange(len(bounds) - 1):
        for row in range(bounds[task], bounds[task + 1]):
            real, imaginary = vectors[row, :half], vectors[row, half:]
            total = nothing
            for k in range(half):
                square = real[k] * real[k] + imaginary[k] * imaginary[k]
                total += square * math.sqrt(square)
            out[row] = total


@parallel_compiled
def _gradient_of_numbers(bounds, vectors, weight, out):
    _, one = numbers(vectors)
    for task in prange(len(bounds) - 1):
        for row in range(bounds[task], bounds[task + 1]):
            factor = (one + one + one) * weight[row]
            for k in range(vectors.shape[1]):
                out[row, k] = factor * vectors[row, k] * abs(vectors[row, k])


@parallel_compiled
def _gradient_of_pairs(bounds, vectors, weight, out):
    _, one = numbers(vectors)
    half = vectors.shape[1] // 2
    for task in prange(len(bounds) - 1):
        for row in range(bounds[task], bounds[task + 1]):
            real, imaginary = vectors[row, :half], vectors[row, half:]
            to_real, to_imaginary = out[row, :half], out[row, half:]
            factor = (one + one + one) * weight[row]
            for k in range(half):
                size = factor * math.sqrt(real[k] * real[k] + imaginary[k] * imaginary[k])
                to_real[k] = size * real[k]
                to_imaginary[k] = size * imaginary[k]
