"""Scores of many queries against all candidates, and their gradients.

A row of scores has as many numbers as there are candidates, and matrix products on a GPU are slower where rows begin at
odd places, or are of an odd length. So rows are laid out with a few unused numbers between them, and the last
candidates are multiplied apart.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from brgcn.ops.backend import backend_for
from brgcn.ops.precision import product_features
from brgcn.ops.registered import fused_module

ALIGNED = 16
MANY = 1 << 12  # candidates


def aligned_rows(rows: int, columns: int, like: Tensor, dtype: torch.dtype | None = None) -> Tensor:
    """[rows, columns], not filled; each row begins at a multiple of 16."""
    wide = -(-columns // ALIGNED) * ALIGNED
    table = torch.empty(rows, wide, dtype=dtype or like.dtype, device=like.device)
    if not table.is_cuda:  # products in tiles of bfloat16 read past a row's end, times 0, which a NaN survives
        table[:, columns:] = 0
    return table[:, :columns]


def inner_products(query: Tensor, candidates: Tensor) -> Tensor:
    """[b, d] and [N, d] -> [b, N], in the precision of training."""
    products: Tensor = _Products.apply(product_features(query), product_features(candidates))  # type: ignore[no-untyped-call]
    return products


class _Products(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query: Tensor, candidates: Tensor) -> Tensor:
        ctx.save_for_backward(query, candidates)
        scores = aligned_rows(query.size(0), candidates.size(0), query)
        for some in _parts(candidates):
            torch.mm(query, candidates[some].T, out=scores[:, some])
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, Tensor]:
        query, candidates = ctx.saved_tensors
        parts = _parts(candidates)
        by_query, by_candidate = slope[:, parts[0]] @ candidates[parts[0]], torch.empty_like(candidates)
        for some in parts[1:]:  # a product as deep as these few is slower than they are one by one
            for one in range(some.start, some.stop):
                by_query.addcmul_(slope[:, one, None], candidates[one])
        for some in parts:
            torch.mm(slope[:, some].T, query, out=by_candidate[some])
        return by_query, by_candidate


def _parts(candidates: Tensor) -> list[slice]:
    """On CUDA as many candidates as fill lines of 16 bytes, and the few others; all where that would not pay."""
    count = len(candidates)
    even = count - count % (16 // candidates.element_size())
    if not candidates.is_cuda or count < MANY or even == count:
        return [slice(0, count)]
    return [slice(0, even), slice(even, count)]


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
        return fused.gradient(query, candidates, slope.T), fused.gradient(candidates, query, slope)
