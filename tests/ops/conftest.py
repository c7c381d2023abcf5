"""What tests of operators share."""

from __future__ import annotations

import pytest

from brgcn.ops.cpu import parallel


@pytest.fixture(params=[1, 3], ids=["one part", "three parts"])
def parts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Kernels of the CPU share their rows out in so many parts, however few rows there are."""
    monkeypatch.setattr(parallel, "_parts", lambda work: request.param)
    monkeypatch.setattr(parallel.numba, "set_num_threads", lambda count: None)  # there may be fewer
    return request.param
