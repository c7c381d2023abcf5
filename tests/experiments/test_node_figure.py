from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from brgcn.experiments.node_figure import _without_the_majority, draw


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


def test_the_majority_does_not_stretch_the_axis(tmp_path: Path) -> None:
    few = {"mean": 0.1, "sem": 0.0, "p": 0.0, "raw": [0.1, 0.1]}
    most = {"mean": 0.95, "sem": 0.0, "p": 0.0, "raw": [0.95, 0.95]}
    models = [row("brgcn", benchmark={"mean": 0.97, "sem": 0.01, "p": None, "raw": [0.96, 0.98]}, paper=0.9)]
    figure = Figure()
    below, among = figure.subplots(1, 2)
    _without_the_majority(below, [*models, row("majority", benchmark=few)], "benchmark")
    assert 80 < below.get_xlim()[0] < 90
    assert [text.get_text() for text in below.texts] == ["\u25c2 10.0"]
    models[0]["benchmark"]["raw"] = [0.9, 1.0]
    _without_the_majority(among, [*models, row("majority", benchmark=most)], "benchmark")
    assert not among.texts
    draw([*models, row("majority", benchmark=few)], tmp_path / "whole.png")
