"""Triples of one's own, from files to a training."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from towns import SMALL, run, town_table, town_triples


def write_splits(folder: Path, **sizes: int) -> Path:
    """A folder with so many triples of the town in each split."""
    folder.mkdir()
    triples = town_triples()
    random.Random(1).shuffle(triples)
    for split, size in sizes.items():
        (folder / f"{split}.tsv").write_text("\n".join(triples[:size]) + "\n")
        del triples[:size]
    return folder


def test_splits_of_ones_own_are_not_split_again(tmp_path: Path, capsys) -> None:
    folder = write_splits(tmp_path / "own", train=150, valid=10, test=20)
    arguments = ["train", folder, "--epochs", 1, *SMALL, "--out", tmp_path / "r", "--json"]
    code, _, error = run(capsys, *arguments, "--split", "0.1,0.1")
    assert code == 1
    assert "validation triples of its own" in error
    assert "Leave --split out" in error
    code, text, error = run(capsys, *arguments)
    assert code == 0, error
    assert json.loads(text)["splits"] == {"train": 150, "valid": 10, "test": 20}


@pytest.mark.parametrize(("options", "valid"), [([], 15), (["--split", "0.2,0.1"], 30)])
def test_missing_validation_triples_are_held_back(tmp_path: Path, capsys, options: list[str], valid: int) -> None:
    folder = write_splits(tmp_path / "own", train=150, test=30)
    code, text, error = run(capsys, "train", folder, "--epochs", 1, *SMALL, "--out", tmp_path / "r", "--json", *options)
    assert code == 0, error
    assert json.loads(text)["splits"] == {"train": 150 - valid, "valid": valid, "test": 30}
    assert f"{valid} of 150 training triples are held back" in error


def test_training_says_when_rules_give_the_answers_away(tmp_path: Path, capsys) -> None:
    arguments = ["--epochs", 1, *SMALL, "--out"]
    folder = write_splits(tmp_path / "own", train=150, valid=10, test=20)
    code, _, error = run(capsys, "train", folder, *arguments, tmp_path / "r")
    assert code == 0, error
    assert "an inverse or duplicate relation" in error
    assert "brgcn data inspect" in error
    (tmp_path / "clean.tsv").write_text("\n".join(row for row in town_triples() if "resident" not in row))
    code, _, error = run(capsys, "train", tmp_path / "clean.tsv", *arguments, tmp_path / "c")
    assert code == 0, error
    assert "inverse" not in error


def test_inspecting_links_estimates_no_memory_of_classifying_nodes(tmp_path: Path, capsys) -> None:
    code, text, error = run(capsys, "data", "inspect", write_splits(tmp_path / "own", train=150, test=30))
    assert code == 0, error
    assert "training memory" not in text
    assert "lives in" in text


def test_splits_are_files_that_are_named_one_by_one(tmp_path: Path, capsys) -> None:
    folder = write_splits(tmp_path / "own", train=150, valid=10, test=20)
    files = [folder / "train.tsv", "--valid", folder / "valid.tsv", "--test", folder / "test.tsv"]
    code, text, error = run(capsys, "train", *files, "--epochs", 1, *SMALL, "--out", tmp_path / "r", "--json")
    assert code == 0, error
    assert json.loads(text)["splits"] == {"train": 150, "valid": 10, "test": 20}
    code, text, error = run(capsys, "data", "inspect", *files, "--json")
    assert code == 0, error
    assert json.loads(text)["splits"] == {"train": 150, "valid": 10, "test": 20}
    code, _, error = run(capsys, "train", folder, *files[1:], "--out", tmp_path / "f")
    assert code == 1
    assert "single file of training triples" in error
    code, _, error = run(capsys, "train", files[0], files[4])
    assert code == 2
    words = " ".join(error.replace("│", " ").split())  # typer draws a box
    assert "--valid FILE and --test FILE" in words


def test_rdf_files_named_like_splits_are_read_as_such(tmp_path: Path, capsys) -> None:
    folder = tmp_path / "rdf"
    folder.mkdir()
    for split, first, last in (("train", 0, 30), ("valid", 30, 33), ("test", 33, 36)):
        rows = [f"<urn:a{k % 10}> <urn:r{k % 3}> <urn:a{(k * k + k // 10) % 10}> .\n" for k in range(first, last)]
        (folder / f"{split}.nt").write_text("".join(rows))
    for options in ([], ["--task", "links"]):
        code, text, error = run(
            capsys, "train", folder, *options, "--epochs", 1, *SMALL, "--out", tmp_path / f"r{len(options)}", "--json"
        )
        assert code == 0, error
        assert json.loads(text)["splits"] == {"train": 30, "valid": 3, "test": 3}


@pytest.mark.parametrize("data", ["town.tsv", "fb15k"])
def test_a_preset_for_links_is_a_regime(tmp_path: Path, capsys, monkeypatch, data: str) -> None:
    monkeypatch.chdir(tmp_path)
    town_table(tmp_path / "town.tsv")
    code, _, error = run(capsys, "train", data, "--preset", "paper", "--out", "r")
    assert code == 1
    assert "--preset is for a training that classifies nodes" in error
    assert "--regime" in error


def test_rules_on_triples_of_ones_own(tmp_path: Path, capsys) -> None:
    data = town_table(tmp_path / "town.tsv")
    arguments = ["reproduce", "links", "--rows", "rules", "--out", tmp_path / "kept", "--json", "--datasets"]
    code, text, error = run(capsys, *arguments, data)
    assert code == 0, error
    (row,) = json.loads(text)
    assert (row["dataset"], row["row"]) == ("town", "rules")
    assert row["mrr"] > 0.3  # who lives in a town is its resident
    kept = tmp_path / "kept" / "town-rules-every.json"
    assert "-split-0.1-0.1-" in json.loads(kept.read_text())["fingerprint"]
    code, _, error = run(capsys, *arguments, data, "--split", "0.2,0.2")
    assert code == 0, error
    assert "-split-0.2-0.2-" in json.loads(kept.read_text())["fingerprint"]


def test_a_graph_to_classify_nodes_is_not_reproduced_as_links(toy: Path, tmp_path: Path, capsys) -> None:
    code, _, error = run(capsys, "reproduce", "links", "--datasets", toy, "--rows", "rules", "--out", tmp_path / "kept")
    assert code == 1
    assert f"brgcn train {toy} --task links" in error
    assert "with_splits" not in error


@pytest.mark.parametrize(
    "command", [["reproduce", "links", "--datasets", " , "], ["ensemble", "one", "other", "--kinds", ""]]
)
def test_a_list_of_no_names_is_an_error(tmp_path: Path, capsys, monkeypatch, command: list[str]) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("brgcn.tasks.link_folder.LinkFolder.open", lambda path: path)
    code, _, error = run(capsys, *command)
    assert code == 1
    assert "names nothing" in error
