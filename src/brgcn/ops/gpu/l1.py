# mypy: ignore-errors
"""Sums of absolute differences between all pairs of rows, and their gradient, a tile of pairs at a time."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from brgcn.ops.gpu.common import blocks, on_device, sums_in, wide

ROWS = 64  # of a tile of distances, in both directions
OTHERS = 1024  # rows whose share of a gradient one program adds up


@triton.jit
def _distances(out, mine, others, M, N, width, between_rows, R: tl.constexpr, SUMS: tl.constexpr):
    """out[m, n] = sum_k |mine[k, m] - others[k, n]|"""
    m = tl.program_id(0) * R + tl.arange(0, R)
    n = tl.program_id(1) * R + tl.arange(0, R)
    total = tl.zeros([R, R], SUMS)
    mine += m
    others += n
    for _ in range(0, width):
        a = tl.load(mine, mask=m < M, other=0.0).to(SUMS)
        b = tl.load(others, mask=n < N, other=0.0).to(SUMS)
        mine += M
        others += N
        total += tl.abs(a[:, None] - b[None, :])
    place = m.to(tl.int64)[:, None] * between_rows + n[None, :]
    tl.store(out + place, total, mask=(m < M)[:, None] & (n < N)[None, :])


@triton.jit
def _gradient(
    out, mine, others, slope, M, N, width, between_rows,
    R: tl.constexpr, K: tl.constexpr, PART: tl.constexpr, SUMS: tl.constexpr,
):  # fmt: skip
    """out[part, m, k] = sum over n of the part of slope[n, m] sign(mine[m, k] - others[n, k])"""
    m = tl.program_id(0) * R + tl.arange(0, R)
    k = tl.program_id(1) * K + tl.arange(0, K)
    part = tl.program_id(2)
    exists = (m < M)[:, None] & (k < width)[None, :]
    place = m.to(tl.int64)[:, None] * width + k[None, :]
    own = tl.load(mine + place, mask=exists, other=0.0).to(SUMS)
    total = tl.zeros([R, K], SUMS)
    slope += part.to(tl.int64) * PART * between_rows + m
    others += part.to(tl.int64) * PART * width + k
    for _ in range(part * PART, tl.minimum(N, part * PART + PART)):
        s = tl.load(slope, mask=m < M, other=0.0).to(SUMS)
        other = tl.load(others, mask=k < width, other=0.0).to(SUMS)
        slope += between_rows
        others += width
        apart = own - other[None, :]
        sign = tl.where(apart > 0, 1.0, tl.where(apart < 0, -1.0, 0.0)).to(SUMS)
        total += s[:, None] * sign
    tl.store(out + part.to(tl.int64) * M * width + place, total, mask=exists)


def distances(mine: Tensor, others: Tensor) -> Tensor:
    """[M, width], [N, width] -> [M, N]"""
    (M, width), N = mine.shape, others.size(0)
    dtype = wide(mine.dtype)
    out = torch.empty(M, N, dtype=dtype, device=mine.device)
    if out.numel():
        with on_device(mine):
            _distances[(blocks(M, ROWS), blocks(N, ROWS))](
                out, mine.T.contiguous(), others.T.contiguous(), M, N, width, N, ROWS, sums_in(dtype)
            )
    return out.to(mine.dtype)


def gradient(mine: Tensor, others: Tensor, slope: Tensor) -> Tensor:
    """Of ``mine`` [M, width], given that of the distances, turned round [N, M]."""
    (M, width), N = mine.shape, others.size(0)
    slope = slope if slope.stride(1) == 1 else slope.contiguous()
    parts = max(1, blocks(N, OTHERS))
    dtype = wide(mine.dtype)
    out = torch.empty(parts, M, width, dtype=dtype, device=mine.device)
    if out.numel():
        with on_device(mine):
            _gradient[(blocks(M, 16), blocks(width, 64), parts)](
                out, mine.contiguous(), others.contiguous(), slope, M, N, width, slope.stride(0),
                16, 64, OTHERS, sums_in(dtype),
            )  # fmt: skip
    return (out[0] if parts == 1 else out.sum(0)).to(mine.dtype)
