from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from brgcn.config import build
from brgcn.data import load_dataset
from brgcn.errors import DataError, RunError
from brgcn.ops.cpu.parallel import thread_count
from brgcn.tasks import NodeClassifier, NodeSettings, RunFolder, continue_runs, evaluate_runs, train_runs

SETTINGS = {"epochs": 12, "patience": 4, "dropout": 0.2, "bases": 0}


def train(toy: Path, out: Path, runs: int = 3, together: int | None = None, **options) -> RunFolder:
    data = load_dataset(toy, drop_relations=["http://example.org/favourite"])
    settings = build(NodeSettings, {**SETTINGS, **options}, "test")
    return train_runs(data, settings, out, runs=runs, seed=3, together=together)


def assert_same_outcome(left: Path, right: Path) -> None:
    """Metrics and weights to the last bit; timings may differ."""
    assert (left / "metrics.jsonl").read_text() == (right / "metrics.jsonl").read_text()
    runs = sorted(path.name for path in (left / "runs").iterdir())
    assert runs == sorted(path.name for path in (right / "runs").iterdir())
    for run in runs:
        ours, theirs = (load_file(folder / "runs" / run / "weights.safetensors") for folder in (left, right))
        assert ours.keys() == theirs.keys()
        assert all(ours[name].equal(theirs[name]) for name in ours)
        for file in ("predictions.tsv", "report.json"):
            assert (left / "runs" / run / file).read_text() == (right / "runs" / run / file).read_text()


def test_a_run_folder_holds_everything(toy: Path, tmp_path: Path) -> None:
    folder = train(toy, tmp_path / "run")
    names = {path.name for path in folder.path.iterdir()}
    assert names == {
        "run.json",
        "settings.yaml",
        "environment.json",
        "graph.safetensors",
        "labels.tsv",
        "metrics.jsonl",
        "timings.jsonl",
        "runs",
        "result.json",
        ".lock",
    }
    result = folder.result
    assert [run["seed"] for run in result["runs"]] == [3, 4, 5]
    assert set(result["test_accuracy"]) == {"mean", "std", "sem", "n"}
    assert result["test_accuracy"]["n"] == 3
    metrics = [json.loads(line) for line in (folder.path / "metrics.jsonl").read_text().splitlines()]
    assert "seconds" not in metrics[0]
    assert {record["run"] for record in metrics} == {0, 1, 2}
    table = (folder.path / "runs" / "00" / "predictions.tsv").read_text().splitlines()
    assert table[0].split("\t") == ["node", "split", "label", "predicted", "blue", "green", "red"]
    assert len(table) == 1 + 60
    right = [row.split("\t")[2] == row.split("\t")[3] for row in table[1:] if row.split("\t")[1] == "test"]
    assert sum(right) / 20 == result["runs"][0]["test_accuracy"]


def test_evaluate_and_load_give_what_was_reported(toy: Path, tmp_path: Path) -> None:
    folder = train(toy, tmp_path / "run")
    again = evaluate_runs(RunFolder.open(folder.path))
    assert again["test_accuracy"] == folder.result["test_accuracy"]
    assert [run["test"]["confusion"] for run in again["runs"]] == [
        folder.report(r)["test"]["confusion"] for r in range(3)
    ]
    classifier = NodeClassifier.load(folder.path, run=1)
    test = folder.splits["test"]
    truth = [folder.classes[label] for label in test.labels]
    assert classifier.score(test.nodes, truth) == folder.result["runs"][1]["test_accuracy"]
    with pytest.raises(DataError, match="none of the labels is a class"):
        classifier.score(test.nodes, test.labels)


def test_the_folder_needs_nothing_else(toy: Path, tmp_path: Path) -> None:
    import shutil

    folder = train(toy, tmp_path / "run", runs=1)
    shutil.rmtree(toy)
    moved = shutil.move(folder.path, tmp_path / "elsewhere")
    assert evaluate_runs(RunFolder.open(Path(moved)))["test_accuracy"]["n"] == 1


@pytest.mark.parametrize("together", [1, 2])
def test_interrupted_at_any_epoch_and_continued(toy: Path, tmp_path: Path, together: int) -> None:
    whole = train(toy, tmp_path / "whole", runs=3, together=together)
    total = len((whole.path / "metrics.jsonl").read_text().splitlines())
    data = load_dataset(toy, drop_relations=["http://example.org/favourite"])
    settings = build(NodeSettings, SETTINGS, "test")

    class Stop(Exception):
        pass

    for stop_at in random.Random(0).sample(range(1, total), 5):
        seen = 0

        def listener(run: int, record: dict, stop_at: int = stop_at) -> None:
            nonlocal seen
            seen += 1
            if seen == stop_at:
                raise Stop

        out = tmp_path / f"cut{stop_at}"
        with pytest.raises(Stop):
            train_runs(data, settings, out, runs=3, seed=3, checkpoint_seconds=0, together=together, listener=listener)
        folder = RunFolder.open(out)
        assert not folder.finished
        with pytest.raises(RunError, match="not finished"):
            _ = folder.result
        continue_runs(folder, checkpoint_seconds=0)
        assert_same_outcome(whole.path, out)
        assert not (out / "checkpoint.safetensors").exists()


def test_killed_ten_times_and_resumed(toy: Path, tmp_path: Path) -> None:
    """A real process, SIGKILL at random moments, resumed each time: the same as never killing it."""
    command = [sys.executable, "-m", "brgcn"]
    arguments = ["--checkpoint-every", "0", "--device", "cpu", "--no-figure"]
    sets = ["--set", "epochs=400", "--set", "dropout=0.2", "--set", "bases=0"]
    start = [*command, "train", str(toy), "--runs", "3", "--out", str(tmp_path / "cut"), *sets, *arguments]
    resume = [*command, "train", "--resume", str(tmp_path / "cut"), *arguments]
    rng = random.Random(1)
    kills = 0
    process = subprocess.Popen(start, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    while kills < 10:
        deadline = time.monotonic() + 60  # the first moment that counts is when training has begun to write
        size = _size(tmp_path / "cut" / "metrics.jsonl")
        while _size(tmp_path / "cut" / "metrics.jsonl") in (0, size) and time.monotonic() < deadline:
            if process.poll() is not None:
                break
            time.sleep(0.01)
        time.sleep(rng.random() * 0.4)
        if process.poll() is not None:
            break
        process.send_signal(signal.SIGKILL)
        process.wait()
        kills += 1
        process = subprocess.Popen(resume, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    assert process.wait(timeout=120) == 0
    assert kills == 10
    whole = [*command, "train", str(toy), "--runs", "3", "--out", str(tmp_path / "whole"), *sets, *arguments]
    subprocess.run(whole, check=True, capture_output=True)
    assert_same_outcome(tmp_path / "whole", tmp_path / "cut")
    assert not list((tmp_path / "cut").rglob("*.part"))


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def test_one_writer_at_a_time(toy: Path, tmp_path: Path) -> None:
    data = load_dataset(toy)

    def second_writer(run: int, record: dict) -> None:
        with pytest.raises(RunError, match="another process is training here"):
            continue_runs(RunFolder.open(tmp_path / "run"))

    train_runs(data, NodeSettings(epochs=2), tmp_path / "run", listener=second_writer)
    assert len((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()) == 2
    continue_runs(RunFolder.open(tmp_path / "run"))  # the lock is gone


def test_a_resumed_run_takes_the_threads_of_the_first(toy: Path, tmp_path: Path) -> None:
    seen = []

    def listener(run: int, record: dict) -> None:
        seen.append(thread_count())
        if len(seen) == 1:
            raise KeyboardInterrupt

    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        with pytest.raises(KeyboardInterrupt):
            train_runs(load_dataset(toy), NodeSettings(epochs=2), tmp_path / "run", listener=listener)
        torch.set_num_threads(1)
        continue_runs(RunFolder.open(tmp_path / "run"), listener=listener)
        assert set(seen) == {2}
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)


def test_a_folder_appears_whole_or_not_at_all(toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = train(toy, tmp_path / "run", runs=1)
    result = old.result

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("brgcn.tasks.run_folder.write_labels", fail)
    for name in ("run", "new"):
        with pytest.raises(KeyboardInterrupt):
            train_runs(load_dataset(toy), NodeSettings(), tmp_path / name, overwrite=True)
    assert RunFolder.open(tmp_path / "run").result == result  # the old one is still there
    assert not (tmp_path / "new").exists()
    assert not list(tmp_path.glob(".*.part"))


def test_without_test_labels_the_key_is_there(toy: Path, tmp_path: Path) -> None:
    data = load_dataset(toy / "graph.nt", labels=toy / "trainingSet.tsv")
    folder = train_runs(data, NodeSettings(epochs=1), tmp_path / "run")
    assert folder.result["test_accuracy"] == {"mean": None, "std": None, "sem": None, "n": 0}


def test_folders_that_cannot_be_used(toy: Path, tmp_path: Path) -> None:
    folder = train(toy, tmp_path / "run", runs=1)
    with pytest.raises(RunError, match="exists already"):
        train(toy, folder.path)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "precious.txt").write_text("keep me")
    data = load_dataset(toy)
    with pytest.raises(RunError, match="replaces run folders only"):
        train_runs(data, NodeSettings(epochs=1), tmp_path / "other", overwrite=True)
    assert (tmp_path / "other" / "precious.txt").exists()
    train_runs(data, NodeSettings(epochs=1), folder.path, overwrite=True)
    with pytest.raises(RunError, match="no such folder"):
        RunFolder.open(tmp_path / "absent")
    with pytest.raises(RunError, match="not a run folder"):
        RunFolder.open(tmp_path / "other")
    (folder.path / "run.json").unlink()
    with pytest.raises(RunError, match="stopped before it began"):
        RunFolder.open(folder.path)


def test_what_cannot_be_trained(tmp_path: Path, toy: Path) -> None:
    for split in ("train", "valid", "test"):
        (tmp_path / f"{split}.tsv").write_text("a\tr\tb\nb\tr\tc\n" if split == "train" else "a\tr\tc\n")
    with pytest.raises(DataError, match="holds triples to predict links"):
        train_runs(load_dataset(tmp_path), NodeSettings(), tmp_path / "out")
    with pytest.raises(DataError, match="no training labels"):
        train_runs(load_dataset(toy / "graph.nt"), NodeSettings(), tmp_path / "out")
    with pytest.raises(DataError, match="at least 1"):
        train_runs(load_dataset(toy), NodeSettings(), tmp_path / "out", runs=0)
    assert not (tmp_path / "out").exists()
