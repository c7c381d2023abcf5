"""The ablation from its files: a table, and a figure with three curves per model."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from brgcn.experiments.ablation import MODELS, ORDERS, STEPS, Cut
from brgcn.experiments.kept import all_results
from brgcn.figures import BLUE, GREY, ORANGE, heading, new_figure, save, with_grid

# The paper's table "Test Accuracy (%) achieved from the top x% attention relations for the AM dataset".
PAPER_TOP = {
    "han": (84.32, 88.55, 90.68),
    "rgcn": (83.61, 88.47, 89.29),
    "gat": (75.25, 81.90, 88.52),
    "brgcn-node": (85.38, 87.63, 89.45),
    "brgcn-relation": (84.97, 88.89, 90.52),
    "brgcn": (85.91, 89.19, 92.55),
}
TOP = (1, 5, 10)
STYLES = {"highest": (BLUE, "o"), "random": (GREY, "s"), "lowest": (ORANGE, "v")}


def cut_results(folder: Path, dataset: str, by: str) -> list[dict[str, Any]]:
    """All models that were measured on the cuts of a data set."""
    return [r for r in all_results(folder) if (r["dataset"], r.get("by")) == (dataset, by)]


def gain_text(gain: dict[str, float | None] | None) -> str:
    """In percent."""
    if gain is None or gain["mean"] is None:
        return "–"
    return f"{100 * gain['mean']:+.2f}" + ("" if gain["sem"] is None else f" ± {100 * gain['sem']:.2f}")


def whole_draws(result: dict[str, Any]) -> list[int]:
    """The random orders that were measured at every step, so that steps can be compared; if none was, those begun."""
    keys = result["accuracy"].keys()
    begun = sorted({int(key.rsplit("-", 1)[1]) for key in keys if key.startswith("random")})
    return [d for d in begun if all(Cut("random", step, d).key in keys for step in range(1, STEPS))] or begun


def curves(result: dict[str, Any]) -> dict[str, list[list[float]]]:
    """For each order the accuracies at every step, runs (and draws) together; empty where nothing was measured yet."""
    found: dict[str, list[list[float]]] = {}
    for order in ORDERS:
        numbers = whole_draws(result) if order == "random" else [0]
        keys = [[Cut(order, step, draw).key for draw in numbers] or ["all"] for step in range(1, STEPS + 1)]
        found[order] = [
            [value for key in dict.fromkeys(of_step) for value in result["accuracy"].get(key, [])] for of_step in keys
        ]
    return found


def report(results: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """A row per model: accuracy with the top 10, 50 and 100 % of the relation types, mean over the steps from 10 to
    90 % for each order, and what leaving out the least important tenth, half and nine tenths gains, with the standard
    error of that over the seeds."""
    rows = []
    for result in sorted(results, key=lambda r: (r["dataset"], r["by"], MODELS.index(r["model"]))):
        of = {order: [_mean(values) for values in steps] for order, steps in curves(result).items()}
        top = of["highest"]
        row: dict[str, Any] = {name: result[name] for name in ("dataset", "model", "by", "runs")}
        row["draws"] = len(whole_draws(result))
        row["top"] = {f"{100 * step // STEPS}": top[step - 1] for step in TOP}
        row["paper_top"] = dict(zip(row["top"], (value / 100 for value in PAPER_TOP[result["model"]]), strict=True))
        row["mean_over_steps"] = {order: _mean([v for v in steps[:-1] if v is not None]) for order, steps in of.items()}
        everything = result["accuracy"].get("all", [])
        row["gain"] = {
            f"{100 * step // STEPS}": _gain(result["accuracy"].get(Cut("highest", step).key, []), everything)
            for step in (9, 5, 1)
        }
        rows.append(row)
    return rows


def draw(results: Sequence[dict[str, Any]], path: Path) -> Path:
    """A PNG with a panel per model of one data set."""
    results = sorted(results, key=lambda r: MODELS.index(r["model"]))
    columns = min(3, len(results))
    lines = -(-len(results) // columns)
    figure = new_figure(4.4 * columns, 3.4 * lines + 0.6)
    panels = figure.subplots(lines, columns, squeeze=False, sharex=True, sharey=True)
    for place, axes in enumerate(panels.flat):
        if place >= len(results):
            axes.set_visible(False)
            continue
        _panel(axes, results[place])
        if place + columns >= len(results):  # nothing stands below it
            axes.tick_params(labelbottom=True)
            axes.set_xlabel("relation types kept, %")
    for line in panels:
        line[0].set_ylabel("test accuracy, %")
    first = results[0]
    heading(
        figure,
        f"{first['dataset']}: relation types kept by the {first['by']} they receive in BR-GCN "
        f"({first['runs']} runs; random: mean and range over draws and runs)",
    )
    return save(figure, path)


def _panel(axes: Any, result: dict[str, Any]) -> None:
    for order, steps in curves(result).items():
        color, marker = STYLES[order]
        points = [(10 * step, values) for step, values in enumerate(steps, 1) if values]
        if not points:
            continue
        x = [share for share, _ in points]
        axes.plot(
            x, [100 * statistics.fmean(v) for _, v in points], color=color, marker=marker, ms=4, lw=1.6, label=order
        )
        if order == "random":
            low, high = ([100 * pick(v) for _, v in points] for pick in (min, max))
            axes.fill_between(x, low, high, color=color, alpha=0.15, linewidth=0)
    axes.set_title(result["model"], fontsize=10, loc="left")
    with_grid(axes)
    axes.legend(fontsize=8, frameon=False, loc="lower right")


def _gain(cut: Sequence[float], everything: Sequence[float]) -> dict[str, float | None] | None:
    """Mean and standard error of the differences, seed by seed."""
    differences = [one - other for one, other in zip(cut, everything, strict=False)]
    if not differences:
        return None
    sem = statistics.stdev(differences) / math.sqrt(len(differences)) if len(differences) > 1 else None
    return {"mean": statistics.fmean(differences), "sem": sem}


def _mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None
