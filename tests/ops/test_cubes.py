"""Cubed sizes against plain loops, with their gradients."""

from __future__ import annotations

import math

import pytest
import torch

from brgcn.ops import weighted_cubes


def by_hand(vectors: torch.Tensor, weight: torch.Tensor, pairs: bool) -> float:
    total = 0.0
    for row, times in zip(vectors.tolist(), weight.tolist(), strict=True):
        half = len(row) // 2
        sizes = [math.hypot(row[k], row[half + k]) for k in range(half)] if pairs else [abs(x) for x in row]
        total += times * sum(size**3 for size in sizes)
    return total


@pytest.mark.parametrize("pairs", [True, False])
@pytest.mark.parametrize(("rows", "width"), [(1, 2), (7, 6), (3, 200), (0, 4)])
def test_sum_and_gradient(device: str, pairs: bool, rows: int, width: int, parts: int) -> None:
    vectors = torch.randn(rows, width, dtype=torch.double, device=device, requires_grad=True)
    weight = torch.rand(rows, dtype=torch.double, device=device)
    assert weighted_cubes(vectors, weight, pairs=pairs).item() == pytest.approx(by_hand(vectors, weight, pairs))
    if rows:
        torch.autograd.gradcheck(lambda v: 0.5 * weighted_cubes(v, weight, pairs=pairs), vectors, fast_mode=width > 6)


@pytest.mark.parametrize("pairs", [True, False])
def test_zero_has_a_gradient_and_nan_stays(device: str, pairs: bool) -> None:
    zero = torch.zeros(2, 4, device=device, requires_grad=True)
    weighted_cubes(zero, torch.ones(2, device=device), pairs=pairs).backward()
    assert zero.grad is not None
    assert zero.grad.tolist() == [[0.0] * 4] * 2
    strange = torch.tensor([[1.0, math.nan]], device=device)
    assert math.isnan(weighted_cubes(strange, torch.ones(1, device=device), pairs=pairs))


@pytest.mark.parametrize("pairs", [True, False])
def test_single_precision_and_rows_that_do_not_lie_side_by_side(pairs: bool) -> None:
    vectors, weight = torch.randn(40, 60).T, torch.rand(60)
    assert float(weighted_cubes(vectors, weight, pairs=pairs)) == pytest.approx(
        by_hand(vectors.double(), weight.double(), pairs), rel=1e-5
    )
