"""Rows of link prediction measured at the same time, each in a process of its own: one training seldom fills a large
GPU, nor all the cores of a CPU.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NamedTuple

import torch

from brgcn.data import Dataset
from brgcn.data.cache import open_cached, store
from brgcn.errors import BrgcnError, is_out_of_memory
from brgcn.experiments.link_table import LinkRow, Tell, kept_row, measure_row, parts_of, trained_folder

_SPAWN = multiprocessing.get_context("spawn")  # CUDA does not survive a fork
_PATIENCE = 10.0  # seconds that a process has to leave
_FEWER = "Train fewer at a time: a smaller --jobs. The same command goes on from here."


class Work(NamedTuple):
    name: str
    do: Callable[[], Any]
    after: Iterable[Hashable] = ()  # what must be done before


def measure_rows(
    data: Dataset,
    rows: Sequence[LinkRow],
    regime: str,
    folder: Path,
    models: Path,
    *,
    jobs: int = 1,
    runs: int = 1,
    device: torch.device,
    overwrite: bool = False,
    tell: Tell = lambda text: None,
) -> list[dict[str, Any]]:
    """``measure_row`` of every row, ``jobs`` at a time; an ensemble follows when its parts are trained."""
    in_order = sorted(dict.fromkeys(rows), key=lambda row: bool(row.beside))
    options: dict[str, Any] = {"runs": runs, "device": device}
    if jobs > 1:
        missing = [
            row
            for row in in_order
            if overwrite or kept_row(data, row, regime, folder, runs=runs, device=device) is None
        ]
        with tempfile.TemporaryDirectory(prefix="brgcn-") as place:
            shared = _Shared(Path(place) / "data.safetensors", data.name, data.source, data.folder)
            if missing:
                store(shared.path, data)
            work: dict[Hashable, Work] = {}
            for row in missing:
                parts = [(part.name, of) for part, of in parts_of(row, regime)]
                for part, of in parts_of(row, regime):  # a part that several have is trained once
                    train = partial(_train, shared, part, of, models, runs, device)
                    work.setdefault((part.name, of), Work(f"{part.name} for an ensemble", train))
                do = partial(_measure, shared, row, regime, folder, models, overwrite=overwrite, **options)
                work[row.name, regime] = Work(row.name, do, parts)
            at_once(work, jobs, device, lambda text: tell(f"{data.name}, {regime}: {text}"))
        overwrite = False
    measure = partial(measure_row, data, regime=regime, folder=folder, models=models, **options)
    cells = {row.name: measure(row=row, overwrite=overwrite, tell=tell) for row in in_order}
    return [cells[row.name] for row in rows]


class _Shared(NamedTuple):
    """A data set for other processes: a file, which they map, since tensors that are handed over would move to memory
    that is shared, from under who looks at them."""

    path: Path
    name: str
    source: str
    folder: Path | None

    def open(self) -> Dataset:
        data = open_cached(self.path, name=self.name, source=self.source)
        if data is None:
            remedy = "Make room there, name another folder in TMPDIR, or leave out --jobs."
            raise BrgcnError("the data set could not be handed to another process", where=str(self.path), remedy=remedy)
        return replace(data, folder=self.folder)


def _train(shared: _Shared, *arguments: Any) -> None:
    trained_folder(shared.open(), *arguments)


def _measure(shared: _Shared, *arguments: Any, **options: Any) -> None:
    measure_row(shared.open(), *arguments, **options)


def at_once(work: Mapping[Hashable, Work], jobs: int, device: torch.device, tell: Tell) -> None:
    """Everything of ``work``, in its order where nothing has to wait; the first error ends what is running beside it,
    from which one can go on."""
    jobs = max(1, min(jobs, len(work)))
    threads = max(1, torch.get_num_threads() // jobs) if device.type == "cpu" else 1
    waiting, done = dict(work), set[Hashable]()
    running: dict[Connection, tuple[Hashable, BaseProcess]] = {}
    try:
        while waiting or running:
            ready = [key for key, one in waiting.items() if done.issuperset(one.after)]
            for key in ready[: jobs - len(running)]:
                here, process = _start(waiting.pop(key).do, threads)
                running[here] = key, process
            tell(f"{', '.join(work[key].name for key, _ in running.values())} ({len(done)} of {len(work)} done)")
            ended = wait(list(running))
            for here in [one for one in running if one in ended]:
                key, process = running[here]
                _hear(here, process, work[key].name)
                del running[here]
                done.add(key)
    finally:
        for _, process in running.values():
            process.terminate()  # what it has done until its last checkpoint is kept
        for _, process in running.values():
            process.join(_PATIENCE)
            process.kill()


def _start(do: Callable[[], Any], threads: int) -> tuple[Connection, BaseProcess]:
    here, there = _SPAWN.Pipe()
    process = _SPAWN.Process(target=_work, args=(there, do, threads))
    process.start()
    there.close()
    return here, process


def _hear(here: Connection, process: BaseProcess, name: str) -> None:
    """The end of one; what went wrong there is raised here, with its name."""
    try:
        error = here.recv()
    except EOFError:
        process.join()
        message = f"{name}: its process ended without a result (exit code {process.exitcode})"
        raise BrgcnError(message, remedy=f"If memory ran out: {_FEWER[0].lower()}{_FEWER[1:]}") from None
    process.join()  # and its memory on the GPU is free again
    if isinstance(error, BrgcnError):
        raise type(error)(f"{name}: {error.message}", where=error.where, remedy=error.remedy)
    if error is not None and is_out_of_memory(error):
        raise BrgcnError(f"{name}: there is not enough memory", remedy=_FEWER)
    if error is not None:
        error.add_note(f"in the process of {name}")
        raise error


def _work(there: Connection, do: Callable[[], Any], threads: int) -> None:
    """What ``do`` makes is on disk; this process does not outlive the one that asked."""
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # not without cleaning up
    torch.set_num_threads(threads)
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        error: Exception | None = None
        try:
            do()
        except Exception as found:
            error = found
        there.send(error)


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
