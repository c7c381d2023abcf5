"""The picture of an explanation: relations on the left, one node on the right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from brgcn.errors import BrgcnError
from brgcn.explain.explanation import Explanation, NodeRelation
from brgcn.explain.names import short_name
from brgcn.figures import new_figure, save, without_frame

MOST_RELATIONS = 15
MOST_NEIGHBOURS = 6
LETTERS_ACROSS = 75  # that fit side by side into the right panel
FORMATS = (".png", ".svg", ".pdf")
_ABOVE, _BELOW, _REST = "#2a6f97", "#a9c5d6", "#e3e3e3"


def draw(explanation: Explanation, path: Path) -> Path:
    if path.suffix.lower() not in FORMATS:
        raise BrgcnError(
            f"a figure cannot be written as {path.suffix or path.name!r}", remedy=f"Use {', '.join(FORMATS)}."
        )
    rows = max(len(explanation.relations[:MOST_RELATIONS]), len(explanation.node.relations[:MOST_RELATIONS]), 4)
    figure = new_figure(14, 1.8 + 0.34 * rows)
    if explanation.relations:
        left, right = figure.subplots(1, 2, width_ratios=[1, 1.15])
        _draw_relations(left, explanation)
    else:
        right = figure.subplots()
    _draw_node(right, explanation)
    return save(figure, path)


def _draw_relations(axes: Any, explanation: Explanation) -> None:
    rows = explanation.relations[:MOST_RELATIONS]
    names = [f"{short_name(row.name, 34)}  ({row.nodes})" for row in rows]
    lifts = [row.lift for row in rows]
    axes.barh(range(len(rows)), lifts, color=[_ABOVE if lift > 1 else _BELOW for lift in lifts])
    axes.set_yticks(range(len(rows)), names, fontsize=9)
    axes.invert_yaxis()
    axes.axvline(1, color="black", linewidth=0.8, linestyle=":")
    axes.set_xlabel("attention received, 1 = uniform attention")
    more = len(explanation.relations) - len(rows)
    ending = f", the first {len(rows)} of {len(rows) + more}" if more else ""
    axes.set_title(f"Which relations matter{ending}\n(labelled nodes that have them)", fontsize=11, loc="left")
    without_frame(axes)


def _draw_node(axes: Any, explanation: Explanation) -> None:
    node = explanation.node
    rows = node.relations[:MOST_RELATIONS]
    widths = [1.0 if row.attention is None else row.attention for row in rows]
    longest = max(widths, default=1.0)
    for place, (row, width) in enumerate(zip(rows, widths, strict=True)):
        _draw_neighbours(axes, place, row, width, LETTERS_ACROSS / longest)
    axes.set_yticks(range(len(rows)), [short_name(row.name, 30) for row in rows], fontsize=9)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.02 * longest)
    has_relation_attention = bool(rows) and rows[0].attention is not None
    axes.set_xlabel(
        "attention received by the relation" if has_relation_attention else "attention inside each relation"
    )
    label = f", label {short_name(node.label, 24)}" if node.label is not None else ""
    predicted = f"predicted {short_name(node.predicted, 24)} ({100 * node.probability:.0f} %){label}"
    legend = "(a bar is a relation, its parts are neighbours, grey: the rest)"
    heading = f"Around {short_name(node.name, 40)}: {predicted}\n{legend}"
    axes.set_title(heading, fontsize=11, loc="left")
    without_frame(axes)


def _draw_neighbours(axes: Any, place: int, row: NodeRelation, width: float, letters_per_unit: float) -> None:
    """The bar of a relation, divided among its neighbours by their attention; names stand where they fit."""
    from matplotlib import colormaps

    left = 0.0
    shown = row.neighbours[:MOST_NEIGHBOURS]
    for number, neighbour in enumerate(shown):
        part = width * neighbour.attention
        color = colormaps["Blues"](0.8 - 0.5 * number / MOST_NEIGHBOURS)
        axes.barh(place, part, left=left, color=color, edgecolor="white", linewidth=0.6)
        room = int(part * letters_per_unit)
        if room >= 6:
            text_color = "white" if number < 3 else "black"
            text = short_name(neighbour.name, min(room, 40))
            axes.text(left + part / 2, place, text, ha="center", va="center", fontsize=7, color=text_color)
        left += part
    if width - left > 1e-9:  # the other neighbours, or the node itself
        axes.barh(place, width - left, left=left, color=_REST, edgecolor="white", linewidth=0.6)
