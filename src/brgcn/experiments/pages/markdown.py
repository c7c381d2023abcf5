"""Tables as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "".join(_line(cells) for cells in (head, ["---"] * len(head), *rows))


def percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.2f}"


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"
