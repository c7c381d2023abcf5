"""What a layer of each model costs, in time and memory, as nodes, edges, relations and width grow.

The paper gives two tables of complexity (its section "Theoretical Analysis"); here the exponents are measured: the
slope of a line through the points on logarithmic axes, forward and backward of one layer on random graphs, one quantity
varied while the others stay. An exponent of 1 means proportional, 0 that it does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from brgcn.bench.contender import Contender
from brgcn.bench.growth import Point, Series, growth_rows
from brgcn.bench.memory import cheap_collection
from brgcn.bench.ours import ours
from brgcn.bench.pyg_layers import single
from brgcn.bench.rows import Bench, Row
from brgcn.bench.timing import QUICK, Budget, copy_rate
from brgcn.tasks.environment import environment

VARIED = {"N": "nodes", "E": "edges", "R": "relations", "d": "width"}
# model of the paper: the layer that is measured for it, the paper's complexity of time and of memory
PAPER = {
    "brgcn": ("brgcn", "O(d²) + O(|R_i| · |N_i^r| · d)", "O(|R_i| · d)"),
    "brgcn-node": ("brgcn-node", "O(|R_i| · |N_i^r| · d' · d)", "O(|R_i| · d' · d)"),
    "brgcn-relation": ("brgcn-relation", "O(|R_i| · |N_i^r| · d' · d)", "O(d')"),
    "rgcn": ("rgcn", "O(|R_i| · |N_i^r|² · d' · d)", "O(|R_i| · d' · d)"),
    "han": ("HANConv", "O(P · d) + O(|V_P| · d³)", "O(d · (K + |R|))"),
    "gat": ("GATConv", "O(K · |N_i^r| · d²)", "O(d · (K + |R_i|))"),
}
POINTS = 4  # of each series


def _times(number: int, factor: int, step: int) -> int:
    return round(number * float(factor) ** step)


def series(scale: int, relations: int, width: int, points: int = POINTS) -> Series:
    """``scale`` nodes and five edges for each in the middle; what varies doubles (relations: triple) each time."""
    edges = 5 * scale
    steps = range(-points // 2 + 1, points // 2 + 1)
    return {
        "N": [Point(edges, relations, width, _times(scale, 2, step)) for step in steps],
        "E": [Point(_times(edges, 2, step), relations, width, scale) for step in steps],
        "R": [Point(edges, max(1, _times(relations, 3, step)), width, scale) for step in steps],
        "d": [Point(edges, relations, _times(width, 2, step), scale) for step in steps],
    }


SERIES = {"cpu": series(20_000, 30, 32), "cuda": series(400_000, 30, 64)}
QUICK_SERIES = series(100, 4, 8, points=2)


def measure_cost(
    device: torch.device | str = "cpu",
    *,
    budget: Budget | None = None,
    quick: bool = False,
    tell: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Rows as ``brgcn bench`` has them, and the exponents; can be written as JSON."""
    device = torch.device(device)
    rate = copy_rate(device, 1 << 24 if quick else None)
    bench = Bench(device, budget or (QUICK if quick else Budget()), rate, tell, device.type == "cpu" and not quick)
    with cheap_collection():
        rows = growth_rows(contenders(), QUICK_SERIES if quick else SERIES[device.type], bench)
    return {
        "environment": environment(device),
        "quick": quick,
        "copy_rate_gb_s": rate / 1e9,
        "growth": rows,
        "exponents": exponents(rows),
    }


def contenders() -> list[Contender]:
    return [single(layer) if layer.endswith("Conv") else ours(layer, None) for layer, _, _ in PAPER.values()]


def exponents(rows: Sequence[Row]) -> dict[str, dict[str, dict[str, float | None]]]:
    """For each model of the paper: of ``ms`` and ``peak_bytes``, by the letter of what varies."""
    found: dict[str, dict[str, dict[str, float | None]]] = {}
    for model, (layer, _, _) in PAPER.items():
        found[model] = {}
        for measure in ("ms", "peak_bytes"):
            found[model][measure] = {
                letter: slope(
                    [(row[key], row[measure]) for row in rows if (row["layer"], row["varies"]) == (layer, letter)]
                )
                for letter, key in VARIED.items()
            }
    return found


def exponent_texts(result: Mapping[str, Any], model: str, measure: str) -> list[str]:
    """As they are shown, by what varies; with a star where the layer failed at some size and the others had to do."""
    texts = []
    for letter, value in result["exponents"][model][measure].items():
        rows = [r for r in result["growth"] if (r["layer"], r["varies"]) == (PAPER[model][0], letter)]
        star = "*" if any(row[measure] is None for row in rows) else ""
        texts.append("–" if value is None else f"{value:.2f}{star}")
    return texts


def slope(points: Sequence[tuple[float, float | None]]) -> float | None:
    """Of the line through the points on logarithmic axes, by least squares; None with fewer than two."""
    logs = [(math.log(x), math.log(y)) for x, y in points if y]
    if len({x for x, _ in logs}) < 2:
        return None
    mean_x, mean_y = (sum(values) / len(logs) for values in zip(*logs, strict=True))
    above = sum((x - mean_x) * (y - mean_y) for x, y in logs)
    return float(above / sum((x - mean_x) ** 2 for x, _ in logs))
