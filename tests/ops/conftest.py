"""What tests of operators share."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
import torch

from brgcn.ops import use_backend
from brgcn.ops.cpu import parallel


@pytest.fixture(params=[1, 3], ids=["one part", "three parts"])
def parts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Kernels of the CPU share their rows out in so many parts, however few rows there are."""
    monkeypatch.setattr(parallel, "_parts", lambda work: request.param)
    monkeypatch.setattr(parallel.numba, "set_num_threads", lambda count: None)  # there may be fewer
    return request.param


@pytest.fixture(params=["torch", "numba", "triton"])
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each backend in turn computes what is on the device: Triton on CUDA or, where there is none, in its
    interpreter."""
    if request.param == "triton" and sys.platform != "linux":
        pytest.skip("Triton exists for Linux only")
    with use_backend(request.param):
        yield "cuda" if request.param == "triton" and torch.cuda.is_available() else "cpu"
