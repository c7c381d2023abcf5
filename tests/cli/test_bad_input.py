"""Bad input to the command line, one kind after another, each with what its message must say.

Every message tells what is wrong, where (the file, and the line where there is one), and what to do. Nothing is left
behind: whatever lay in the folder before lies there afterwards, and nothing else.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from bad_bench import (
    PEOPLE,
    Bench,
    Kind,
    edited,
)
from bad_data import GRAPHS, LABELS, SETTINGS, USAGE
from bad_runs import RUNS
from safetensors import SafetensorError
from toys import EX, toy_folder

from brgcn.cli import main
from brgcn.data import load_dataset
from brgcn.errors import DataError
from brgcn.tasks import NodeSettings, RunFolder, train_runs

KINDS_OF_BAD_INPUT = [*USAGE, *GRAPHS, *LABELS, *SETTINGS, *RUNS]


# ---------------------------------------------------------------------- every kind of the table


@pytest.fixture(autouse=True)
def _as_on_a_small_machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("BRGCN_DATA", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    data = load_dataset(toy_folder(folder / "toy", PEOPLE), use_cache=False)
    train_runs(data, NodeSettings(epochs=2), folder / "finished", runs=2)
    train_runs(data, NodeSettings(epochs=2, model="rgcn"), folder / "rgcn")

    def stop(run: int, record: dict[str, object]) -> None:
        if record["epoch"] == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_runs(data, NodeSettings(epochs=5), folder / "halfway", checkpoint_seconds=0, listener=stop)
    return folder


@pytest.fixture
def bench(tmp_path: Path, trained: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    here = tmp_path / "here"
    toy_folder(here / "toy", PEOPLE)
    monkeypatch.chdir(here)
    monkeypatch.setenv("BRGCN_CACHE", str(tmp_path / "cache"))
    return Bench(here, trained)


def run(capsys: pytest.CaptureFixture[str], arguments: list[object]) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return int(stopped.value.code or 0), captured.out, captured.err


def tree(folder: Path) -> dict[str, bytes | None]:
    """Everything below a folder, with its content."""
    return {str(path.relative_to(folder)): _content(path) for path in folder.rglob("*")}


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() and os.access(path, os.R_OK) else None


def half_written(bench: Bench) -> list[Path]:
    return list(bench.folder.parent.rglob("*.part"))


@pytest.mark.parametrize("kind", KINDS_OF_BAD_INPUT, ids=lambda kind: kind.name)
def test_bad_input(kind: Kind, bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    if kind.not_as_root and os.geteuid() == 0:
        pytest.skip("root may do everything")
    arguments = kind.prepare(bench)
    before = tree(bench.folder)
    code, out, error = run(capsys, arguments)

    assert code == kind.code, error
    assert out == ""
    for part in kind.says:
        assert part.replace("HERE", str(bench.folder)) in error
    for ugly in ("Traceback", "defect of brgcn", "[Errno", "  \n"):
        assert ugly not in error
    if code == 1:
        assert "error: " in error
        assert "\n\n" not in error
        assert "\n  " in error or " must " in error, "a remedy stands below the message, or the message says it"
    after = tree(bench.folder)
    changed = {name for name in before.keys() | after.keys() if before.get(name, b"-") != after.get(name, b"-")}
    assert {Path(name).parts[0] for name in changed} <= ({"out", "old"} if kind.begins else set())
    assert not half_written(bench)


def test_there_are_enough_kinds() -> None:
    assert len({kind.name for kind in KINDS_OF_BAD_INPUT}) == len(KINDS_OF_BAD_INPUT) >= 40


def test_debug_shows_the_traceback(bench: Bench) -> None:
    for arguments in (["--debug", "train", "mutagg"], ["train", "mutagg", "--debug"]):
        with pytest.raises(DataError, match="did you mean 'mutag'"):
            main(arguments)


# ---------------------------------------------------------------------- what strikes in the middle


def test_interrupted_while_training(bench: Bench, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(RunFolder, "write_run", _raise(KeyboardInterrupt()))
        code, out, error = run(capsys, bench.train("--out", bench / "my run"))
    assert (code, out) == (130, "")
    assert f"Stopped. Continue with: brgcn train --resume '{bench / 'my run'}'\ninterrupted\n" in error
    assert "Traceback" not in error
    with monkeypatch.context() as patched:  # and once more
        patched.setattr(RunFolder, "write_run", _raise(KeyboardInterrupt()))
        code, _, error = run(capsys, ["train", "--resume", bench / "my run"])
    assert code == 130
    assert "Continue with: brgcn train --resume" in error
    code, out, _ = run(capsys, ["train", "--resume", bench / "my run", "--no-figure", "--json"])
    assert code == 0
    assert len(json.loads(out)["runs"]) == 1


def test_interrupted_before_training(bench: Bench, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    before = tree(bench.folder)
    for place in ("brgcn.data.loading.read_rdf", "brgcn.tasks.run_folder.write_labels"):
        with monkeypatch.context() as patched:
            patched.setattr(place, _raise(KeyboardInterrupt()))
            code, out, error = run(capsys, bench.train())
        assert (code, out) == (130, "")
        assert error.endswith("interrupted\n")
        assert "--resume" not in error  # there is nothing to continue
        assert tree(bench.folder) == before


def test_disk_full_while_training(bench: Bench, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(RunFolder, "write_run", _raise(_disk_full()))
        code, out, error = run(capsys, bench.train())
    assert (code, out) == (1, "")
    assert f"Continue with: brgcn train --resume {bench / 'out'}\n" in error
    assert "error: disk: there is no space left on the disk\n  Free some space" in error
    assert not half_written(bench)
    assert run(capsys, ["train", "--resume", bench / "out", "--no-figure"])[0] == 0


def test_disk_full_before_training(bench: Bench, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    before = tree(bench.folder)
    words = "Error while serializing: I/O error: No space left on device (os error 28)"
    monkeypatch.setattr("safetensors.torch.save_file", _raise(SafetensorError(words)))
    code, out, error = run(capsys, bench.train())  # the cache can do without, the run folder cannot
    assert (code, out) == (1, "")
    assert f"{bench / 'out'}: there is no space left on the disk" in error
    assert "--resume" not in error
    assert tree(bench.folder) == before
    assert not half_written(bench)


def test_disk_full_while_predicting(bench: Bench, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    old = bench.run()
    before = tree(bench.folder)
    monkeypatch.setattr("brgcn.data.files.os.replace", _raise(_disk_full()))
    code, out, error = run(capsys, ["predict", old, "--out", bench / "p.tsv"])
    assert (code, out) == (1, "")
    assert "there is no space left on the disk" in error
    assert tree(bench.folder) == before


def test_disk_full_for_the_figure_alone(bench: Bench, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("brgcn.explain.explain_run", _raise(_disk_full()))
    code, out, error = run(capsys, ["train", bench / "toy", "--epochs", "2", "--out", bench / "out", "--json"])
    assert code == 0  # the result is there
    assert json.loads(out)["figure"] is None
    assert "the figure could not be written" in error


def test_killed_before_it_began(bench: Bench, capsys) -> None:
    """SIGKILL leaves no time to tidy up; the folder can then be replaced, and nothing else."""
    (bench / "out").mkdir()
    shutil.copy(bench.trained / "finished/settings.yaml", bench / "out")
    code, _, error = run(capsys, bench.train())
    assert code == 1
    assert "replace it with --overwrite" in error
    assert "--resume" not in error
    assert run(capsys, bench.train("--overwrite"))[0] == 0


def test_looking_does_not_disturb_a_run_that_is_going_on(bench: Bench, capsys) -> None:
    old = bench.run()
    beside = old / ".checkpoint.safetensors.1-ab.part"  # another process is writing it
    beside.touch()
    assert run(capsys, ["evaluate", old])[0] == 0
    assert beside.exists()


def _disk_full() -> OSError:
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "disk")


def _raise(error: BaseException) -> Callable[..., None]:
    def stand_in(*_: object, **__: object) -> None:
        raise error

    return stand_in


# ---------------------------------------------------------------------- odd, but with a defined result


def _append(path: Path, *lines: str) -> None:
    with path.open("a") as stream:
        stream.writelines(f"{line}\n" for line in lines)


def self_loops(bench: Bench) -> list[object]:
    _append(bench.graph, *(f"<{EX}p{person}> <{EX}likes> <{EX}p{person}> ." for person in range(PEOPLE)))
    return bench.train()


def isolated_nodes(bench: Bench) -> list[object]:
    """Two labelled nodes with nothing but themselves, and people whom, without inverses, no edge reaches."""
    _append(bench.graph, *(f"<{EX}lonely{i}> <{EX}likes> <{EX}lonely{i}> ." for i in range(2)))
    _append(bench.labels, *(f"{EX}lonely{i}\tred" for i in range(2)))
    return bench.train("--set", "inverse=false")


def parallel_edges(bench: Bench) -> list[object]:
    rows = [f"{EX}p{person}\tlikes\tthing{person % 3}" for person in range(PEOPLE)]
    return bench.train_on(bench.write("graph.tsv", "\n".join(rows * 2)))


def relation_out_of_reach(bench: Bench) -> list[object]:
    """No layer sees an edge of it, because it is far from every label."""
    _append(bench.graph, "<urn:far> <urn:away> <urn:farther> .")
    return bench.train()


def some_labels_absent(bench: Bench) -> list[object]:
    _append(bench.labels, "urn:nobody\tred")
    return bench.train()


def blank_lines(bench: Bench) -> list[object]:
    edited(bench.labels, lambda text: text.replace(b"\n", b" \r\n\r\n"))
    return bench.train()


def labels_like_markup(bench: Bench) -> list[object]:
    for name in ("trainingSet.tsv", "testSet.tsv"):
        edited(bench / "toy" / name, lambda text: text.replace(b"\tred", b"\t[b]").replace(b"\tgreen", b"\t:apple:"))
    return bench.train()


@pytest.mark.parametrize(
    ("prepare", "says"),
    [
        (self_loops, ""),
        (isolated_nodes, ""),
        (parallel_edges, "warning: 12 of 24 triples of graph.tsv are repetitions"),
        (relation_out_of_reach, ""),
        (some_labels_absent, "warning: 1 of 9 labelled nodes of trainingSet.tsv are not in the graph"),
        (blank_lines, ""),
        (labels_like_markup, ""),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_odd_input_has_a_defined_result(prepare, says: str, bench: Bench, capsys) -> None:
    code, out, error = run(capsys, [*prepare(bench), "--json"])
    assert code == 0, error
    assert 0 <= json.loads(out)["runs"][0]["train_accuracy"] <= 1
    assert says in error
    code, out, error = run(capsys, ["evaluate", bench / "out"])
    assert code == 0, error
    if prepare is labels_like_markup:
        assert "[b]" in out
        assert ":apple:" in out
    assert run(capsys, ["predict", bench / "out"])[0] == 0
    assert not half_written(bench)
