"""Products of complex numbers, number by number: of rows [2 C] whose first half is real and whose second is imaginary.

The gradients of a product are products themselves: of a b, g conj(b) and g conj(a); of a conj(b), g b and a conj(g).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from brgcn.ops.backend import backend_for
from brgcn.ops.registered import fused_module

LARGE = 1 << 12  # numbers from which the fused version pays; a question of a few rows should not wait for a compiler


def complex_product(a: Tensor, b: Tensor, *, conjugate: bool = False) -> Tensor:
    """a b, or a conj(b); [.., 2 C] each."""
    alike = a.shape == b.shape and a.dtype == b.dtype and a.dim() == 2
    if alike and a.numel() >= LARGE and backend_for(a) != "torch":
        product: Tensor = _Product.apply(a, b, conjugate)  # type: ignore[no-untyped-call]
        return product
    (a_re, a_im), (b_re, b_im) = a.chunk(2, -1), b.chunk(2, -1)
    if conjugate:
        return torch.cat([a_re * b_re + a_im * b_im, a_im * b_re - a_re * b_im], dim=-1)
    return torch.cat([a_re * b_re - a_im * b_im, a_re * b_im + a_im * b_re], dim=-1)


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, conjugate: bool) -> Tensor:
        a, b = a.contiguous(), b.contiguous()
        ctx.save_for_backward(a, b)
        ctx.conjugate = conjugate
        return _fused(a, b, conjugate)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        a, b = ctx.saved_tensors
        slope = slope.contiguous()
        by_a = by_b = None
        if ctx.needs_input_grad[0]:
            by_a = _fused(slope, b, not ctx.conjugate)
        if ctx.needs_input_grad[1]:
            by_b = _fused(a, slope, True) if ctx.conjugate else _fused(slope, a, True)
        return by_a, by_b, None


def _fused(a: Tensor, b: Tensor, conjugate: bool) -> Tensor:
    product: Tensor = fused_module(backend_for(a), "complex_product").complex_product(a, b, conjugate)
    return product
