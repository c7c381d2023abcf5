# mypy: ignore-errors
"""Kernels on several threads.

A kernel is a compiled function (bounds, ...) over independent rows: its task t computes the rows bounds[t] ..
bounds[t + 1] - 1, so that work can be shared out evenly however ragged it is. Every row has one owner, and results do
not depend on the number of threads.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np
import torch

SMALL = 4096  # rows or entries that are not worth waking another thread
_one_at_a_time = threading.Lock()  # not all of numba's pools can be entered by two threads at once, as a service does
_threads: int | None = None  # None: as many as torch uses


@contextlib.contextmanager
def kernel_threads(count: int) -> Iterator[None]:
    """Kernels compute on ``count`` threads inside, whatever torch does."""
    global _threads
    before, _threads = _threads, count
    try:
        yield
    finally:
        _threads = before


# NaN must stay NaN, so of the fast-math flags only those that reorder and contract
_OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract", "arcp", "nsz"}}


def compiled(function, **options):
    """Machine code when first called, kept on disk where there is a place for it."""
    try:
        return numba.njit(cache=True, **_OPTIONS, **options)(function)
    except RuntimeError:  # neither the package's folder nor the user's cache can be written to
        return numba.njit(**_OPTIONS, **options)(function)


def parallel_compiled(function):
    return compiled(function, parallel=True)


@compiled
def numbers(like):
    """0 and 1 in the type of an array's elements: plain constants would widen a float32 kernel to float64."""
    return np.zeros(1, like.dtype)[0], np.ones(1, like.dtype)[0]


def thread_count() -> int:
    return _threads or torch.get_num_threads()


def over_rows(kernel: Callable[..., None], rows: int, *args: Any, work: int | None = None) -> None:
    """kernel(bounds, *args) for parts of 0..rows of equal length; ``work``: how much there is to do in all."""
    parts = _parts(work if work is not None else rows)
    _run(kernel, [rows * part // parts for part in range(parts + 1)], args)


def over_segments(kernel: Callable[..., None], ptr: np.ndarray, *args: Any) -> None:
    """kernel(bounds, *args) for parts of the segments of ``ptr`` [S + 1] with equally many entries."""
    segments, entries = len(ptr) - 1, int(ptr[-1])
    parts = _parts(entries + segments)
    weight = [(entries + segments) * part // parts for part in range(1, parts)]
    # a segment counts as one entry more than it has, so that empty ones are shared out too
    inner = [_first(ptr, wanted) for wanted in weight]
    _run(kernel, [0, *inner, segments], args)


def array(tensor: torch.Tensor) -> np.ndarray:
    return (tensor.detach() if tensor.requires_grad else tensor).numpy()


def _first(ptr: np.ndarray, wanted: int) -> int:
    """The first segment s with ptr[s] + s >= wanted."""
    low, high = 0, len(ptr) - 1
    while low < high:
        middle = (low + high) // 2
        if int(ptr[middle]) + middle < wanted:
            low = middle + 1
        else:
            high = middle
    return low


def _parts(work: int) -> int:
    return max(1, min(thread_count(), numba.config.NUMBA_NUM_THREADS, work // SMALL))


def _run(kernel: Callable[..., None], bounds: list[int], args: tuple[Any, ...]) -> None:
    with _one_at_a_time:
        _start_threads()
        numba.set_num_threads(len(bounds) - 1)
        kernel(np.array(bounds), *args)


@functools.cache
def _start_threads() -> None:
    """Where numba's threads are OpenMP's, beginning them also tells torch to use as many as there are."""
    before = torch.get_num_threads()
    numba.set_num_threads(1)
    torch.set_num_threads(before)
