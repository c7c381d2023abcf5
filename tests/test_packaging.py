"""The built wheel, installed alone, works."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from toys import toy_folder

ROOT = Path(__file__).resolve().parent.parent


_BLOCKER = """
from importlib.machinery import PathFinder
EXTRAS = {"torch_geometric", "pandas", "hatchling", "hypothesis", "mypy", "pytest", "ruff", "scipy", "sklearn"}
found = PathFinder.find_spec
def find(name, path=None, target=None):
    return None if name.split(".")[0] in EXTRAS else found(name, path, target)
PathFinder.find_spec = staticmethod(find)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("hatchling")
    out = tmp_path_factory.mktemp("wheel")
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(out),
        str(ROOT),
    ]
    subprocess.run(command, check=True, capture_output=True)
    (built,) = out.glob("*.whl")
    return built


def test_it_holds_the_package_and_its_files_alone(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "brgcn/py.typed" in names
    assert "brgcn/data/catalogue.yaml" in names
    assert "brgcn/experiments/settings/nodes/brgcn/aifb.paper.yaml" in names
    assert "brgcn/tasks/link_regimes/modern.yaml" in names
    assert "brgcn/tasks/link_regimes/modern/complex.wn18.cpu.yaml" in names
    assert {name.split("/")[0] for name in names} == {"brgcn", "brgcn-0.1.0.dist-info"}
    assert any(name.endswith("LICENSE") for name in names)


def test_installed_alone_it_trains(wheel: Path, tmp_path: Path) -> None:
    """From a folder that knows nothing of the source tree."""
    site = tmp_path / "site"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(site), str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    # Only what the wheel asks for: the environment of the tests has more.
    (site / "sitecustomize.py").write_text(_BLOCKER)
    toy = toy_folder(tmp_path / "toy")
    environment = {**os.environ, "PYTHONPATH": str(site)}

    def brgcn(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "brgcn", *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    where = [sys.executable, "-c", "import brgcn; print(brgcn.__file__)"]
    found = subprocess.run(where, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True).stdout
    assert found.startswith(str(site))
    assert "mutag" in brgcn("data", "list")
    blocked = [sys.executable, "-c", "import pandas"]
    assert subprocess.run(blocked, cwd=tmp_path, env=environment, capture_output=True).returncode != 0
    assert '"test_accuracy"' in brgcn("train", str(toy), "--epochs", "3", "--out", "run", "--json")
    assert (tmp_path / "run" / "attention.png").exists()
    assert brgcn("--version").strip() == "brgcn 0.1.0"
