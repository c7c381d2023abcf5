"""A table of link prediction as a picture: filtered MRR of every row beside what the paper says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from brgcn.experiments.link_report import CHOSEN
from brgcn.figures import BLUE, GREY, ORANGE, heading, new_figure, save, with_grid


def draw(rows: Sequence[dict[str, Any]], path: Path) -> Path:
    """``rows`` of ``link_report.report`` for one data set and regime."""
    figure = new_figure(8.2, 1.3 + 0.3 * len(rows))
    axes = figure.subplots()
    family = ""
    for place, row in enumerate(rows):
        color = BLUE if row["row"].startswith("brgcn") else GREY
        value = 100 * row["mrr"]
        axes.plot([0, value], [place, place], color=color, lw=1.2, alpha=0.4)
        axes.scatter([value], [place], s=36, color=color, zorder=3)
        if row["n"] > 1:
            error = 100 * (row["mrr_spread"]["sem"] or 0)
            axes.errorbar(value, place, xerr=error, color=color, capsize=3, lw=1.4)
        axes.annotate(
            f"{value:.1f}", (value, place), xytext=(0, 6), textcoords="offset points", ha="center", fontsize=8
        )
        if row["paper"] is not None:
            paper = 100 * row["paper"]["mrr"]
            axes.scatter([paper], [place], marker="D", s=28, facecolors="none", edgecolors=ORANGE, zorder=3)
        if family not in ("", _family(row["row"])):
            axes.axhline(place - 0.5, color="#bbbbbb", lw=0.8)
        family = _family(row["row"])
    axes.set_yticks(range(len(rows)), [_short(row["row"]) for row in rows])
    highest = max(max(row["mrr"], row["paper"]["mrr"] if row["paper"] else 0) for row in rows)
    axes.set_xlim(0, max(108 * highest, 1))
    axes.set_xlabel("filtered MRR on test, %")
    axes.invert_yaxis()
    with_grid(axes)
    last = rows[-1]  # rules, which come first, are of every regime
    heading(figure, f"{last['dataset']}, regime {last['regime']}; diamond: the paper's figure")
    return save(figure, path)


def _family(name: str) -> str:
    """Between two of which a line is drawn."""
    if "+" in name:
        return "ensemble"
    if ":" in name:
        return "auto-encoder"
    return "rules" if name == "rules" else "embedding"


def _short(name: str) -> str:
    """Without which ensemble was chosen: the table says it."""
    before, found, _ = name.partition(CHOSEN)
    return before + found
