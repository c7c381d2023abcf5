"""The logs of a run folder: a line per epoch, and its seconds apart, so that metrics of two runs can be compared."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, Self

LOGS = ("metrics.jsonl", "timings.jsonl")


class RunLog:
    """``with RunLog(folder) as log:``; lines are added at the end."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._open = folder, ExitStack()

    def __enter__(self) -> Self:
        self._metrics, self._timings = (self._open.enter_context((self._folder / name).open("a")) for name in LOGS)
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def write(self, metrics: dict[str, Any], timing: dict[str, Any]) -> None:
        _line(self._metrics, metrics)
        _line(self._timings, timing)

    def sync(self) -> None:
        """On the disk before a checkpoint says how long they are."""
        for log in (self._metrics, self._timings):
            log.flush()
            os.fsync(log.fileno())


def seconds_of_runs(folder: Path) -> dict[int, list[float]]:
    """Run -> the seconds of its epochs, also of those before an interruption."""
    seconds: dict[int, list[float]] = {}
    with (folder / "timings.jsonl").open() as lines:
        for line in lines:
            record = json.loads(line)
            seconds.setdefault(record["run"], []).append(record["seconds"])
    return seconds


def _line(stream: IO[str], record: dict[str, Any]) -> None:
    stream.write(json.dumps(record) + "\n")
