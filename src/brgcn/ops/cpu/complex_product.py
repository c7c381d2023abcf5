# mypy: ignore-errors
"""Products of complex numbers on the CPU, in one pass."""

from __future__ import annotations

import torch
from numba import prange
from torch import Tensor

from brgcn.ops.cpu.parallel import array, numbers, over_rows, parallel_compiled


def complex_product(a: Tensor, b: Tensor, conjugate: bool) -> Tensor:
    out = torch.empty_like(a)
    over_rows(_product, len(a), array(a), array(b), conjugate, array(out), work=a.numel())
    return out


@parallel_compiled
def _product(bounds, a, b, conjugate, out):
    _, one = numbers(a)
    sign = -one if conjugate else one
    half = a.shape[1] // 2
    for task in prange(len(bounds) - 1):
        for row in range(bounds[task], bounds[task + 1]):
            a_re, a_im, b_re, b_im = a[row, :half], a[row, half:], b[row, :half], b[row, half:]
            real, imaginary = out[row, :half], out[row, half:]
            for k in range(half):
                b_imaginary = sign * b_im[k]
                real[k] = a_re[k] * b_re[k] - a_im[k] * b_imaginary
                imaginary[k] = a_re[k] * b_imaginary + a_im[k] * b_re[k]
