"""The ablation."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

from brgcn.experiments import ablation_report
from brgcn.experiments.ablation import ORDERS
from brgcn.experiments.kept import all_results
from brgcn.experiments.pages.markdown import made_with, percent, table

HEAD = """
# Ablation

`brgcn reproduce ablation`: relation types are kept in tenths, in the order of what they receive in a trained BR-GCN,
and every model is trained anew on each cut, with the settings of the table above but literals as nodes, so that every
relation can receive attention (100 % is therefore not always the row above). Relation types that no labelled node sees
count as least important. *Highest*, *random*, *lowest*: test accuracy in percent, mean over the cuts of 10 to 90 %;
*draws* is the number of random orders.
*Gain*: top x % minus all relation types, seed by seed, with its standard error; it says whether leaving out what BR-GCN
finds unimportant helps. The paper's figures (top 10, 50, 100 %) are for AM, which could not be had.

*Lift* is the attention that a relation type receives over what uniform attention would give it. Where it is near 1
almost everywhere, the order by attention says little more than how few relation types the nodes have at which a type
occurs, and it can be worse than a random one.
"""


def section(results: Path) -> str:
    tables = _tables(results)
    text = HEAD if tables else ""
    for dataset, by in tables:
        chosen = ablation_report.cut_results(results / "ablation", dataset, by)
        text += f"\n## {dataset}, ordered by {by}\n\n"
        runs = ", ".join(sorted({str(result["runs"]) for result in chosen}))
        text += f"{runs} runs, made with {made_with(made for r in chosen for made in r['environments'])}."
        text += _lift(results / "ablation" / f"{dataset}-relations.json") + "\n\n"
        text += f"![Accuracy by relation types kept](../results/ablation/{dataset}-{by}.png)\n\n"
        text += _table(ablation_report.report(chosen))
    return text


def figures(results: Path) -> None:
    for dataset, by in _tables(results):
        chosen = ablation_report.cut_results(results / "ablation", dataset, by)
        ablation_report.draw(chosen, results / "ablation" / f"{dataset}-{by}.png")


def _tables(results: Path) -> list[tuple[str, str]]:
    found = (file for file in all_results(results / "ablation") if "accuracy" in file)
    return list(dict.fromkeys((file["dataset"], file["by"]) for file in found))


def _lift(path: Path) -> str:
    """How far attention is from uniform."""
    rows = json.loads(path.read_text())["relations"] if path.exists() else []
    seen = [row["lift"] for row in rows if row["places"]]
    if len(seen) < 2:
        return ""
    low, middle, high = statistics.quantiles(seen, n=4)
    return f" Lift of the relation types: median {middle:.2f}, half of them between {low:.2f} and {high:.2f}."


def _table(rows: list[dict[str, Any]]) -> str:
    first = rows[0]
    head = ["model", *(f"top {share} %" for share in first["top"]), "paper, AM", *ORDERS, "draws"]
    head += [f"gain at {share} %" for share in first["gain"]]
    lines = []
    for row in rows:
        paper = ", ".join(percent(value) for value in row["paper_top"].values())
        top, means = ([percent(v) for v in values] for values in (row["top"].values(), row["mean_over_steps"].values()))
        gains = [ablation_report.gain_text(gain) for gain in row["gain"].values()]
        lines.append([row["model"], *top, paper, *means, str(row["draws"]), *gains])
    return table(head, lines)
