"""Adagrad against its equation, fused and not."""

from __future__ import annotations

import sys

import pytest
import torch

from brgcn.ops import use_backend
from brgcn.tasks.optimizers import Adagrad

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
FUSED = pytest.param("triton", marks=pytest.mark.skipif(sys.platform != "linux", reason="Triton is for Linux"))


@pytest.mark.parametrize("backend", ["torch", FUSED])
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


def test_sparse_gradients_are_left_to_torch() -> None:
    table = torch.nn.Parameter(torch.ones(5, 2, device=DEVICE))
    optimizer = Adagrad([table], lr=0.5)
    torch.nn.functional.embedding(torch.tensor([3], device=DEVICE), table, sparse=True).sum().backward()
    with torch.sparse.check_sparse_tensor_invariants(True):
        optimizer.step()
    assert table[3].tolist() == pytest.approx([0.5, 0.5])
    assert table[0].tolist() == [1, 1]
