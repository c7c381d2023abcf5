"""The node table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from brgcn.experiments import node_figure
from brgcn.experiments.kept import all_results
from brgcn.experiments.node_report import common_ground, report
from brgcn.experiments.pages.markdown import made_with, percent, table
from brgcn.nn import MODELS

HEAD = """
# Node classification

Accuracies in percent: mean over n, sd of one, s.e. of the mean. *Benchmark* is the split that comes with the data, n
seeds; *re-splits* are n random splits of all labels, in parts of the same sizes and the same for every model. p is that
of a paired test against BR-GCN: over the test items on the benchmark's split (more seeds do not make 36 items more than
36), over the splits with Nadeau and Bengio's correction on re-splits.

The preset `default` is what a search chose for each model; "Searches" below says with how many trials (–: with none;
its settings are a first guess then, and the row says less than the others).
"""
PARTS = {"benchmark": "benchmark", "resplits": "re-splits"}
COLUMNS = ("mean", "sd", "s.e.", "n", "p")


def section(results: Path) -> str:
    cells = all_results(results / "nodes")
    rows = report(cells)
    text = HEAD if cells else ""
    for dataset, preset in _tables(rows):
        chosen = [row for row in rows if (row["dataset"], row["preset"]) == (dataset, preset)]
        text += f"\n## {dataset}, preset `{preset}`\n\n"
        text += _facts([cell for cell in cells if (cell["dataset"], cell["preset"]) == (dataset, preset)])
        text += f"![Accuracy of each model](../results/nodes/{dataset}-{preset}.png)\n\n"
        text += _table(chosen)
        text += _shared([cell for cell in cells if (cell["dataset"], cell["preset"]) == (dataset, preset)])
    return text


def figures(results: Path) -> None:
    rows = report(all_results(results / "nodes"))
    for dataset, preset in _tables(rows):
        chosen = [row for row in rows if (row["dataset"], row["preset"]) == (dataset, preset)]
        node_figure.draw(chosen, results / "nodes" / f"{dataset}-{preset}.png")


def _shared(cells: list[dict[str, Any]]) -> str:
    """How much models can differ at all."""
    found = common_ground(cells)
    if found is None:
        return ""
    right, wrong, items = found
    models = ", ".join(MODELS)
    return (
        f"\nOf the benchmark's {items} test items, those that are right in more than four of five runs of each of "
        f"{models}: {right}; wrong in as many: {wrong}; on the other {items - right - wrong} they can differ.\n"
    )


def _tables(rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((row["dataset"], row["preset"]) for row in rows))


def _facts(cells: list[dict[str, Any]]) -> str:
    """Sizes, and what the rows were made with."""
    items = ", ".join(f"{count} {name}" for name, count in cells[0]["items"].items())
    with_what = made_with(cell[part]["environment"] for cell in cells for part in PARTS if cell[part])
    took = ", ".join(
        f"{what} {sum(cell[part]['seconds'] for cell in cells if cell[part]):,.0f} s"
        for part, what in PARTS.items()
        if any(cell[part] for cell in cells)
    )
    return f"Labels: {items}. Made with {with_what}. Time for all rows: {took}.\n\n"


def _table(rows: list[dict[str, Any]]) -> str:
    parts = [part for part in PARTS if any(row[part] for row in rows)]
    head = ["model", *(f"{PARTS[part]}: {column}" for part in parts for column in COLUMNS), "paper", "remark"]
    lines = []
    for row in rows:
        figures = [figure for part in parts for figure in _figures(row[part])]
        lines.append([row["model"], *figures, percent(row["paper"]), row["remark"]])
    return table(head, lines)


def _figures(measured: dict[str, Any] | None) -> list[str]:
    if measured is None:
        return ["–"] * len(COLUMNS)
    figures = [percent(measured[key]) for key in ("mean", "std", "sem")]
    return [*figures, str(measured["n"]), "" if measured["p"] is None else f"{measured['p']:.3f}"]
