"""Rows of a table by their numbers, with a gradient that is as fast where many ask for the same row.

On CUDA torch's own either sorts the numbers or goes through them one after another; both take longer than what is done
with the rows. So there the gradient is added up where it belongs, in no fixed order: where the table is read as a
whole, too, that is the table's own gradient, and no second one is made.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable


def look_up(table: Tensor, place: Tensor) -> Tensor:
    """table [N, width], place [n] -> [n, width]"""
    if not table.is_cuda:
        return nn.functional.embedding(place, table)
    rows: Tensor = _Rows.apply(table, place)  # type: ignore[no-untyped-call]
    return rows


class _Rows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, place: Tensor) -> Tensor:
        ctx.save_for_backward(place)
        ctx.rows = table.size(0)
        return table.index_select(0, place)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, None]:
        (place,) = ctx.saved_tensors
        return slope.new_zeros(ctx.rows, slope.size(1)).index_add_(0, place, slope), None


def table_and_rows(table: Tensor, place: Tensor) -> tuple[Tensor, Tensor]:
    """table [N, width], place [n] -> the table, to be read as a whole, and rows of it [n, width]. On a CPU the gradient
    of the rows is sparse. On CUDA it is added to that of the whole table where that lies: what reads the
    table must give it a gradient of its own, as products do and sums of tensors do not."""
    if not table.is_cuda:
        return table, nn.functional.embedding(place, table, sparse=True)
    both: tuple[Tensor, Tensor] = _TableAndRows.apply(table, place)  # type: ignore[no-untyped-call]
    return both


class _TableAndRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, place: Tensor) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(place)
        return table.view_as(table), table.index_select(0, place)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_table: Tensor, of_rows: Tensor) -> tuple[Tensor, None]:
        (place,) = ctx.saved_tensors
        return of_table.contiguous().index_add_(0, place, of_rows), None  # nobody else is given the table's
