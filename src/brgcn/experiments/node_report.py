"""The node table from its cells: what was measured, what the paper says, and whether differences mean anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from brgcn.experiments.node_table import ROWS, Cell
from brgcn.experiments.paper_nodes import paper_figure, remark
from brgcn.experiments.statistics import items_p_value, resplits_p_value, shared_errors
from brgcn.nn import MODELS
from brgcn.tasks.metrics import summary

REFERENCE = "brgcn"


def report(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """One row per cell, by data set and in the order of ``ROWS``; accuracies are fractions, p-values against BR-GCN."""
    order = {name: place for place, name in enumerate(ROWS)}
    cells = sorted(cells, key=lambda cell: (cell["dataset"], cell["preset"], order.get(cell["model"], len(order))))
    of = {(cell["dataset"], cell["preset"], cell["model"]): cell for cell in cells}
    rows = []
    for cell in cells:
        reference = of.get((cell["dataset"], cell["preset"], REFERENCE))
        rows.append(_row(cell, reference if reference is not cell else None))
    return rows


def common_ground(cells: Sequence[Cell]) -> tuple[int, int, int] | None:
    """Test items that all models of the frame get right, and get wrong, and all items; None with fewer than two."""
    ours = [cell["benchmark"]["right"] for cell in cells if cell["model"] in MODELS and cell["benchmark"] is not None]
    if len(ours) < 2:
        return None
    return shared_errors([_booleans(runs) for runs in ours])


def _booleans(runs: Sequence[str]) -> list[list[bool]]:
    return [[item == "1" for item in run] for run in runs]


def _row(cell: Cell, reference: Cell | None) -> dict[str, Any]:
    figure = paper_figure(cell["model"], cell["dataset"])
    row: dict[str, Any] = {name: cell[name] for name in ("dataset", "model", "preset")}
    row["test_items"] = cell["items"].get("test")
    row["paper"] = None if figure is None else figure[0] / 100
    said = [remark(cell["model"], cell["dataset"]), *sorted(set(cell.get("errors", {}).values()))]
    row["remark"] = "; ".join(text for text in said if text)
    for part in ("benchmark", "resplits"):
        measured = cell[part]
        row[part] = None
        if measured is not None:
            row[part] = {**summary(measured["accuracy"]), "raw": measured["accuracy"], "p": None}
            if reference is not None and reference[part] is not None:
                row[part]["p"] = _p_value(part, reference[part], measured)
    return row


def _p_value(part: str, reference: Cell, measured: Cell) -> float:
    if part == "benchmark":
        return items_p_value(_booleans(reference["right"]), _booleans(measured["right"]))
    n = min(len(reference["accuracy"]), len(measured["accuracy"]))  # the first n splits are the same
    return resplits_p_value(reference["accuracy"][:n], measured["accuracy"][:n], measured["test_share"])
