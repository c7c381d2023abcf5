"""What the command line says when links are asked for in a way that cannot be answered."""

from __future__ import annotations

from pathlib import Path

import pytest
from towns import run, town_table

from brgcn.data import load_dataset
from brgcn.data.split_triples import with_splits
from brgcn.tasks.link_runs import train_link_runs
from brgcn.tasks.link_settings import LinkSettings


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("town")
    data = with_splits(load_dataset(town_table(folder / "town.tsv"), use_cache=False))
    return train_link_runs(data, LinkSettings(width=8, batch=50, epochs=2), folder / "run").path


@pytest.mark.parametrize("command", [["predict", "--head", "p1", "--relation", "knows"], ["evaluate"]])
def test_a_folder_is_looked_at_before_the_options(tmp_path: Path, capsys, command: list[str]) -> None:
    name, *options = command
    code, _, error = run(capsys, name, tmp_path / "gone", *options)
    assert code == 1
    assert "there is no such folder" in error
    code, _, error = run(capsys, name, tmp_path, *options)
    assert code == 1
    assert "this is not a run folder" in error
