"""Rows that are measured at the same time are those that are measured one after another."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from brgcn.data import load_dataset
from brgcn.errors import SettingsError
from brgcn.experiments import link_table, side_by_side
from brgcn.experiments.link_table import LinkRow
from brgcn.experiments.side_by_side import measure_rows
from brgcn.tasks.link_settings import LinkSettings

CPU = torch.device("cpu")


@pytest.fixture
def town(tmp_path: Path) -> Path:
    lines = [f"p{person}\tlives in\tt{person % 3}\n" for person in range(12)]
    lines += [f"t{person % 3}\thas resident\tp{person}\n" for person in range(12)]
    folder = tmp_path / "town"
    folder.mkdir()
    for name, part in (("train", lines[:20]), ("valid", lines[20:22]), ("test", lines[22:])):
        (folder / f"{name}.tsv").write_text("".join(part))
    return folder


def test_as_one_after_another(town: Path, tmp_path: Path) -> None:
    data = load_dataset(town)
    rows = [LinkRow.parse(name) for name in ("rules", "distmult", "hole")]
    one, two = (
        measure_rows(data, rows, "paper", tmp_path / f"{jobs}", tmp_path / f"m{jobs}", jobs=jobs, device=CPU)
        for jobs in (1, 2)
    )
    assert [cell["row"] for cell in two] == [row.name for row in rows]
    assert [cell["jobs"] for cell in one + two] == [1, 1, 1, 2, 2, 2]
    for alone, beside in zip(one, two, strict=True):
        assert [run["test"] for run in beside["runs"]] == [run["test"] for run in alone["runs"]]


def test_parts_of_ensembles_come_first_and_once(town: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def small(
        encoder: str, decoder: str, dataset: str, regime: str = "modern", *, device: str = "cuda"
    ) -> LinkSettings:
        return LinkSettings(encoder=encoder, decoder=decoder, width=4, epochs=1, initial_scale=0.1)

    told: list[list[str]] = []

    def here(work: dict[str, Callable[[], Any]], *_: object) -> None:
        told.append(list(work))
        for do in work.values():
            do()

    monkeypatch.setattr(link_table, "link_settings", small)
    monkeypatch.setattr(side_by_side, "_at_once", here)
    rows = [LinkRow.parse(name) for name in ("rgcn+complex", "brgcn+complex", "rgcn:distmult", "complex")]
    arguments = (load_dataset(town), rows, "paper", tmp_path / "kept", tmp_path / "models")
    cells = measure_rows(*arguments, jobs=3, device=CPU)
    assert told == [
        ["rgcn:distmult", "complex", "complex for an ensemble, modern", "brgcn:distmult for an ensemble, paper"],
        ["rgcn+complex", "brgcn+complex"],
    ]
    assert [cell["row"] for cell in cells] == [row.name for row in rows]
    told.clear()
    assert measure_rows(*arguments, jobs=3, device=CPU) == cells
    assert told == [[], []]


def _wait(path: Path) -> None:
    path.write_text(str(os.getpid()))
    time.sleep(600)


def _fail_when_there(path: Path) -> None:
    while not path.exists():
        time.sleep(0.05)
    raise SettingsError(f"no {path.name}", remedy="Try again.")


def test_an_error_ends_what_runs_beside_it(tmp_path: Path) -> None:
    beside = tmp_path / "beside"
    work = {
        "waits": partial(_wait, beside),
        "fails": partial(_fail_when_there, beside),
        "never": partial(_wait, beside),
    }
    begun = time.monotonic()
    with pytest.raises(SettingsError, match="no beside") as raised:
        side_by_side._at_once(work, 2, CPU, lambda text: None)
    assert raised.value.remedy == "Try again."
    assert time.monotonic() - begun < 300
    with pytest.raises(ProcessLookupError):
        os.kill(int(beside.read_text()), 0)
