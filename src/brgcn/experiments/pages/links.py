"""Link prediction: the tables, and the time of ranking."""

from __future__ import annotations

from pathlib import Path

from brgcn.experiments.kept import all_results
from brgcn.experiments.link_report import report
from brgcn.experiments.link_table import DEFAULT_ROWS
from brgcn.experiments.pages.markdown import percent, table
from brgcn.experiments.paper_links import MEASURES

HEAD = """
# Link prediction

`brgcn reproduce links`: measures on test in percent, filtered unless raw, ties counted as their mean rank; in brackets
the paper's figure. `rules` are inverse and duplicate relations with their confidence in training; a decoder's name
alone is an embedding; `encoder:decoder` an auto-encoder, on the true message graph or another one (@);
`encoder+decoder` the paper's ensemble, 0.4 of the auto-encoder with DistMult and 0.6 of an embedding trained by itself.
Rows that are not there are not measured yet.
"""


def section(results: Path) -> str:
    cells = all_results(results / "links")
    if not cells:
        return ""
    places = {name: place for place, name in enumerate(DEFAULT_ROWS)}
    cells.sort(key=lambda cell: (cell["dataset"], cell["regime"], places.get(cell["row"], len(places))))
    rows, text = report(cells), HEAD
    for data, regime in dict.fromkeys((row["dataset"], row["regime"]) for row in rows):
        mine = [row for row in rows if (row["dataset"], row["regime"]) == (data, regime)]
        text += f"\n## {data}, regime {regime}\n\n"
        head = ["row", "n", "valid MRR", "raw MRR", "MRR", "hits@1", "hits@3", "hits@10", "remark"]
        lines = []
        for row in mine:
            paper = row["paper"]
            shown = [percent(row[name]) + (f" ({100 * paper[name]:.1f})" if paper else "") for name in MEASURES]
            lines.append([row["row"], str(row["n"]), percent(row["valid_mrr"]), *shown, row["remark"]])
        text += table(head, lines)
        made = {_made(cell) for cell in cells if (cell["dataset"], cell["regime"]) == (data, regime)}
        text += "".join(f"\nMade on {one}.\n" for one in sorted(made))
    return text + _ranking(results)


def _made(cell: dict[str, dict[str, str]]) -> str:
    where = cell["environment"]
    return f"{where['device']} with `{where['command']}`" if where["command"] else where["device"]


def _ranking(results: Path) -> str:
    measured = all_results(results / "ranking")
    if not measured:
        return ""
    lines = []
    for result in measured:
        theirs = result.get("pykeen")
        lines.append(
            [
                result["environment"]["device"],
                result["dataset"],
                f"{result['triples']:,}",
                f"{result['ours']['seconds']:.3f}",
                f"{theirs['seconds']:.3f}" if theirs else "–",
                f"{result['ratio']:.1f}×" if theirs else "–",
                f"`{result['environment']['command']}`",
            ]
        )
    head = [
        "device",
        "data",
        "test triples",
        "ours, s (raw and filtered)",
        "PyKEEN, s (filtered)",
        "ratio",
        "made with",
    ]
    return "\n## Ranking the same scores\n\n" + table(head, lines)
