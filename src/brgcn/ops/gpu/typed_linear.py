# mypy: ignore-errors
"""Matrix products of pairs with the matrices of their relations.

Pairs are read and written where they are: a program takes up to TILE pairs of one relation through the order by
relation. The gradient of a matrix is summed over chunks of its relation's pairs, then over the chunks.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from brgcn.ops.gpu.common import blocks, on_device, power_of_2, product, sums_in, wide
from brgcn.ops.gpu.weighted_sum import add_chunks
from brgcn.ops.typed_linear import TILE


@triton.jit
def _rows_of(z, row, exists, depth, IN: tl.constexpr):
    """[M, K] some columns of the rows."""
    place = row[:, None] * IN + depth[None, :]
    return tl.load(z + place, mask=exists[:, None] & (depth < IN)[None, :], other=0.0)


@triton.jit
def _multiply(
    out, z, weight, entry, relation, begin, end,
    L: tl.constexpr, IN: tl.constexpr, OUT: tl.constexpr, TRANSPOSED: tl.constexpr, ENTRIES: tl.constexpr,
    ACC: tl.constexpr, M: tl.constexpr, K: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    """out rows = z rows @ weight[relation]; TRANSPOSED: weight is [.., OUT, IN] in memory and z has IN columns."""
    program = tl.program_id(0)
    lane = program % L
    tile = program // L
    r = tl.load(relation + tile).to(tl.int64)
    place = tl.load(begin + tile) + tl.arange(0, M)
    exists = place < tl.load(end + tile)
    if ENTRIES:
        row = tl.load(entry + place, mask=exists, other=0).to(tl.int64)
    else:
        row = place.to(tl.int64)
    row = row * L + lane
    matrix = weight + (r * L + lane) * (IN * OUT)
    whole: tl.constexpr = IN <= K  # a row is read once for all columns of the product
    if whole:
        a = _rows_of(z, row, exists, tl.arange(0, K), IN)
    for first_column in range(0, OUT, N):
        column = first_column + tl.arange(0, N)
        total = tl.zeros([M, N], ACC)
        for first in range(0, IN, K):
            depth = first + tl.arange(0, K)
            if not whole:
                a = _rows_of(z, row, exists, depth, IN)
            if TRANSPOSED:
                b_place = column[None, :] * IN + depth[:, None]
            else:
                b_place = depth[:, None] * OUT + column[None, :]
            b = tl.load(matrix + b_place, mask=(depth < IN)[:, None] & (column < OUT)[None, :], other=0.0)
            total += product(a, b, K)
        mask = exists[:, None] & (column < OUT)[None, :]
        tl.store(out + row[:, None] * OUT + column[None, :], total.to(out.dtype.element_ty), mask=mask)


@triton.jit
def _sum_outer_products(
    partial, z, grad, entry, begin, end,
    L: tl.constexpr, IN: tl.constexpr, OUT: tl.constexpr, ENTRIES: tl.constexpr, ACC: tl.constexpr,
    M: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
    IN_BLOCKS: tl.constexpr, OUT_BLOCKS: tl.constexpr,
):  # fmt: skip
    """partial[q, lane] [IN, OUT] = sum over the pairs of chunk q of z^T grad."""
    program = tl.program_id(0)
    o = (program % OUT_BLOCKS) * COLUMNS + tl.arange(0, COLUMNS)
    program = program // OUT_BLOCKS
    i = (program % IN_BLOCKS) * ROWS + tl.arange(0, ROWS)
    program = program // IN_BLOCKS
    lane = program % L
    q = (program // L).to(tl.int64)
    last = tl.load(end + q)
    total = tl.zeros([ROWS, COLUMNS], ACC)
    for first in range(tl.load(begin + q), last, M):
        place = first + tl.arange(0, M)
        exists = place < last
        if ENTRIES:
            row = tl.load(entry + place, mask=exists, other=0).to(tl.int64)
        else:
            row = place.to(tl.int64)
        row = row * L + lane
        a = tl.load(z + row[:, None] * IN + i[None, :], mask=exists[:, None] & (i < IN)[None, :], other=0.0)
        b = tl.load(grad + row[:, None] * OUT + o[None, :], mask=exists[:, None] & (o < OUT)[None, :], other=0.0)
        total += product(tl.trans(a), b, M)
    mask = (i < IN)[:, None] & (o < OUT)[None, :]
    tl.store(partial + (q * L + lane) * (IN * OUT) + i[:, None] * OUT + o[None, :], total, mask=mask)


def typed_linear(z: Tensor, weight: Tensor, tables: list[Tensor]) -> Tensor:
    return _product_of_rows(z.contiguous(), weight.contiguous(), tables, transposed=False)


def typed_linear_backward(grad: Tensor, z: Tensor, weight: Tensor, tables: list[Tensor]) -> tuple[Tensor, Tensor]:
    grad, z, weight = grad.contiguous(), z.contiguous(), weight.contiguous()
    grad_z = _product_of_rows(grad, weight, tables, transposed=True)
    entry = tables[1]
    _, begin, end, whole, whole_ptr = tables[7:12]
    _, lanes, in_channels, out_channels = weight.shape
    grad_weight = torch.empty_like(weight)
    num_chunks = begin.numel()
    if num_chunks == 0:
        return grad_z, grad_weight.zero_()
    partial = weight.new_empty(num_chunks, lanes, in_channels, out_channels, dtype=wide(weight.dtype))
    if partial.numel():
        i, o = _block(in_channels), _block(out_channels)
        in_blocks, out_blocks = blocks(in_channels, i), blocks(out_channels, o)
        with on_device(z):
            _sum_outer_products[(num_chunks * lanes * in_blocks * out_blocks,)](
                partial, z, grad, entry, begin, end, lanes, in_channels, out_channels, entry.numel() > 0,
                sums_in(z.dtype), 32, i, o, in_blocks, out_blocks, num_stages=1,
            )  # fmt: skip
        add_chunks(partial, whole, whole_ptr, grad_weight)
    return grad_z, grad_weight


def _product_of_rows(rows: Tensor, weight: Tensor, tables: list[Tensor], *, transposed: bool) -> Tensor:
    entry, relation, begin, end = tables[1:5]
    num_rows, lanes, in_channels = rows.shape
    out_channels = weight.size(2 if transposed else 3)
    out = rows.new_empty(num_rows, lanes, out_channels)
    if out.numel():
        depth, columns, stages = _block(in_channels), _block(out_channels), 3
        if in_channels > depth:
            depth = 32
        elif out_channels > columns:  # whole rows, once for all columns: a narrow product leaves registers for them
            columns, stages = 32, 1
        with on_device(rows):
            _multiply[(relation.numel() * lanes,)](
                out, rows, weight, entry, relation, begin, end, lanes, in_channels, out_channels, transposed,
                entry.numel() > 0, sums_in(rows.dtype), TILE, depth, columns, num_stages=stages,
            )  # fmt: skip
    return out


def _block(channels: int) -> int:
    """Tensor cores take at least 16; more than 64 at once would not fit into registers."""
    return min(max(power_of_2(channels), 16), 64)
