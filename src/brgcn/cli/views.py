"""Results as tables for people; accuracies in percent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table

from brgcn.explain.names import short_name

if TYPE_CHECKING:
    from brgcn.explain import Explanation
    from brgcn.explain.explanation import NodeExplanation
    from brgcn.tasks.use import Predictions


def percent(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{100 * value:.{digits}f}"


def result_table(result: dict[str, Any]) -> Table:
    """One line per run and their summary."""
    splits = list(result["splits"])
    table = Table(title=f"{result['dataset']} · {result['model']} · {result['preset']}", title_justify="left")
    for column in ("run", "seed", *(f"{split} accuracy %" for split in splits), "epochs", "ms per epoch"):
        table.add_column(column, justify="right")
    for number, run in enumerate(result["runs"]):
        seconds = run["seconds_per_epoch"]
        table.add_row(
            str(number),
            str(run["seed"]),
            *(percent(run[f"{split}_accuracy"]) for split in splits),
            str(run["epochs"]),
            "–" if seconds is None else f"{1000 * seconds:.1f}",
        )
    if len(result["runs"]) > 1:
        table.add_section()
        for label, key in (("mean", "mean"), ("sd", "std"), ("s.e.", "sem")):
            table.add_row(label, "", *(percent(result[f"{split}_accuracy"][key]) for split in splits), "", "")
    return table


def evaluation_table(result: dict[str, Any]) -> Table:
    splits = [key.removesuffix("_accuracy") for key in result if key.endswith("_accuracy")]
    table = Table(title=f"{result['dataset']} · {result['model']} · {result['preset']}", title_justify="left")
    table.add_column("run", justify="right")
    for split in splits:
        table.add_column(f"{split} accuracy %", justify="right")
        table.add_column(f"{split} macro-F1 %", justify="right")
    for run in result["runs"]:
        cells = [percent(run[split][measure]) for split in splits for measure in ("accuracy", "macro_f1")]
        table.add_row(str(run["run"]), *cells)
    if len(result["runs"]) > 1:
        table.add_section()
        means = [
            percent(result[f"{split}_{measure}"]["mean"]) for split in splits for measure in ("accuracy", "macro_f1")
        ]
        table.add_row("mean", *means)
    return table


def confusion_table(result: dict[str, Any], split: str) -> Table:
    """Added up over the runs: rows are labels, columns predictions."""
    classes = [short_name(name, 32) for name in result["classes"]]
    table = Table(title=f"confusion on {split}, all runs (rows: label, columns: predicted)", title_justify="left")
    table.add_column("")
    for name in classes:
        table.add_column(name, justify="right")
    matrices = [run[split]["confusion"] for run in result["runs"]]
    for row, name in enumerate(classes):
        cells = [str(sum(matrix[row][column] for matrix in matrices)) for column in range(len(classes))]
        table.add_row(name, *cells)
    return table


def prediction_lines(predictions: Predictions) -> tuple[list[str], list[list[str]]]:
    header = ["node", "predicted", *predictions.classes]
    rows = [
        [row["node"], row["predicted"], *(f"{row['probability'][name]:.4f}" for name in predictions.classes)]
        for row in predictions.rows()
    ]
    return header, rows


def node_table(node: NodeExplanation) -> Table:
    """What one node looks at, its strongest neighbours beside each relation."""
    title = f"{node.name}: predicted {short_name(node.predicted)} ({percent(node.probability, 0)} %)"
    table = Table(title=title, title_justify="left")
    table.add_column("relation")
    table.add_column("attention %", justify="right")
    table.add_column("strongest neighbours (attention inside the relation %)")
    for row in node.relations:
        shown = [f"{short_name(n.name, 30)} {percent(n.attention, 0)}" for n in row.neighbours[:3]]
        more = len(row.neighbours) - len(shown)
        neighbours = ", ".join(shown) + (f", {more} more" if more else "")
        table.add_row(short_name(row.name), percent(row.attention, 1), neighbours)
    return table


def relation_table(explanation: Explanation) -> Table:
    table = Table(title=explanation.title, title_justify="left")
    table.add_column("relation")
    table.add_column("nodes", justify="right")
    table.add_column("attention received %", justify="right")
    table.add_column("compared with uniform", justify="right")
    for row in explanation.relations[:20]:
        table.add_row(short_name(row.name), str(row.nodes), percent(row.attention, 1), f"{row.lift:.2f}×")
    return table
