"""Scores of many queries against all candidates, and their gradients.

A row of scores has as many numbers as there are candidates, and matrix products on a GPU are slower where rows begin at
odd places. So rows are laid out with a few unused numbers between them.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from brgcn.ops.backend import backend_for
from brgcn.ops.precision import product_features
from brgcn.ops.registered import fused_module

ALIGNED = 8


def aligned_rows(rows: int, columns: int, like: Tensor, dtype: torch.dtype | None = None) -> Tensor:
    """[rows, columns], not filled; each row begins at a multiple of 8."""
    wide = -(-columns // ALIGNED) * ALIGNED
    return torch.empty(rows, wide, dtype=dtype or like.dtype, device=like.device)[:, :columns]


def inner_products(query: Tensor, candidates: Tensor) -> Tensor:
    """[b, d] and [N, d] -> [b, N], in the precision of training."""
    products: Tensor = _Products.apply(product_features(query), product_features(candidates))  # type: ignore[no-untyped-call]
    return products


class _Products(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query: Tensor, candidates: Tensor) -> Tensor:
        ctx.save_for_backward(query, candidates)
        return torch.mm(query, candidates.T, out=aligned_rows(query.size(0), candidates.size(0), query))

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, Tensor]:
        query, candidates = ctx.saved_tensors
        return slope @ candidates, slope.T @ query


def l1_distances(query: Tensor, candidates: Tensor) -> Tensor:
    """[b, d] and [N, d] -> [b, N] sums of absolute differences."""
    if backend_for(query) == "torch":
        return torch.cdist(query, candidates, p=1.0)
    distances: Tensor = _Distances.apply(query, candidates)  # type: ignore[no-untyped-call]
    return distances


class _Distances(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query: Tensor, candidates: Tensor) -> Tensor:
        ctx.save_for_backward(query, candidates)
        distances: Tensor = fused_module(backend_for(query), "l1").distances(query, candidates)
        return distances

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, Tensor]:
        query, candidates = ctx.saved_tensors
        fused = fused_module(backend_for(query), "l1")
        return fused.gradient(query, candidates, slope.T.contiguous()), fused.gradient(candidates, query, slope)
