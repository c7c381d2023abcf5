"""Rows of link prediction measured at the same time, each in a process of its own: one training seldom fills a large
GPU, nor all the cores of a CPU.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from functools import partial
from pathlib import Path
from typing import Any

import torch

from brgcn.data import Dataset
from brgcn.experiments.link_table import LinkRow, Tell, kept_row, measure_row, parts_of, trained_folder

_SPAWN = multiprocessing.get_context("spawn")  # CUDA does not survive a fork


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
    """``measure_row`` of every row, ``jobs`` at a time; ensembles follow when their parts are trained."""
    measure = partial(
        measure_row, data, regime=regime, folder=folder, models=models, runs=runs, device=device, jobs=jobs
    )
    if jobs > 1:
        missing = [
            row for row in rows if overwrite or kept_row(data, row, regime, folder, runs=runs, device=device) is None
        ]
        alone, ensembles = ([row for row in missing if bool(row.beside) == beside] for beside in (False, True))
        work: dict[str, Callable[[], Any]] = {row.name: partial(measure, row=row, overwrite=overwrite) for row in alone}
        for row in ensembles:  # a part that several have is trained once
            for part, of in parts_of(row, regime):
                if of != regime or part not in alone:
                    train = partial(trained_folder, data, part, of, models, runs, device)
                    work[f"{part.name} for an ensemble, {of}"] = train
        _at_once(work, jobs, device, lambda text: tell(f"{data.name}, {regime}: {text}"))
        work = {row.name: partial(measure, row=row, overwrite=overwrite) for row in ensembles}
        _at_once(work, jobs, device, lambda text: tell(f"{data.name}, {regime}: {text}"))
        overwrite = False
    return [measure(row=row, overwrite=overwrite, tell=tell) for row in rows]


def _at_once(work: dict[str, Callable[[], Any]], jobs: int, device: torch.device, tell: Tell) -> None:
    """Everything of ``work``, by its name; the first error ends what is running, from which one can go on."""
    threads = max(1, torch.get_num_threads() // jobs) if device.type == "cpu" else 1
    running: dict[Future[None], tuple[str, ProcessPoolExecutor]] = {}
    left = list(work.items())
    try:
        while left or running:
            while left and len(running) < jobs:
                name, do = left.pop(0)
                apart = ProcessPoolExecutor(1, _SPAWN, initializer=torch.set_num_threads, initargs=(threads,))
                running[apart.submit(_quietly, do)] = name, apart
            done = len(work) - len(left) - len(running)
            tell(f"{', '.join(name for name, _ in running.values())} ({done} of {len(work)} done)")
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                future.result()
                _, apart = running.pop(future)
                apart.shutdown()  # and its memory on the GPU is free again
    finally:
        if running:
            for process in multiprocessing.active_children():
                process.terminate()  # what it has done until its last checkpoint is kept
        for _, apart in running.values():
            apart.shutdown(cancel_futures=True)


def _quietly(do: Callable[[], Any]) -> None:
    """What it returns (a whole folder, it may be) is on disk, and stays in this process, which does not outlive the
    one that asked."""
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    do()


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
