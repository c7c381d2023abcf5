"""The node table as a picture: every run, every re-split, their means, and what the paper says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from brgcn.experiments.node_report import REFERENCE
from brgcn.figures import BLUE, GREY, ORANGE, heading, new_figure, save, with_grid

PARTS = {"benchmark": "the benchmark's split, one point per seed", "resplits": "random re-splits, one point per split"}


def draw(rows: Sequence[dict[str, Any]], path: Path) -> Path:
    """``rows`` of ``report`` for one data set and preset; a panel for each part that was measured."""
    parts = [part for part in PARTS if any(row[part] for row in rows)]
    figure = new_figure(6.2 * len(parts), 1.3 + 0.36 * len(rows))
    panels = figure.subplots(1, len(parts), squeeze=False, sharey=True)[0]
    for part, axes in zip(parts, panels, strict=True):
        for place, row in enumerate(rows):
            _line(axes, place, row, part)
        _without_the_majority(axes, rows, part)
        axes.set_yticks(range(len(rows)), [row["model"] for row in rows])
        axes.set_xlabel("test accuracy, %")
        axes.set_title(PARTS[part], fontsize=10, loc="left")
        with_grid(axes)
    panels[0].invert_yaxis()
    first = rows[0]
    says = [
        f"{first['dataset']}, preset {first['preset']}: mean with its standard error,",
        f"bold where p < 0.05 against {REFERENCE}"
        + "; diamond: the paper's figure" * any(row["paper"] for row in rows),
    ]
    heading(figure, (" " if len(parts) > 1 else "\n").join(says))
    return save(figure, path)


def _without_the_majority(axes: Any, rows: Sequence[dict[str, Any]], part: str) -> None:
    """The axis is for the models; where the majority class lies far below them, only its number is shown."""
    measured = {row["model"]: row[part] for row in rows if row[part]}
    majority = measured.pop("majority", None)
    shown = [100 * value for of_model in measured.values() for value in of_model["raw"]]
    if majority is None or not shown or 100 * majority["mean"] >= min(shown):
        return
    if part == "benchmark":
        shown += [100 * row["paper"] for row in rows if row["paper"] is not None]
    margin = 0.06 * max(1.0, max(shown) - min(shown))
    axes.set_xlim(min(shown) - 2 * margin, max(shown) + margin)
    place, text = [row["model"] for row in rows].index("majority"), f"\u25c2 {100 * majority['mean']:.1f}"
    axes.text(0.01, place, text, transform=axes.get_yaxis_transform(), va="center", fontsize=8)


def _line(axes: Any, place: int, row: dict[str, Any], part: str) -> None:
    measured = row[part]
    color = BLUE if row["model"].startswith("brgcn") else GREY
    if measured is not None:
        raw = [100 * value for value in measured["raw"]]
        # equal values beside each other: most of the points of a small test set are
        spread = [
            0.3 * (raw[:number].count(value) / max(1, raw.count(value)) - 0.5) for number, value in enumerate(raw)
        ]
        axes.scatter(raw, [place + off for off in spread], s=9, color=color, alpha=0.3, linewidths=0)
        mean, error = 100 * measured["mean"], 100 * (measured["sem"] or 0)
        axes.errorbar(mean, place, xerr=error, fmt="o", ms=6, color=color, capsize=3, lw=1.6)
        differs = measured["p"] is not None and measured["p"] < 0.05
        axes.annotate(
            f"{mean:.1f}",
            (mean, place),
            xytext=(0, 7),
            textcoords="offset points",
            ha="center",
            fontsize=8,
            weight="bold" if differs else "normal",
            annotation_clip=True,
        )
    if row["paper"] is not None and part == "benchmark":
        axes.scatter([100 * row["paper"]], [place], marker="D", s=28, facecolors="none", edgecolors=ORANGE)
