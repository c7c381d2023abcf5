"""A search: asked, run, told, and continued."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
import torch
import yaml

from brgcn.cli import main
from brgcn.data import NodeSplit, load_dataset
from brgcn.errors import DataError, RunError, SettingsError
from brgcn.experiments import trials as trials_module
from brgcn.experiments.trials import best_epoch, run_asked
from brgcn.experiments.tuning import STARTUP, Search, space
from brgcn.tasks.settings import MODEL_NAMES, NodeSettings
from brgcn.tasks.trainer import NodeTrainer
from brgcn.tasks.training import logits, prepare_graph

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
    assert again.trials == search.trials == json.loads((tmp_path / "trials.json").read_text())["trials"]
    again.tell(done)
    assert [trial["number"] for trial in again.trials] == [0, 1, 2]
    assert again.ask(1)["trials"][0]["number"] == 3
    values = [trial["value"] for trial in again.ranked()]
    assert values == sorted(values, reverse=True)
    with pytest.raises(RunError, match="other model"):
        begin(tmp_path, toy, model="gcn")


def test_every_model_is_tried_with_the_same_settings(toy: Path, tmp_path: Path) -> None:
    asked = {model: begin(tmp_path / model, toy, model).ask(STARTUP)["trials"] for model in ("brgcn", "rgcn", "gat")}
    for ours, theirs, others in zip(*asked.values(), strict=True):
        for trial in (theirs, others):
            common = set(trial["settings"]) - {"model"}
            assert {name: ours["settings"][name] for name in common} == {n: trial["settings"][n] for n in common}
    assert len({json.dumps(trial["settings"]) for trial in asked["brgcn"]}) == STARTUP


def test_what_is_fixed_is_not_searched(toy: Path, tmp_path: Path) -> None:
    search = Search.open(
        tmp_path, model="gat", datasets=[str(toy)], folds=FOLDS, epochs=2, fixed={"heads": 3, "class_weights": True}
    )
    for trial in search.ask(3)["trials"]:
        assert (trial["settings"]["heads"], trial["settings"]["class_weights"]) == (3, True)
    for name in ("model", "epochs", "patience"):
        with pytest.raises(SettingsError, match=f"{name} cannot be fixed"):
            Search.open(tmp_path / name, model="gat", datasets=["x"], folds=FOLDS, epochs=2, fixed={name: 3})
    with pytest.raises(SettingsError, match="unknown setting 'head'"):
        Search.open(tmp_path / "b", model="gat", datasets=[str(toy)], folds=FOLDS, epochs=2, fixed={"head": 3})


def test_a_search_goes_on_after_one_of_its_values_was_removed(toy: Path, tmp_path: Path) -> None:
    search = begin(tmp_path, toy)
    done = [{**trial, "value": 0.5, "epochs": 1} for trial in search.ask(STARTUP)["trials"]]
    done[3]["settings"]["counts"] = "gone"
    search.tell(done)
    (trial,) = begin(tmp_path, toy).ask(1)["trials"]
    assert trial["number"] == STARTUP
    assert trial["settings"]["counts"] != "gone"


def test_trials_that_fail(toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    search = begin(tmp_path, toy)
    run = trials_module.Trials.run

    def failing(self: trials_module.Trials, settings: NodeSettings) -> dict:
        if settings.rare == 50:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 bytes")
        if settings.rare:
            raise DataError("the loss became nan in epoch 2")
        return run(self, settings)

    monkeypatch.setattr(trials_module.Trials, "run", failing)
    asked = search.ask(3)
    asked["trials"][2]["settings"]["rare"] = 2
    done = list(run_asked(asked, torch.device("cpu"), None))
    assert [trial.get("error") for trial in done] == [None, "out of memory", "the loss became nan in epoch 2"]
    assert done[0]["made_with"]["device"] == "cpu"
    search.tell(done)
    assert [trial["number"] for trial in search.ranked()] == [0]
    assert search.ask(1)["trials"][0]["number"] == 3
    assert yaml.safe_load((tmp_path / "best.yaml").read_text())["epochs"] == done[0]["epochs"]


def test_a_valid_split_is_what_trials_are_judged_on(toy: Path) -> None:
    """Against a trainer of its own, epoch by epoch."""
    data = load_dataset(toy)
    train = data.splits["train"]
    valid = NodeSplit(train.nodes[30:], train.labels[30:])
    data = dataclasses.replace(
        data, splits={**data.splits, "train": NodeSplit(train.nodes[:30], train.labels[:30]), "valid": valid}
    )
    settings = NodeSettings(epochs=4, hidden=4, literals="nodes")
    result = trials_module.Trials([data], trials_module.Folds(seed=3), torch.device("cpu")).run(settings)
    graph = prepare_graph(data.graph, settings)
    trainer = NodeTrainer(graph, train.nodes[:30], train.labels[:30], data.num_classes, settings, 3)
    curve = []
    for _ in trainer.epochs():
        scores = logits(trainer.trained(), graph, valid.nodes, settings)
        curve.append(float((scores.argmax(-1) == valid.labels).double().mean()))
    assert result["curves"]["toy"] == pytest.approx(curve, abs=1e-5)


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
