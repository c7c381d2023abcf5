# mypy: ignore-errors
"""Sums of absolute differences between all pairs of rows, and their gradient, a tile of pairs at a time."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.nn import functional

from brgcn.ops.gpu.common import blocks, on_device, sums_in, wide
from brgcn.ops.products import ALIGNED, aligned_rows

ROWS, COLUMNS = 16, 256  # of a tile of distances: a thread holds all rows of some columns, which it reads side by side
GRADIENT_ROWS, GRADIENT_COLUMNS = 64, 64
OTHERS = 1024  # rows whose share of a gradient one program adds up
AT_ONCE = tl.constexpr(4)  # steps of a loop whose loads do not wait for each other
_STEEP = tl.constexpr(2.0**126)


# told that rows of ``others`` begin at even places, Triton would load and rearrange them
@triton.jit(do_not_specialize=["between_others"])
def _distances(
    out, mine, others, N, width, between_mine, between_others, M,
    R: tl.constexpr, C: tl.constexpr, SUMS: tl.constexpr,
):  # fmt: skip
    """out[m, n] = sum_k |mine[k, m] - others[k, n]|; both have as many columns as whole tiles, and ``width`` is a
    multiple of AT_ONCE."""
    m = tl.program_id(0) * R + tl.arange(0, R)
    n = tl.program_id(1) * C + tl.arange(0, C)
    total = tl.zeros([R, C], SUMS)
    mine += m
    others += n
    for _ in range(0, width // AT_ONCE):
        for _ in tl.static_range(AT_ONCE):
            a, b = tl.load(mine).to(SUMS), tl.load(others).to(SUMS)
            total += tl.abs(a[:, None] - b[None, :])
            mine += between_mine
            others += between_others
    place = m.to(tl.int64)[:, None] * N + n[None, :]
    tl.store(out + place, total, mask=(m < M)[:, None] & (n < N)[None, :])


@triton.jit
def _side(apart, FUSED: tl.constexpr):
    """0, 0.5 or 1 where a difference is below, at, or above 0."""
    if FUSED:  # one instruction
        side = tl.inline_asm_elementwise(
            "fma.rn.sat.f32 $0, $1, 0f7E800000, 0f3F000000;", "=f,f", [apart], dtype=tl.float32, is_pure=True, pack=1
        )
    else:
        side = tl.minimum(tl.maximum(apart * _STEEP + 0.5, 0.0), 1.0)
    return side


@triton.jit
def _gradient(
    out, mine, others, slope, slopes, M, N, width, between_rows, whole,
    R: tl.constexpr, K: tl.constexpr, PART: tl.constexpr, SUMS: tl.constexpr, FUSED: tl.constexpr,
):  # fmt: skip
    """out[part, m, k] = sum over n of the part of slope[n, m] sign(mine[m, k] - others[n, k])

    ``slopes`` are the sums over all n. A tile's reading beyond the rows n < ``whole`` stays inside the tensors.
    """
    m = tl.program_id(0) * R + tl.arange(0, R)
    k = tl.program_id(1) * K + tl.arange(0, K)
    part = tl.program_id(2)
    exists = (m < M)[:, None] & (k < width)[None, :]
    place = m.to(tl.int64)[:, None] * width + k[None, :]
    own = tl.load(mine + place, mask=exists, other=0.0).to(SUMS)
    above = tl.zeros([R, K], SUMS)  # sums of slope * side, where a sign is 2 side - 1
    first, last = part * PART, tl.minimum(N, part * PART + PART)
    unmasked = tl.maximum(tl.minimum(last, whole) - first, 0) // AT_ONCE
    slope += first.to(tl.int64) * between_rows + m
    others += first.to(tl.int64) * width + k
    for _ in range(0, unmasked):
        for _ in tl.static_range(AT_ONCE):
            s, other = tl.load(slope).to(SUMS), tl.load(others).to(SUMS)
            above += s[:, None] * _side(own - other[None, :], FUSED)
            slope += between_rows
            others += width
    for _ in range(first + unmasked * AT_ONCE, last):
        s = tl.load(slope, mask=m < M, other=0.0).to(SUMS)
        other = tl.load(others, mask=k < width, other=0.0).to(SUMS)
        above += s[:, None] * _side(own - other[None, :], FUSED)
        slope += between_rows
        others += width
    once = tl.load(slopes + m, mask=(m < M) & (part + 0 * m == 0), other=0.0).to(SUMS)
    tl.store(out + part.to(tl.int64) * M * width + place, 2 * above - once[:, None], mask=exists)


def distances(mine: Tensor, others: Tensor) -> Tensor:
    """[M, width], [N, width] -> [M, N]"""
    M, N, dtype = len(mine), len(others), wide(mine.dtype)
    out = torch.empty(M, N, dtype=dtype, device=mine.device)
    if out.numel():
        a, b = _columns(mine, ROWS), _columns(others, COLUMNS)
        with on_device(mine):
            _distances[(blocks(M, ROWS), blocks(N, COLUMNS))](
                out, a, b, N, a.size(0), a.size(1), b.size(1), M, ROWS, COLUMNS, sums_in(dtype), num_warps=2
            )
    return out.to(mine.dtype)


def _columns(rows: Tensor, tile: int) -> Tensor:
    """Turned round, with as many zeros as whole tiles need."""
    count, width = rows.shape
    return functional.pad(rows, (0, -width % AT_ONCE.value, 0, -count % tile)).T.contiguous()


def gradient(mine: Tensor, others: Tensor, slope: Tensor) -> Tensor:
    """Of ``mine`` [M, width], given that of the distances, turned round [N, M]."""
    (M, width), N = mine.shape, others.size(0)
    apart = slope.stride(0)
    if slope.stride(1) != 1 or apart < M or apart % ALIGNED:  # Triton reads several numbers at once of even rows
        slope = aligned_rows(N, M, slope).copy_(slope)
    parts = max(1, blocks(N, OTHERS))
    dtype = wide(mine.dtype)
    out = torch.empty(parts, M, width, dtype=dtype, device=mine.device)
    if out.numel():
        beyond = max(blocks(GRADIENT_ROWS, max(1, slope.stride(0))), blocks(GRADIENT_COLUMNS, width))
        with on_device(mine):
            _gradient[(blocks(M, GRADIENT_ROWS), blocks(width, GRADIENT_COLUMNS), parts)](
                out, mine.contiguous(), others.contiguous(), slope, slope.sum(0, dtype=dtype), M, N, width,
                slope.stride(0), max(0, N - beyond), GRADIENT_ROWS, GRADIENT_COLUMNS, OTHERS, sums_in(dtype),
                mine.is_cuda and dtype == torch.float32,
            )  # fmt: skip
    return (out[0] if parts == 1 else out.sum(0)).to(mine.dtype)
