"""Fixtures shared by all tests. Nothing here needs the network, and nothing is written outside pytest's own folders."""

from __future__ import annotations

import os
from pathlib import Path

# Graphs in tests are tiny, and threads that wait for each other on a busy machine are far slower than one.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
import torch

# Without a GPU the Triton kernels are tested in its interpreter. Triton must know when it is first imported, which any
# test may cause; no other test forces this backend.
if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests share one cache of their own, so that they neither see nor fill the user's."""
    cache = tmp_path_factory.getbasetemp() / "cache"
    monkeypatch.setenv("BRGCN_CACHE", str(cache))
    monkeypatch.setenv("COLUMNS", "160")
    torch.manual_seed(0)


def find_shared_data() -> Path | None:
    for candidate in (os.environ.get("BRGCN_DATA"), ROOT.parent / "shared" / "data"):
        if candidate and (Path(candidate) / "aifb").is_dir():
            return Path(candidate).resolve()
    return None


# Tests about what the fused operators compute; compiling them anew for every width takes others too long.
FUSED = ("ops", "bench", "test_training.py", "test_readme.py")


@pytest.fixture(autouse=True)
def _backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if not set(FUSED) & set(request.path.parts):
        monkeypatch.setenv("BRGCN_BACKEND", "torch")


@pytest.fixture
def shared_data() -> Path:
    """The folder with the real data sets, where it is there."""
    folder = find_shared_data()
    if folder is None:
        pytest.skip("real data not found: set BRGCN_DATA to a folder with aifb/, mutag/, .. to run this test")
    return folder


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """A folder with a small graph and labels that can be learned."""
    from toys import toy_folder

    return toy_folder(tmp_path / "toy")
