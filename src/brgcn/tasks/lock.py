"""One writer at a time for a run folder."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from brgcn.errors import RunError


@contextlib.contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Hold the folder's lock; the system drops it when the process ends, however it ends."""
    try:
        import fcntl
    except ImportError:  # Windows: there is no such lock, and resuming a live run is the user's risk
        yield
        return
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            remedy = "Wait for it, or stop it first."
            raise RunError("another process is training here", where=str(folder), remedy=remedy) from None
        yield
