"""Peak memory of a piece of work, and a ceiling that turns too much of it into an error instead of a killed process."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import sys
from collections.abc import Iterator
from pathlib import Path

import torch

_STATUS, _CLEAR_REFS = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_LEFT_TO_OTHERS = 1 << 30


class PeakMemory:
    """Bytes above what was in use when it was made.

    On CUDA those that torch allocated; on the CPU the resident set of the process, where the kernel (Linux) lets its
    high-water mark be reset, else None.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        _give_back(device)
        self._before = self._in_use()

    def restart(self) -> None:
        """Forget the peak so far: it belongs to preparations. What is in use now still counts."""
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
            torch.cuda.reset_peak_memory_stats(self._device)
        elif self._before is not None:
            try:
                _CLEAR_REFS.write_text("5")
            except OSError:
                self._before = None

    def peak(self) -> int | None:
        if self._before is None:
            return None
        if self._device.type == "cuda":
            return max(0, torch.cuda.max_memory_allocated(self._device) - self._before)
        highest = _status("VmHWM")
        return None if highest is None else max(0, highest - self._before)

    def _in_use(self) -> int | None:
        if self._device.type == "cuda":
            return torch.cuda.memory_allocated(self._device)
        return _status("VmRSS")


@contextlib.contextmanager
def cheap_collection() -> Iterator[None]:
    """Garbage collection before each row looks only at what came since now: libraries hold millions of objects."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@contextlib.contextmanager
def memory_ceiling(device: torch.device) -> Iterator[None]:
    """On the CPU (Linux), allocations beyond the free memory fail, as they do on a GPU by themselves."""
    room, in_use = available_memory(), _status("VmSize")
    if device.type != "cpu" or room is None or in_use is None:
        yield
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    ceiling = in_use + max(room - _LEFT_TO_OTHERS, room // 2)
    if soft != resource.RLIM_INFINITY:
        ceiling = min(ceiling, soft)
    resource.setrlimit(resource.RLIMIT_AS, (ceiling, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def available_memory() -> int | None:
    """Bytes that can still be had: of the machine, or of the container where that is less."""
    lines = _numbers(Path("/proc/meminfo"))
    room = lines.get("MemAvailable")
    try:
        most = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        used = int(Path("/sys/fs/cgroup/memory.current").read_text())
    except (OSError, ValueError):
        return room
    if room is None or not most.isdigit():
        return room
    return max(0, min(room, int(most) - used))


def _give_back(device: torch.device) -> None:
    """What earlier work has freed, to the system, so that it does not hide what comes."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
    elif sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # not every C library has it
            ctypes.CDLL(None).malloc_trim(0)


def _status(key: str) -> int | None:
    return _numbers(_STATUS).get(key)


def _numbers(path: Path) -> dict[str, int]:
    """The lines "Name:  123 kB" of a file in /proc, in bytes."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return {}
    found = {}
    for line in lines:
        key, _, rest = line.partition(":")
        words = rest.split()
        if len(words) == 2 and words[1] == "kB":
            found[key] = int(words[0]) * 1024
    return found
