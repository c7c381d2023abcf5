"""Time and memory of one piece of work: the median of repetitions after a warm-up, within a budget of seconds.

On CUDA time is taken by events of the device. Short work is repeated inside one measurement, so that the clock (and on
CUDA the first launch) does not count; as in training, nobody looks at a result in between.
"""

from __future__ import annotations

import contextlib
import math
import signal
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from brgcn.bench.memory import PeakMemory, memory_ceiling
from brgcn.errors import BrgcnError, is_out_of_memory

WARM_UP = 5  # calls; one more than a recorded CUDA graph needs before it is replayed
SHORTEST = 0.005  # seconds that one measurement lasts at least
MOST_INNER = 200


@dataclass(frozen=True)
class Budget:
    """How much time a row may take."""

    repeats: int = 30  # at most
    seconds: float = 5.0  # for all repetitions; at least three are made if the limit allows
    limit: float = 120.0  # after so many seconds, preparation included, a contender gives up


QUICK = Budget(repeats=3, seconds=0.1, limit=20.0)


class TookTooLong(Exception):
    """Raised inside work that exceeds its limit."""


@dataclass
class Measurement:
    """Seconds of each repetition, or why there are none."""

    seconds: list[float] = field(default_factory=list)
    peak_bytes: int | None = None
    error: str | None = None

    def row(self) -> dict[str, Any]:
        """As it stands in the JSON: milliseconds, null where there is nothing."""
        row: dict[str, Any] = {"ms": None, "ms_low": None, "ms_high": None, "repeats": len(self.seconds)}
        if self.seconds:
            low, middle, high = quartiles(self.seconds)
            row |= {"ms": 1000 * middle, "ms_low": 1000 * low, "ms_high": 1000 * high}
        row["peak_bytes"] = self.peak_bytes if self.seconds else None
        if self.error is not None:
            row["error"] = self.error
        return row


def quartiles(values: list[float]) -> tuple[float, float, float]:
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def measure(
    build: Callable[[], Callable[[], object]],
    device: torch.device,
    budget: Budget,
    *,
    warm_up: int = WARM_UP,
    inner: int | None = None,
) -> Measurement:
    """Build the work, warm it up, repeat it; what goes wrong becomes the row's error.

    ``warm_up=0`` and ``inner=1`` are for work whose first time is what counts, such as reading a file.
    """
    result = Measurement()
    memory = PeakMemory(device)
    try:
        with memory_ceiling(device), time_limit(budget.limit):
            work = build()
            if warm_up:
                work()  # compiles kernels and derives tables: not part of the work
            memory.restart()
            _repeat(work, device, budget, warm_up - 1, inner, result)
    except TookTooLong:
        if not result.seconds:
            result.error = f"took longer than {budget.limit:g} s"
    except BrgcnError:
        raise
    except Exception as error:  # whatever a library does on a graph it was not made for: the other rows still count
        first_line = next(iter(str(error).splitlines()), "")
        text = f"{type(error).__name__}: {first_line}"[:200]
        result = Measurement(error="out of memory" if is_out_of_memory(error) else text)
    if result.seconds:
        result.peak_bytes = memory.peak()
    return result


def _repeat(
    work: Callable[[], object],
    device: torch.device,
    budget: Budget,
    warm_up: int,
    inner: int | None,
    result: Measurement,
) -> None:
    estimate = 0.0
    if warm_up >= 1:
        estimate = _timed(work, 1, device)
        if estimate < budget.seconds / WARM_UP:
            for _ in range(warm_up - 1):
                work()
            estimate = _timed(work, 1, device)
    if inner is None:
        inner = min(MOST_INNER, max(1, math.ceil(SHORTEST / max(estimate, 1e-7))))
    begin = time.perf_counter()
    while len(result.seconds) < budget.repeats:
        result.seconds.append(_timed(work, inner, device))
        if len(result.seconds) >= min(3, budget.repeats) and time.perf_counter() - begin > budget.seconds:
            break


def _timed(work: Callable[[], object], inner: int, device: torch.device) -> float:
    """Seconds of one call."""
    if device.type != "cuda":
        begin = time.perf_counter()
        for _ in range(inner):
            work()
        return (time.perf_counter() - begin) / inner
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize(device)
    start.record()
    for _ in range(inner):
        work()
    end.record()
    torch.cuda.synchronize(device)
    return float(start.elapsed_time(end)) / 1000 / inner


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """``TookTooLong`` inside after so many seconds, as soon as Python has the word again; where the platform has no
    such alarm, or outside the main thread, there is no limit."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise TookTooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def copy_rate(device: torch.device, size: int | None = None) -> float:
    """Bytes per second, read and written, of a copy that is too large for any cache."""
    if size is None:
        size = 1 << 30 if device.type == "cuda" else 1 << 28
    source = torch.zeros(size // 4, device=device)
    target = torch.empty_like(source)
    for _ in range(3):
        target.copy_(source)
    seconds = statistics.median(_timed(lambda: target.copy_(source), 1, device) for _ in range(10))
    return 2 * size / seconds
