"""Where to compute."""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections.abc import Iterator

import torch

from brgcn.errors import BrgcnError
from brgcn.ops.backend import backend_for, fused_threads


def pick_device(name: str) -> torch.device:
    """``auto`` is CUDA where there is one, else the CPU."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        device = None
    if device is None or device.type not in ("cpu", "cuda"):
        raise BrgcnError(f"unknown device {name!r}", remedy="Use auto, cpu or cuda.")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count() > 0:
        last = torch.cuda.device_count() - 1
        raise BrgcnError(f"there is no CUDA device {device.index}", remedy=f"They are numbered from 0 to {last}.")
    if device.type == "cuda" and not torch.cuda.is_available():
        raise BrgcnError(
            "no CUDA device can be used here", remedy="Use --device cpu, or install a CUDA build of torch."
        )
    return device


@contextlib.contextmanager
def threads(count: int, *, products: bool = False) -> Iterator[None]:
    """Compute with ``count`` threads.

    With fused operators they are the operators' own, and torch keeps to one: what is left to it is small, and its idle
    threads would spin on the cores that the operators need. Not so where large ``products`` are most of the work, as in
    link prediction.
    """
    before = torch.get_num_threads()
    fused = backend_for(torch.empty(0)) == "numba"
    torch.set_num_threads(1 if fused and not products else count)
    try:
        with fused_threads(count) if fused else contextlib.nullcontext():
            yield
    finally:
        torch.set_num_threads(before)


def keep_freed_memory() -> None:
    """Ask the C library to keep what is freed for the next epoch.

    By default glibc hands large blocks back to the system at once, and fetching them again page by page costs a
    quarter of an epoch on the CPU. This concerns the whole process, so only whole training runs ask for it.
    """
    if sys.platform != "linux":
        return
    m_trim_threshold, m_mmap_threshold = -1, -3
    with contextlib.suppress(OSError, AttributeError):  # another C library
        library = ctypes.CDLL(None)
        library.mallopt(m_mmap_threshold, 1 << 30)
        library.mallopt(m_trim_threshold, (1 << 31) - 1)
