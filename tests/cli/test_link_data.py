"""Triples of one's own, from files to a training."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from towns import SMALL, run, town_triples


def write_splits(folder: Path, **sizes: int) -> Path:
    """A folder with so many triples of the town in each split."""
    folder.mkdir()
    triples = town_triples()
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
