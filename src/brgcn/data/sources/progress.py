"""A progress bar for bytes, on standard error."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Protocol


class ByteProgress(Protocol):
    """Told how many bytes are there, and of how many if that is known."""

    def __call__(self, done: int, total: int | None, /) -> None: ...


@contextlib.contextmanager
def no_progress() -> Iterator[ByteProgress]:
    """Progress that nobody watches."""
    yield lambda done, total: None


@contextlib.contextmanager
def progress_bar(title: str) -> Iterator[ByteProgress]:
    """A bar with size and speed, gone when the download ends; one line where there is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        console.print(f"downloading {title}", highlight=False)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        task = bars.add_task(title, total=None)
        yield lambda done, total: bars.update(task, completed=done, total=total)
