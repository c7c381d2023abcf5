from __future__ import annotations

import json
from pathlib import Path

import pytest
from small_subjects import row

from brgcn.bench.bars import bars
from brgcn.bench.figure import draw
from brgcn.bench.page import keep, page
from brgcn.errors import BrgcnError

ROOT = Path(__file__).resolve().parent.parent.parent
RESULTS, PAGE = ROOT / "results" / "performance", ROOT / "docs" / "performance.md"


def test_the_page_is_what_the_results_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(RESULTS)


def example() -> dict:
    environment = {"device": "cpu", "cpus": 2, "threads": 2, "system": "Linux x86_64", "brgcn": "0.1.0"}
    environment["packages"] = {"torch": "2.6", "torch-geometric": "2.5"}
    growth = []
    for varies, key, points in (
        ("E", "edges", (1e4, 1e5, 1e6)),
        ("R", "relations", (10, 100)),
        ("d", "width", (16, 64)),
    ):
        for library, layer, slope in (("PyG", "RGCNConv", 3.0), ("PyG", "FastRGCNConv", 9.0), ("brgcn", "brgcn", 1.0)):
            for number, point in enumerate(points):
                sizes = {"edges": 1000, "relations": 10, "width": 8, key: point}
                sizes["nodes"] = sizes["edges"] / 8
                growth.append(row(library, layer, slope * 10**number, varies=varies, **sizes))
    growth.append(row("brgcn", "rgcn", None, varies="E", **{**sizes, "edges": 1e6}, error="out of memory"))
    result = {
        "command": "brgcn bench",
        "environment": environment,
        "copy_rate_gb_s": 20.0,
        "quick": False,
        "pyg_extensions": [],
    }
    epoch = [row("PyG", "RGCNConv", 10.0), row("brgcn", "brgcn", 1.0)]
    result |= {"epoch": epoch, "layer": [], "growth": growth, "loading": []}
    return {**result, "bars": bars(result)}


def test_results_are_kept_and_shown(tmp_path: Path) -> None:
    folder, results = tmp_path / "bench", tmp_path / "results"
    folder.mkdir()
    (folder / "bench.json").write_text(json.dumps(example()))
    keep("cpu", folder, results)
    assert (results / "cpu.png").stat().st_size > 10_000
    text = page(results)
    assert "## CPU, 2 threads of 2 cores" in text
    assert "Made with `brgcn bench`" in text
    assert "| aifb | epoch: both on the full graph (fastest: RGCNConv) | at least 10 | 10.0× | yes |" in text
    assert "(../results/performance/cpu.png)" in text
    assert "out of memory" in text


def test_only_real_results_are_kept(tmp_path: Path) -> None:
    with pytest.raises(BrgcnError, match="not a folder"):
        keep("cpu", tmp_path)
    (tmp_path / "bench.json").write_text(json.dumps({"quick": True}))
    with pytest.raises(BrgcnError, match="--quick"):
        keep("cpu", tmp_path)


def test_no_growth_no_figure(tmp_path: Path) -> None:
    assert draw({**example(), "growth": []}, tmp_path / "bench.png") is None
