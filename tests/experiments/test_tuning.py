"""A search: asked, run, told, and continued."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
import torch

from brgcn.cli import main
from brgcn.errors import RunError
from brgcn.experiments import trials as trials_module
from brgcn.experiments.trials import best_epoch, run_asked
from brgcn.experiments.tuning import Search, space
from brgcn.tasks.settings import MODEL_NAMES, NodeSettings

pytest.importorskip("optuna")
FOLDS = {"folds": 2, "repeats": 1, "seed": 0}


def begin(folder: Path, toy: Path, model: str = "rgcn") -> Search:
    return Search.open(folder, model=model, datasets=[str(toy)], folds=FOLDS, epochs=2)


@pytest.mark.parametrize("model", MODEL_NAMES)
def test_what_is_searched_exists(model: str) -> None:
    defaults = dataclasses.asdict(NodeSettings())
    for name, values in space(model).items():
        assert name in defaults
        options = values[1:] if values[0] == "log" else values
        for value in options:
            NodeSettings(**{"model": model, name: value})


def test_ask_run_tell_and_go_on(toy: Path, tmp_path: Path) -> None:
    search = begin(tmp_path, toy)
    asked = search.ask(3)
    assert [trial["number"] for trial in asked["trials"]] == [0, 1, 2]
    assert len({json.dumps(trial["settings"]) for trial in asked["trials"]}) == 3
    done = list(run_asked(json.loads(json.dumps(asked)), torch.device("cpu"), None))
    assert all(0 <= trial["value"] <= 1 and 1 <= trial["epochs"] <= 2 for trial in done)
    search.tell(done[:2])
    again = begin(tmp_path, toy)
    assert again.trials == search.trials == json.loads((tmp_path / "trials.json").read_text())
    again.tell(done)
    assert [trial["number"] for trial in again.trials] == [0, 1, 2]
    assert again.ask(1)["trials"][0]["number"] == 3
    values = [trial["value"] for trial in again.ranked()]
    assert values == sorted(values, reverse=True)
    with pytest.raises(RunError, match="other model"):
        begin(tmp_path, toy, model="gcn")


def test_the_best_epoch_is_common_and_in_the_middle_of_its_window() -> None:
    first = torch.tensor([0.0] * 10 + [1.0] * 5 + [0.0] * 5)
    assert best_epoch({"a": first}) == (1.0, 13, {"a": 1.0})
    other = torch.tensor([0.0] * 12 + [0.5] * 5 + [0.0] * 3)  # where the first is at its best, it matters less
    value, epoch, parts = best_epoch({"a": first, "b": other})
    assert epoch == 13
    assert value == pytest.approx((1 + 0.3) / 2)
    assert parts == {"a": 1.0, "b": pytest.approx(0.3)}
    assert best_epoch({"a": torch.tensor([0.1, 0.7, 0.2])})[1] == 2


def test_the_command(toy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["tune", str(toy), "--model", "majority", "--epochs", "2", "--folds", "2", "--repeats", "1"]
    words += ["--out", str(tmp_path / "search"), "--device", "cpu"]

    def run(*more: str) -> int:
        with pytest.raises(SystemExit) as stopped:
            main([*words, *more])
        return int(stopped.value.code or 0)

    assert run("--trials", "2") == 0
    assert "2 trials in" in capsys.readouterr().err
    assert run("--ask", "2") == 0
    asked = tmp_path / "search" / "asked.json"
    arguments = ["trials", str(asked), "--out", str(tmp_path / "done.json"), "--device", "cpu"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", arguments)
        trials_module.main()
    assert run("--tell", str(tmp_path / "done.json"), "--json") == 0
    output = capsys.readouterr().out
    assert len(json.loads(output[output.index("{") :])["trials"]) == 4
    for wrong, message in ((asked, "have no result"), (tmp_path / "nothing.json", "no results")):
        assert run("--tell", str(wrong)) == 1
        assert message in capsys.readouterr().err
