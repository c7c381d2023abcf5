"""Cells of the node table: measured once, kept, compared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from brgcn.cli import main
from brgcn.data import Dataset, load_dataset
from brgcn.errors import SettingsError
from brgcn.experiments import node_table
from brgcn.experiments.node_report import report
from brgcn.experiments.node_table import ROWS, cell_path, measure_cell
from brgcn.experiments.paper_nodes import PAPER, paper_figure, remark, smallest_deviation
from brgcn.experiments.tables import page
from brgcn.tasks.settings import NodeSettings


@pytest.fixture
def data(toy: Path, monkeypatch: pytest.MonkeyPatch) -> Dataset:
    monkeypatch.setattr(node_table, "node_settings", lambda model, *_: NodeSettings(model=model, epochs=3))
    return load_dataset(toy)


def test_every_row_is_measured_and_compared(data: Dataset, tmp_path: Path) -> None:
    pytest.importorskip("torch_geometric")
    told: list[str] = []
    folder = tmp_path / "nodes"
    cells = [measure_cell(data, model, "default", folder, runs=2, resplits=3, tell=told.append) for model in ROWS]
    assert len(told) == 2 * len(ROWS)
    rows = report(cells[::-1])
    assert [row["model"] for row in rows] == list(ROWS)
    tests = len(data.splits["test"])
    for row, cell in zip(rows, cells, strict=True):
        assert row["benchmark"]["n"] == 2
        assert row["resplits"]["n"] == 3
        assert [len(right) for right in cell["benchmark"]["right"]] == [tests] * 2
        shares = [right.count("1") / tests for right in cell["benchmark"]["right"]]
        assert shares == cell["benchmark"]["accuracy"] == row["benchmark"]["raw"]
        for part in ("benchmark", "resplits"):
            assert (row[part]["p"] is None) == (row["model"] == "brgcn")
            assert {"commit", "device", "command"} <= set(cell[part]["environment"])
    text = page(tmp_path)
    assert all(f"| {model} |" in text for model in ROWS)


def test_what_is_kept_is_not_measured_again(data: Dataset, tmp_path: Path) -> None:
    first = measure_cell(data, "rgcn", "default", tmp_path, runs=2)
    told: list[str] = []
    again = measure_cell(data, "rgcn", "default", tmp_path, runs=2, tell=told.append)
    assert again == json.loads(cell_path(tmp_path, data.name, "rgcn", "default").read_text()) == first
    assert not told
    more = measure_cell(data, "rgcn", "default", tmp_path, runs=3, resplits=2, tell=told.append)
    assert len(told) == 2
    assert more["benchmark"]["accuracy"][:2] == first["benchmark"]["accuracy"]


def test_other_settings_are_another_measurement(data: Dataset, tmp_path: Path, monkeypatch) -> None:
    measure_cell(data, "rgcn", "default", tmp_path, runs=2)
    monkeypatch.setattr(node_table, "node_settings", lambda model, *_: NodeSettings(model=model, epochs=4))
    told: list[str] = []
    measure_cell(data, "rgcn", "default", tmp_path, runs=2, tell=told.append)
    assert told


def test_what_does_not_fit_into_memory_is_said_and_tried_again(data: Dataset, tmp_path: Path, monkeypatch) -> None:
    def full(*_):
        raise torch.OutOfMemoryError("CUDA out of memory")

    with monkeypatch.context() as patch:
        patch.setattr(node_table, "_benchmark", full)
        cell = measure_cell(data, "rgcn", "default", tmp_path, runs=2)
    assert cell["benchmark"] is None
    assert report([cell])[0]["remark"] == "out of memory on cpu"
    again = measure_cell(data, "rgcn", "default", tmp_path, runs=2)
    assert again["benchmark"] is not None
    assert report([again])[0]["remark"] == ""


def test_resplits_are_the_same_for_every_model_and_keep_the_sizes(data: Dataset, tmp_path: Path, monkeypatch) -> None:
    seen: dict[str, list[torch.Tensor]] = {}
    train = node_table.train_together

    def watching(inputs, nodes, labels, classes, settings, seeds, device, held=None):
        if held is not None:
            seen.setdefault(settings.model, []).append(held)
        return train(inputs, nodes, labels, classes, settings, seeds, device, held)

    monkeypatch.setattr(node_table, "train_together", watching)
    for model in ("brgcn", "majority"):
        measure_cell(data, model, "default", tmp_path, runs=0, resplits=4)
    ours, theirs = (torch.cat(parts, dim=1) for parts in seen.values())
    assert ours.equal(theirs)
    assert ours.sum(0).tolist() == [len(data.splits["test"])] * 4
    assert not ours[:, 0].equal(ours[:, 1])


def test_the_command(toy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch) -> None:
    monkeypatch.setattr(node_table, "node_settings", lambda model, *_: NodeSettings(model=model, epochs=2))
    words = ["reproduce", "nodes", "--datasets", str(toy), "--models", "rgcn, majority", "--runs", "2"]
    words += ["--out", str(tmp_path / "kept"), "--device", "cpu"]
    with pytest.raises(SystemExit) as stopped:
        main([*words, "--json"])
    assert not stopped.value.code
    rows = json.loads(capsys.readouterr().out)
    assert [row["model"] for row in rows] == ["rgcn", "majority"]
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main([*words, "--resplit", "3"])
    printed = capsys.readouterr().out
    assert printed.count("majority") == 2  # a table for the benchmark's split, one for re-splits
    assert "…" not in printed
    for wrong, message in ((["--models", "xgcn"], "unknown model"), (["--runs", "0"], "nothing to measure")):
        with pytest.raises(SystemExit) as stopped:
            main([*words, *wrong])
        assert stopped.value.code == 1
        assert message in capsys.readouterr().err


def test_what_the_paper_says() -> None:
    assert set(PAPER) < set(ROWS)
    assert paper_figure("brgcn", "mutag") == (81.13, 0.61)
    assert paper_figure("gcn", "mutag") is None
    assert paper_figure("brgcn", "am-standin") is None
    assert "majority" in remark("gat", "mutag")
    assert "less than 10 runs" in remark("brgcn", "aifb")
    assert remark("rgcn", "aifb") == ""
    # 96.97 % of 36 items lies between 34 and 35 right ones
    assert 100 * smallest_deviation(0.9697, 36) == pytest.approx(0.80, abs=0.01)
    assert smallest_deviation(35 / 36, 36) == pytest.approx(0, abs=1e-6)


def test_a_preset_without_settings_for_a_model_is_said(toy: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="paper gives no settings"):
        measure_cell(load_dataset(toy), "gat", "paper", tmp_path)
