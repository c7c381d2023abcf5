"""Tables as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "".join(_line(cells) for cells in (head, ["---"] * len(head), *rows))


def made_with(environments: Iterable[dict[str, Any]]) -> str:
    """Command (or, where there was none, the script) and machine, each once."""
    said = (
        f"{'`' + made['command'] + '`' if made['command'] else made.get('script', 'a script')} "
        f"({made['device']}, torch {made['packages']['torch']})"
        for made in environments
    )
    return "; ".join(sorted(set(said)))


def percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.2f}"


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"
