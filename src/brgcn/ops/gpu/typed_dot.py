# mypy: ignore-errors
"""Dot products of rows with the vectors of relations."""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from brgcn.ops.gpu.common import blocks, on_device, power_of_2, sums_in
from brgcn.ops.gpu.weighted_sum import weighted_sum

ELEMENTS = 1024


@triton.jit
def _dots(
    out, x, vector, row, relation, num_items,
    L: tl.constexpr, C: tl.constexpr, ACC: tl.constexpr, M: tl.constexpr, W: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0)
    lane = program % L
    item = (program // L).to(tl.int64) * M + tl.arange(0, M)
    exists = item < num_items
    column = tl.arange(0, W)
    mask = exists[:, None] & (column < C)[None, :]
    j = tl.load(row + item, mask=exists, other=0).to(tl.int64)
    r = tl.load(relation + item, mask=exists, other=0).to(tl.int64)
    here = tl.load(x + (j * L + lane)[:, None] * C + column[None, :], mask=mask, other=0.0).to(ACC)
    there = tl.load(vector + (r * L + lane)[:, None] * C + column[None, :], mask=mask, other=0.0).to(ACC)
    tl.store(out + item * L + lane, tl.sum(here * there, 1).to(out.dtype.element_ty), mask=exists)


def typed_dot(x: Tensor, vector: Tensor, tables: list[Tensor]) -> Tensor:
    x, vector = x.contiguous(), vector.contiguous()
    row, relation = tables[:2]
    _, lanes, channels = x.shape
    out = x.new_empty(row.size(0), lanes)
    width = power_of_2(channels)
    height = max(1, min(ELEMENTS // width, 64))
    if out.numel():
        with on_device(x):
            _dots[(blocks(row.size(0), height) * lanes,)](
                out, x, vector, row, relation, row.size(0), lanes, channels, sums_in(x.dtype), height, width
            )
    return out


def typed_dot_backward(grad: Tensor, x: Tensor, vector: Tensor, tables: list[Tensor]) -> tuple[Tensor, Tensor]:
    grad, x, vector = grad.contiguous(), x.contiguous(), vector.contiguous()
    row, relation = tables[:2]
    grad_x = weighted_sum(vector, tables[2:9], x.size(0), index=relation, weight=grad)
    grad_vector = weighted_sum(x, tables[9:16], vector.size(0), index=row, weight=grad)
    return grad_x, grad_vector
