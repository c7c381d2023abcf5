"""The cost analysis."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from brgcn.bench import figure
from brgcn.experiments.cost import PAPER, VARIED, exponent_texts
from brgcn.experiments.kept import all_results
from brgcn.experiments.pages.markdown import made_with, table

HEAD = """
# Cost

`brgcn reproduce cost`: exponents of time and peak memory of one layer, forward and backward, on random graphs, as one
quantity grows and the others stay (1: proportional, 0: does not matter; * from fewer points, because the layer failed
at some size). Ours are our own operators, HAN and GAT PyG's layers. The paper's complexity is for the computation of
one node; d and d' are the widths before and after, P meta-paths, V_P their nodes, K heads.
"""


def section(results: Path) -> str:
    files = _measured(results)
    text = HEAD if files else ""
    for result in files:
        made = result["environment"]
        where = f"{made['cpus']} CPU cores" if _kind(result) == "cpu" else made["device"]
        text += f"\n## {where}\n\nMade with {made_with([made])}.\n\n"
        text += f"![Growth of time and memory](../results/cost/{_kind(result)}.png)\n\n"
        head = ["model", *(f"time, {name} {letter}" for letter, name in VARIED.items()), "paper: time"]
        head += [*(f"memory, {name} {letter}" for letter, name in VARIED.items()), "paper: memory"]
        lines = []
        for model, (_, time, memory) in PAPER.items():
            shown = {measure: exponent_texts(result, model, measure) for measure in ("ms", "peak_bytes")}
            lines.append([model, *shown["ms"], time, *shown["peak_bytes"], memory])
        text += table(head, lines)
    return text


def figures(results: Path) -> None:
    for result in _measured(results):
        figure.draw(result, results / "cost" / f"{_kind(result)}.png")


def _measured(results: Path) -> list[dict[str, Any]]:
    return [result for result in all_results(results / "cost") if not result["quick"]]


def _kind(result: dict[str, Any]) -> str:
    return "cpu" if result["environment"]["device"] == "cpu" else "cuda"
