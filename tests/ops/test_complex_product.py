"""Products of complex numbers against Python's own, with their gradients."""

from __future__ import annotations

import importlib

import pytest
import torch

from brgcn.ops import complex_product


@pytest.fixture(autouse=True)
def _also_small_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.import_module("brgcn.ops.complex_product"), "LARGE", 0)


@pytest.mark.parametrize("conjugate", [True, False])
@pytest.mark.parametrize(("rows", "numbers"), [(1, 1), (5, 3), (40, 100), (0, 2)])
def test_products_by_hand(device: str, conjugate: bool, rows: int, numbers: int, parts: int) -> None:
    a, b = torch.randn(2, rows, 2 * numbers, dtype=torch.double, device=device).unbind()
    found = complex_product(a, b, conjugate=conjugate)
    assert found.shape == a.shape
    for row in range(rows):
        for k in range(numbers):
            x = complex(a[row, k], a[row, numbers + k])
            y = complex(b[row, k], b[row, numbers + k])
            expected = x * (y.conjugate() if conjugate else y)
            assert complex(found[row, k], found[row, numbers + k]) == pytest.approx(expected)


@pytest.mark.parametrize("conjugate", [True, False])
def test_gradients(device: str, conjugate: bool) -> None:
    a, b = torch.randn(2, 4, 6, dtype=torch.double, device=device).unbind()
    for mine, theirs in ((True, True), (True, False), (False, True)):
        inputs = (a.clone().requires_grad_(mine), b.clone().requires_grad_(theirs))
        torch.autograd.gradcheck(lambda x, y: complex_product(x, y, conjugate=conjugate), inputs)


def test_one_vector_beside_many() -> None:
    many, one = torch.randn(3, 5, 4), torch.randn(4)
    torch.testing.assert_close(complex_product(many, one), complex_product(many, one.expand(3, 5, 4)))
