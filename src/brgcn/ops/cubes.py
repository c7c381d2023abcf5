"""Cubed sizes of the numbers of a vector, which N3 keeps small::

    sum_i w_i sum_k |v_ik|^3

where the numbers are real, or complex: then a row [2 C] holds C real parts and C imaginary ones behind them.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from brgcn.ops.backend import backend_for
from brgcn.ops.registered import fused_module


def weighted_cubes(vectors: Tensor, weight: Tensor, *, pairs: bool = False) -> Tensor:
    """A scalar, for ``vectors`` [n, C] (with ``pairs`` [n, 2 C]) and ``weight`` [n], which has no gradient."""
    weight = weight.detach()
    if backend_for(vectors) != "torch":
        cubes: Tensor = _Cubes.apply(vectors, weight, pairs)  # type: ignore[no-untyped-call]
        return cubes
    if pairs:
        real, imaginary = vectors.chunk(2, -1)
        # a root has no gradient at 0, where vectors may start
        sizes = (real.square() + imaginary.square() + 1e-24).sqrt()
    else:
        sizes = vectors.abs()
    return (weight * (sizes**3).sum(-1)).sum()


class _Cubes(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, vectors: Tensor, weight: Tensor, pairs: bool) -> Tensor:
        vectors = vectors.contiguous()
        ctx.save_for_backward(vectors, weight)
        ctx.pairs = pairs
        cubes: Tensor = fused_module(backend_for(vectors), "cubes").cubes_of_rows(vectors, pairs)
        return (cubes * weight).sum()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, None, None]:
        vectors, weight = ctx.saved_tensors
        fused = fused_module(backend_for(vectors), "cubes")
        return fused.gradient(vectors, weight * slope, ctx.pairs), None, None
