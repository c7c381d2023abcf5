"""Rows of a table, and the sum of their gradients, against loops."""

from __future__ import annotations

import pytest
import torch

from brgcn.ops import look_up, table_and_rows
from brgcn.ops.look_up import _Rows, _TableAndRows

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.mark.parametrize("function", [look_up, _Rows.apply], ids=["as chosen", "as on CUDA"])
@pytest.mark.parametrize("places", [[2, 0, 2, 2, 1], [], [3]])
def test_rows_and_gradient(function, places: list[int]) -> None:
    table = torch.randn(4, 3, dtype=torch.double, device=DEVICE, requires_grad=True)
    slope = torch.randn(len(places), 3, dtype=torch.double, device=DEVICE)
    rows = function(table, torch.tensor(places, dtype=torch.long, device=DEVICE))
    assert rows.tolist() == [table[place].tolist() for place in places]
    rows.backward(slope)
    expected = torch.zeros_like(table)
    for row, place in zip(slope, places, strict=True):
        expected[place] += row
    torch.testing.assert_close(table.grad, expected)


@pytest.mark.parametrize("function", [table_and_rows, _TableAndRows.apply], ids=["as chosen", "as on CUDA"])
def test_a_table_that_is_read_as_a_whole_too(function) -> None:
    table = torch.randn(4, 3, dtype=torch.double, device=DEVICE, requires_grad=True)
    weight, slope = (
        torch.randn(4, 3, dtype=torch.double, device=DEVICE),
        torch.randn(3, 3, dtype=torch.double).to(DEVICE),
    )
    whole, rows = function(table, torch.tensor([1, 3, 1], device=DEVICE))
    assert whole.tolist() == table.tolist()
    assert rows.tolist() == [table[place].tolist() for place in (1, 3, 1)]
    ((weight * whole).sum() + (slope * rows).sum()).backward()
    expected = weight.clone()
    for row, place in zip(slope, (1, 3, 1), strict=True):
        expected[place] += row
    torch.testing.assert_close(table.grad, expected)
