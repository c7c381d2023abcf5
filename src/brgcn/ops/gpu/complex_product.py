# mypy: ignore-errors
"""Products of complex numbers on CUDA, in one pass."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from brgcn.ops.gpu.common import blocks, on_device, power_of_2


@triton.jit
def _product(out, a, b, half, CONJUGATE: tl.constexpr, W: tl.constexpr):
    """A row [2 half] has its real parts first."""
    column = tl.program_id(1) * W + tl.arange(0, W)
    exists = column < half
    place = tl.program_id(0).to(tl.int64) * 2 * half + column
    a_re, a_im = tl.load(a + place, mask=exists), tl.load(a + place + half, mask=exists)
    b_re, b_im = tl.load(b + place, mask=exists), tl.load(b + place + half, mask=exists)
    if CONJUGATE:
        b_im = -b_im
    tl.store(out + place, a_re * b_re - a_im * b_im, mask=exists)
    tl.store(out + place + half, a_re * b_im + a_im * b_re, mask=exists)


def complex_product(a: Tensor, b: Tensor, conjugate: bool) -> Tensor:
    out, half = torch.empty_like(a), a.size(1) // 2
    if out.numel():
        width = min(1024, power_of_2(half))
        with on_device(a):
            _product[(len(a), blocks(half, width))](out, a, b, half, conjugate, width)
    return out
