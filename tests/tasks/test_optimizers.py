"""Adagrad against its equation, fused and not."""

from __future__ import annotations

import sys

import pytest
import torch

from brgcn.ops import use_backend
from brgcn.tasks.optimizers import Adagrad

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
FUSED = pytest.param("triton", marks=pytest.mark.skipif(sys.platform != "linux", reason="Triton is for Linux"))


ON_CPU = pytest.param("numba", marks=pytest.mark.skipif(DEVICE != "cpu", reason="numba computes on the CPU"))


@pytest.mark.parametrize("backend", ["torch", ON_CPU, FUSED])
def test_steps_by_hand(backend: str) -> None:
    start = torch.randn(37, 41)
    parameter = torch.nn.Parameter(start.clone().to(DEVICE))
    optimizer = Adagrad([parameter], lr=0.3)
    expected, squares = start.double(), torch.zeros(37, 41, dtype=torch.double)
    with use_backend(backend):
        for step in range(4):
            slope = torch.randn(37, 41)
            slope[step] = 0  # a row that no batch touched
            parameter.grad = slope.to(DEVICE)
            optimizer.step()
            squares += slope.double() ** 2
            expected -= 0.3 * slope.double() / (squares.sqrt() + 1e-10)
    torch.testing.assert_close(parameter.detach().cpu().double(), expected, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(optimizer.state[parameter]["sum"].cpu().double(), squares, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("backend", ["torch", ON_CPU, FUSED])
@pytest.mark.parametrize("rows", [[3], [1, 4], [4, 1], [2, 2, 0], []])
def test_rows_without_a_gradient_stay(backend: str, rows: list[int]) -> None:
    """A sparse gradient is that of its rows, which may come in any order, and more than once."""
    start = torch.randn(5, 3)
    tables = [torch.nn.Parameter(start.clone().to(DEVICE)) for _ in range(2)]
    for table, sparse in zip(tables, (True, False), strict=True):
        optimizer = Adagrad([table], lr=0.5)
        for step in range(3):
            optimizer.zero_grad()
            places = torch.tensor(rows, dtype=torch.long, device=DEVICE)
            found = torch.nn.functional.embedding(places, table, sparse=sparse)
            (found**2 * (step + 1)).sum().backward()
            with use_backend(backend if sparse else "torch"), torch.sparse.check_sparse_tensor_invariants(True):
                optimizer.step()
    torch.testing.assert_close(*tables)
    untouched = [row for row in range(5) if row not in rows]
    assert torch.equal(tables[0][untouched].cpu(), start[untouched])
