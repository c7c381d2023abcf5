"""Where words go: results to standard output, everything else to standard error."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from rich.console import Console

from brgcn.errors import BrgcnError

UNLIMITED = 240  # columns: more than any of our tables has


def stderr() -> Console:
    """Made on each use, because tests and pipes replace the streams."""
    return Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)


def stdout() -> Console:
    """For results, whose names may hold brackets and colons that mean nothing. In a pipe or a file there is no width
    that a table must be squeezed into."""
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else UNLIMITED
    return Console(highlight=False, soft_wrap=True, emoji=False, markup=False, width=width)


def say(text: str) -> None:
    stderr().print(text, markup=False)


def warn(warnings: tuple[str, ...] | list[str]) -> None:
    for text in warnings:
        stderr().print(f"[yellow]warning:[/yellow] {_escape(text)}")


def print_error(error: BrgcnError) -> None:
    where = f"{error.where}: " if error.where else ""
    console = stderr()
    console.print(f"[bold red]error:[/bold red] {_escape(where + error.message)}")
    if error.remedy:
        for line in error.remedy.splitlines():
            console.print(f"  {_escape(line)}")


def print_json(content: Any) -> None:
    print(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False))


def _escape(text: str) -> str:
    from rich.markup import escape

    return escape(text)
