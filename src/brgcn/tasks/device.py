"""Where to compute."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch

from brgcn.errors import BrgcnError


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
def threads(count: int) -> Iterator[None]:
    """Compute with ``count`` threads: sums on the CPU depend on it in their last bits."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
