"""Scores of all pairs against plain loops, with their gradients."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import Tensor

from brgcn.ops import inner_products, l1_distances, precision, products, use_backend
from brgcn.ops.gpu import l1
from brgcn.ops.products import aligned_rows

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ON_CPU = pytest.param("numba", marks=pytest.mark.skipif(DEVICE != "cpu", reason="numba computes on the CPU"))
FUSED = pytest.param("triton", marks=pytest.mark.skipif(sys.platform != "linux", reason="Triton is for Linux"))


def rows(count: int, width: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(count, width, dtype=torch.double, generator=generator).to(DEVICE).requires_grad_()


def by_hand(query: Tensor, candidates: Tensor, absolute: bool) -> Tensor:
    found = []
    for q in query:
        found.append(torch.stack([(q - c).abs().sum() if absolute else (q * c).sum() for c in candidates]))
    return torch.stack(found)


def same(function, absolute: bool, sizes: tuple[int, int, int]) -> None:
    b, n, width = sizes
    query, candidates = rows(b, width, 0), rows(n, width, 1)
    slope = torch.randn(b, n, dtype=torch.double, device=DEVICE)
    if absolute:
        with torch.no_grad():
            candidates[0] = query[0]  # differences of 0 have no gradient
    expected = by_hand(query, candidates, absolute)
    gradients = torch.autograd.grad(expected, (query, candidates), slope)
    found = function(query, candidates)
    torch.testing.assert_close(found, expected)
    for mine, theirs in zip(torch.autograd.grad(found, (query, candidates), slope), gradients, strict=True):
        torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize("sizes", [(3, 5, 4), (1, 8, 1), (7, 1, 3), (4, 21, 3)])
@pytest.mark.parametrize("apart", [False, True], ids=["together", "last candidates apart"])
def test_inner_products(sizes: tuple[int, int, int], apart: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if apart:  # as on CUDA
        even = sizes[1] // 2
        monkeypatch.setattr(products, "_parts", lambda candidates: [slice(0, even), slice(even, sizes[1])])
    same(inner_products, False, sizes)


@pytest.mark.parametrize("backend", ["torch", ON_CPU, FUSED])
@pytest.mark.parametrize("sizes", [(3, 5, 4), (1, 270, 3), (20, 3, 67), (6, 7, 32), (70, 9, 65)])
def test_l1_distances(backend: str, sizes: tuple[int, int, int], parts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(l1, "OTHERS", 4)
    with use_backend(backend):
        same(l1_distances, True, sizes)


def test_rows_begin_at_multiples_of_sixteen() -> None:
    for columns in (1, 16, 21):
        table = aligned_rows(3, columns, torch.zeros(1))
        assert table.shape == (3, columns)
        assert table.stride(0) % 16 == 0


@pytest.fixture
def unwritten_is_nan() -> Iterator[None]:
    """What memory held before is whatever it was; here always NaN."""
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(before)


@pytest.mark.skipif(DEVICE != "cpu", reason="products on CUDA end where rows end")
@pytest.mark.usefixtures("unwritten_is_nan")
def test_what_lies_between_rows_is_no_part_of_products() -> None:
    assert torch.empty(1).isnan()
    for columns in (1, 16, 21, 65):
        table = aligned_rows(70, columns, torch.zeros(1, dtype=torch.bfloat16))
        assert not table.as_strided((70, table.stride(0)), table.stride())[:, columns:].any()  # NaN is true
        table.fill_(1.0)
        torch.testing.assert_close(table @ torch.ones(columns, 32).bfloat16(), torch.full((70, 32), columns).bfloat16())


@pytest.mark.skipif(not torch.cuda.is_available(), reason="autocast to bfloat16 is for CUDA here")
def test_autocast() -> None:
    with torch.autocast("cuda", torch.bfloat16):
        assert inner_products(rows(2, 3, 0).float(), rows(4, 3, 1).float()).dtype == torch.bfloat16


def test_products_in_bfloat16_where_the_cpu_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    query, candidates = (torch.randn(count, 64, requires_grad=True) for count in (5, 9))
    exact = (query @ candidates.T).detach()
    for has, name, narrow in ((True, "bfloat16", True), (False, "bfloat16", False), (True, "tf32", False)):
        monkeypatch.setattr(precision, "cpu_has_bfloat16", lambda has=has: has)
        with precision.training_precision(name, torch.device("cpu")):
            found = inner_products(query, candidates)
        assert (found.dtype == torch.bfloat16) is narrow
        torch.testing.assert_close(found.float(), exact, rtol=0.05 if narrow else 1e-5, atol=0.3 if narrow else 1e-4)
        gradient = torch.autograd.grad(found.float().sum(), query)[0]
        torch.testing.assert_close(
            gradient, candidates.detach().sum(0).expand(5, -1), rtol=0.05 if narrow else 1e-5, atol=0.1
        )
    assert inner_products(query, candidates).dtype == torch.float32  # again outside


def test_the_precision_of_one_thread_is_not_that_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "cpu_has_bfloat16", lambda: True)
    rows = torch.ones(2, 3)
    with precision.training_precision("bfloat16", torch.device("cpu")), ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: inner_products(rows, rows).dtype).result() == torch.float32
        assert inner_products(rows, rows).dtype == torch.bfloat16
