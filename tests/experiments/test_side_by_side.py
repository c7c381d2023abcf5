"""Rows that are measured at the same time are those that are measured one after another."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
import torch

from brgcn.data import load_dataset
from brgcn.data.cache import store
from brgcn.errors import BrgcnError, SettingsError
from brgcn.experiments import link_table, side_by_side
from brgcn.experiments.link_table import LinkRow
from brgcn.experiments.side_by_side import Work, at_once, measure_rows
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


def silent(text: str) -> None:
    pass


def test_as_one_after_another(town: Path, tmp_path: Path) -> None:
    data = load_dataset(town)
    names = list(data.node_names)
    rows = [LinkRow.parse(name) for name in ("rules", "distmult", "hole")]
    one, two = (
        measure_rows(data, rows, "paper", tmp_path / f"{jobs}", tmp_path / f"m{jobs}", jobs=jobs, device=CPU)
        for jobs in (1, 2)
    )
    assert [cell["row"] for cell in one] == [cell["row"] for cell in two] == [row.name for row in rows]
    for alone, beside in zip(one, two, strict=True):
        assert [run["test"] for run in beside["runs"]] == [run["test"] for run in alone["runs"]]
    assert list(data.node_names) == names  # other processes got copies
    assert data.node_names.find(names[:1]).tolist() == [0]


def test_a_data_set_is_handed_over_whole_or_not_at_all(town: Path, tmp_path: Path) -> None:
    data, path = load_dataset(town), tmp_path / "data.safetensors"
    shared = side_by_side._Shared(path, data.name, data.source, data.folder)
    with pytest.raises(BrgcnError, match="could not be handed") as raised:
        shared.open()
    assert "TMPDIR" in str(raised.value)
    store(path, data)
    there = shared.open()
    assert (there.name, there.source, there.folder) == (data.name, data.source, data.folder)
    assert there.fingerprint == data.fingerprint
    assert list(there.node_names) == list(data.node_names)
    assert {split: part.tolist() for split, part in there.triples.items()} == {
        split: part.tolist() for split, part in data.triples.items()
    }


def test_parts_of_ensembles_come_first_and_once(town: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def small(
        encoder: str, decoder: str, dataset: str, regime: str = "modern", *, device: str = "cuda"
    ) -> LinkSettings:
        return LinkSettings(encoder=encoder, decoder=decoder, width=4, epochs=1, initial_scale=0.1)

    begun: list[list[str]] = []

    def here(work: dict[object, Work], *_: object) -> None:
        begun.append([one.name for one in work.values()])
        done = set()
        for key, one in work.items():
            assert done.issuperset(one.after)
            one.do()
            done.add(key)

    monkeypatch.setattr(link_table, "link_settings", small)
    monkeypatch.setattr(side_by_side, "at_once", here)
    rows = [LinkRow.parse(name) for name in ("rgcn+complex", "brgcn+complex", "rgcn:distmult", "complex")]
    arguments = (load_dataset(town), rows, "paper", tmp_path / "kept", tmp_path / "models")
    cells = measure_rows(*arguments, jobs=3, device=CPU)
    parts = ["rgcn:distmult", "complex", "complex for an ensemble"]
    assert begun == [[*parts, "rgcn+complex", "brgcn:distmult for an ensemble", "brgcn+complex"]]
    assert [cell["row"] for cell in cells] == [row.name for row in rows]
    assert measure_rows(*arguments, jobs=3, device=CPU) == cells
    assert begun[1:] == [[]]


def _note(folder: Path, name: str) -> None:
    (folder / f"{name} begins").write_text(str(time.monotonic()))
    (folder / f"{name} ends").write_text(str(time.monotonic()))


def test_what_waits_begins_when_what_it_needs_is_done(tmp_path: Path) -> None:
    work = {
        "c": Work("c", partial(_note, tmp_path, "c"), after=("a", "b")),
        "a": Work("a", partial(_note, tmp_path, "a")),
        "b": Work("b", partial(_note, tmp_path, "b"), after=("a",)),
    }
    told: list[str] = []
    at_once(work, 3, CPU, told.append)
    moments = [float((tmp_path / f"{name} {what}").read_text()) for name in "abc" for what in ("begins", "ends")]
    assert moments == sorted(moments)
    assert told == ["a (0 of 3 done)", "b (1 of 3 done)", "c (2 of 3 done)"]


def _wait(path: Path) -> None:
    path.write_text(str(os.getpid()))
    try:
        time.sleep(600)
    finally:
        path.with_suffix(".left").touch()


def _fail_when_there(path: Path, killed: bool = False) -> None:
    while not path.exists():
        time.sleep(0.05)
    if killed:  # as by the system, where memory runs out
        os.kill(os.getpid(), signal.SIGKILL)
    raise SettingsError(f"no {path.name}", remedy="Try again.")


@pytest.mark.parametrize("killed", [False, True])
def test_an_error_ends_what_runs_beside_it(tmp_path: Path, killed: bool) -> None:
    beside, never = tmp_path / "beside", tmp_path / "never"
    work = {
        "waits": Work("waits", partial(_wait, beside)),
        "fails": Work("fails", partial(_fail_when_there, beside, killed)),
        "never": Work("never", partial(_wait, never)),
    }
    begun = time.monotonic()
    message = "fails: its process ended without a result" if killed else "fails: no beside"
    with pytest.raises(BrgcnError, match=message) as raised:
        at_once(work, 2, CPU, silent)
    assert ("--jobs" in str(raised.value)) if killed else (raised.value.remedy == "Try again.")
    assert time.monotonic() - begun < 300
    assert not _lives(int(beside.read_text()))
    assert beside.with_suffix(".left").exists()  # it could clean up
    assert not never.exists()


def _out_of_memory() -> None:
    raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")


def test_memory_that_runs_out_is_said_with_a_remedy() -> None:
    with pytest.raises(BrgcnError, match="large: there is not enough memory") as raised:
        at_once({0: Work("large", _out_of_memory)}, 2, CPU, silent)
    assert "--jobs" in str(raised.value)


@pytest.mark.skipif(sys.platform != "linux", reason="about signals of Linux")
def test_processes_do_not_outlive_the_one_that_asked(tmp_path: Path) -> None:
    script = """
import sys, torch
from functools import partial
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_side_by_side import Work, _wait, at_once
at_once({0: Work("waits", partial(_wait, Path(sys.argv[1]) / "child"))}, 2, torch.device("cpu"), print)
"""
    parent = subprocess.Popen([sys.executable, "-c", script, str(tmp_path), str(Path(__file__).parent)])
    child = tmp_path / "child"
    deadline = time.monotonic() + 240
    while not (child.exists() and child.read_text()):
        assert parent.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process = int(child.read_text())
    parent.kill()
    parent.wait()
    while _lives(process):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _lives(process: int) -> bool:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, 0)
        status = Path(f"/proc/{process}/stat")
        return not status.exists() or status.read_text().rsplit(")", 1)[1].split()[0] != "Z"
    return False
