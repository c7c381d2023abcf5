# mypy: ignore-errors
"""Rows of typed matrices mixed from shared bases."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from brgcn.ops.gpu.common import blocks, on_device, power_of_2, sums_in, wide
from brgcn.ops.gpu.weighted_sum import add_chunks
from brgcn.ops.tables import CHUNK

LONG = tl.constexpr(CHUNK)


@triton.jit
def _mix(
    out, basis, coefficients, row, relation, num_items,
    L: tl.constexpr, B: tl.constexpr, C: tl.constexpr, K: tl.constexpr, ACC: tl.constexpr,
    M: tl.constexpr, KS: tl.constexpr, W: tl.constexpr,
):  # fmt: skip
    """A tile [items, projections, channels] of one lane."""
    program = tl.program_id(0)
    lane = program % L
    item = (program // L).to(tl.int64) * M + tl.arange(0, M)
    exists = item < num_items
    from_row = (tl.load(row + item, mask=exists, other=0).to(tl.int64) * L + lane)[:, None, None] * (B * C)
    of_relation = (tl.load(relation + item, mask=exists, other=0).to(tl.int64) * L + lane)[:, None, None] * (B * K)
    item, exists = item[:, None, None], exists[:, None, None]
    k = tl.arange(0, KS)[None, :, None]
    c = tl.arange(0, W)[None, None, :]
    total = tl.zeros([M, KS, W], ACC)
    for b in range(0, B):
        factor = tl.load(coefficients + of_relation + b * K + k, mask=exists & (k < K), other=0.0).to(ACC)
        total += factor * tl.load(basis + from_row + b * C + c, mask=exists & (c < C), other=0.0).to(ACC)
    place = (item * L + lane) * (K * C) + k * C + c
    tl.store(out + place, total.to(out.dtype.element_ty), mask=exists & (k < K) & (c < C))


@triton.jit
def _grad_basis(
    grad_basis, grad, coefficients, relation, ptr, entry, num_segments,
    L: tl.constexpr, B: tl.constexpr, C: tl.constexpr, K: tl.constexpr, ENTRIES: tl.constexpr, ACC: tl.constexpr,
    BS: tl.constexpr, W: tl.constexpr, PER: tl.constexpr,
):  # fmt: skip
    """One program per node, lane and block of bases: over the node's items. A node without items gets zeros."""
    program = tl.program_id(0)
    b = (program % PER) * BS + tl.arange(0, BS)
    lane = (program // PER) % L
    node = (program // (PER * L)).to(tl.int64)
    exists = node < num_segments
    begin = tl.load(ptr + node, mask=exists, other=0)
    end = tl.load(ptr + node + 1, mask=exists, other=0)
    c = tl.arange(0, W)
    total = tl.zeros([BS, W], ACC)
    for place in range(begin, end):
        if ENTRIES:
            item = tl.load(entry + place).to(tl.int64)
        else:
            item = place.to(tl.int64)
        r = tl.load(relation + item).to(tl.int64)
        of_relation = coefficients + (r * L + lane) * (B * K) + b[:, None] * K
        of_item = grad + (item * L + lane) * (K * C) + c[None, :]
        for k in tl.static_range(K):
            factor = tl.load(of_relation + k, mask=(b < B)[:, None], other=0.0).to(ACC)
            total += factor * tl.load(of_item + k * C, mask=(c < C)[None, :], other=0.0).to(ACC)
    place = (node * L + lane) * (B * C) + b[:, None] * C + c[None, :]
    tl.store(grad_basis + place, total.to(grad_basis.dtype.element_ty), mask=(b < B)[:, None] & (c < C)[None, :])


@triton.jit
def _grad_coefficients(
    out, grad, basis, row, entry, begins, ends,
    L: tl.constexpr, B: tl.constexpr, C: tl.constexpr, K: tl.constexpr, ENTRIES: tl.constexpr, SHORT: tl.constexpr,
    ACC: tl.constexpr, KS: tl.constexpr, BS: tl.constexpr, W: tl.constexpr, PER: tl.constexpr, UNROLL: tl.constexpr,
):  # fmt: skip
    """out[q, lane] [B, K]: over the items of range q. SHORT: ranges are relations, long ones are left out."""
    program = tl.program_id(0)
    b = ((program % PER) * BS + tl.arange(0, BS))[None, :, None]
    lane = (program // PER) % L
    q = (program // (PER * L)).to(tl.int64)
    k = tl.arange(0, KS)[:, None, None]
    c = tl.arange(0, W)[None, None, :]
    begin = tl.load(begins + q)
    end = tl.load(ends + q)
    num_bases = B
    if SHORT:
        short = end - begin <= LONG
        num_bases = tl.where(short, B, 0)
        end = tl.where(short, end, begin)
    total = tl.zeros([KS, BS, W], ACC)
    for first in range(begin, end, UNROLL):
        for step in tl.static_range(UNROLL):  # several items at a time, so that their loads overlap
            place = first + step
            exists = place < end
            if ENTRIES:
                item = tl.load(entry + place, mask=exists, other=0).to(tl.int64)
            else:
                item = place.to(tl.int64)
            j = tl.load(row + item, mask=exists, other=0).to(tl.int64)
            of_item = grad + (item * L + lane) * (K * C) + k * C + c
            from_row = basis + (j * L + lane) * (B * C) + b * C + c
            within = c < tl.where(exists, C, 0)
            slope = tl.load(of_item, mask=(k < K) & within, other=0.0).to(ACC)
            total += slope * tl.load(from_row, mask=(b < B) & within, other=0.0).to(ACC)
    summed = tl.sum(total, 2)
    b = (program % PER) * BS + tl.arange(0, BS)[None, :]
    k = tl.arange(0, KS)[:, None]
    place = (q * L + lane) * (B * K) + b * K + k
    tl.store(out + place, summed.to(out.dtype.element_ty), mask=(b < num_bases) & (k < K))


def mix_rows(basis: Tensor, coefficients: Tensor, tables: list[Tensor]) -> Tensor:
    basis, coefficients = basis.contiguous(), coefficients.contiguous()
    row, relation = tables[:2]
    _, lanes, num_bases, channels = basis.shape
    num_parts = coefficients.size(3)
    num_items = row.size(0)
    out = basis.new_empty(num_items, lanes, num_parts * channels)
    if out.numel():
        parts, width = power_of_2(num_parts), power_of_2(channels)
        height = max(1, min(1024 // (parts * width), 32))
        with on_device(basis):
            _mix[(blocks(num_items, height) * lanes,)](
                out, basis, coefficients, row, relation, num_items, lanes, num_bases, channels, num_parts,
                sums_in(basis.dtype), height, parts, width,
            )  # fmt: skip
    return out


def mix_rows_backward(grad: Tensor, basis: Tensor, coefficients: Tensor, tables: list[Tensor]) -> tuple[Tensor, Tensor]:
    grad, basis, coefficients = grad.contiguous(), basis.contiguous(), coefficients.contiguous()
    row, relation, ptr, entry = tables[:4]
    num_nodes, lanes, num_bases, channels = basis.shape
    num_parts = coefficients.size(3)
    acc = sums_in(basis.dtype)
    width = power_of_2(channels)
    grad_basis = torch.empty_like(basis)
    if grad_basis.numel():
        height = max(1, min(2048 // width, power_of_2(num_bases)))
        per = blocks(num_bases, height)
        with on_device(basis):
            _grad_basis[(num_nodes * lanes * per,)](
                grad_basis, grad, coefficients, relation, ptr, entry, ptr.numel() - 1, lanes, num_bases, channels,
                num_parts, entry.numel() > 0, acc, height, width, per, num_warps=2,
            )  # fmt: skip
    return grad_basis, _coefficient_gradient(grad, basis, coefficients, row, tables[9:16])


def _coefficient_gradient(
    grad: Tensor, basis: Tensor, coefficients: Tensor, row: Tensor, grouping: list[Tensor]
) -> Tensor:
    ptr, entry, _, begin, end, whole, whole_ptr = grouping
    num_relations, lanes, num_bases, num_parts = coefficients.shape
    channels = basis.size(3)
    out = torch.empty_like(coefficients)
    if out.numel() == 0:
        return out
    parts, width = power_of_2(num_parts), power_of_2(channels)
    height = max(1, min(2048 // (parts * width), power_of_2(num_bases)))
    per = blocks(num_bases, height)
    sizes = (lanes, num_bases, channels, num_parts, entry.numel() > 0)
    tile = (sums_in(basis.dtype), parts, height, width, per, 2)
    with on_device(basis):
        _grad_coefficients[(num_relations * lanes * per,)](
            out, grad, basis, row, entry, ptr, ptr[1:], *sizes, True, *tile
        )
        if begin.numel():
            partial = out.new_empty(begin.numel(), lanes, num_bases, num_parts, dtype=wide(out.dtype))
            _grad_coefficients[(begin.numel() * lanes * per,)](
                partial, grad, basis, row, entry, begin, end, *sizes, False, *tile
            )
            add_chunks(partial, whole, whole_ptr, out)
    return out
