from __future__ import annotations

from pathlib import Path

from brgcn.experiments.node_figure import draw


def row(model: str, **parts) -> dict:
    common = {"dataset": "toy", "preset": "default", "paper": None, "benchmark": None, "resplits": None}
    return {**common, "model": model, **parts}


def test_drawn_with_whatever_is_there(tmp_path: Path) -> None:
    measured = {"mean": 0.8, "sem": 0.01, "p": 0.01, "raw": [0.7, 0.8, 0.8, 0.9]}
    once = {"mean": 0.5, "sem": None, "p": None, "raw": [0.5]}
    rows = [row("brgcn", benchmark=measured, resplits=measured, paper=0.9), row("gat", benchmark=once), row("han")]
    both = draw(rows, tmp_path / "both.png").read_bytes()
    assert both.startswith(b"\x89PNG")
    one = draw([row("gat", benchmark=once)], tmp_path / "one.png").read_bytes()
    assert int.from_bytes(both[16:20], "big") == 2 * int.from_bytes(one[16:20], "big")  # a panel for each part
