# mypy: ignore-errors
"""Kernels on several threads.

A kernel is a compiled function (begin, end, ...) over a range of independent rows; it releases Python's lock, so plain
threads are enough. Numba's own threads are not used: their default pool must not be entered by two threads at once, as
a service does, and compiling for them takes many times longer.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np
import torch

SMALL = 4096  # rows or entries that are not worth waking another thread
_pools: dict[int, ThreadPoolExecutor] = {}
_making = threading.Lock()

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
compiled = numba.njit(
    nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract", "arcp", "nsz"}, boundscheck=False
)


@compiled
def numbers(like):
    """0 and 1 in the type of an array's elements: plain constants would widen a float32 kernel to float64."""
    return np.zeros(1, like.dtype)[0], np.ones(1, like.dtype)[0]


def thread_count() -> int:
    return _threads or torch.get_num_threads()


def over_rows(kernel: Callable[..., None], rows: int, *args: Any, work: int | None = None) -> None:
    """kernel(begin, end, *args) for parts of 0..rows of equal length; ``work``: how much there is to do in all."""
    parts = _parts(work if work is not None else rows)
    _run(kernel, [rows * part // parts for part in range(parts + 1)], args)


def over_segments(kernel: Callable[..., None], ptr: np.ndarray, *args: Any) -> None:
    """kernel(begin, end, *args) for parts of the segments of ``ptr`` [S + 1] with equally many entries."""
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
    return max(1, min(thread_count(), work // SMALL))


def _run(kernel: Callable[..., None], bounds: list[int], args: tuple[Any, ...]) -> None:
    parts = len(bounds) - 1
    if parts == 1:
        kernel(bounds[0], bounds[1], *args)
        return
    pool = _pool(parts - 1)
    others = [pool.submit(kernel, bounds[part], bounds[part + 1], *args) for part in range(1, parts)]
    kernel(bounds[0], bounds[1], *args)
    for other in others:
        other.result()


def _pool(size: int) -> ThreadPoolExecutor:
    with _making:
        if size not in _pools:
            _pools[size] = ThreadPoolExecutor(size, thread_name_prefix="brgcn")
        return _pools[size]
