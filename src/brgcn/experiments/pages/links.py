"""Link prediction: the tables, and the time of ranking."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from brgcn.experiments import link_figure
from brgcn.experiments.kept import all_results
from brgcn.experiments.link_report import report
from brgcn.experiments.link_table import DEFAULT_ROWS, EVERY
from brgcn.experiments.pages.markdown import percent, table
from brgcn.experiments.paper_links import MEASURES

HEAD = """
# Link prediction

`brgcn reproduce links`: measures on test in percent, filtered unless raw, ties counted as their mean rank; in brackets
the paper's figure. `rules` are inverse and duplicate relations with their confidence in training; a decoder's name
alone is an embedding; `encoder:decoder` an auto-encoder, on the true message graph or another one (@);
`encoder+decoder` the paper's ensemble, 0.4 of the auto-encoder with DistMult and 0.6 of an embedding trained by itself.
A regime whose name ends in `-cpu` has settings of its own for a machine without a GPU: shorter vectors, mostly scores
against a sample of the entities. *epochs* is where the weights are from, *train s* the seconds of all epochs and their
validation; most rows shared their machine with others meanwhile. Rows that are not there are not measured yet.
"""


FEWEST = 4  # rows that are worth a picture


def figures(results: Path) -> None:
    for key, rows in _grouped(_cells(results)).items():
        if len(rows) >= FEWEST:
            link_figure.draw(rows, results / "links" / _figure(*key))


def section(results: Path) -> str:
    cells, text = _cells(results), HEAD
    if not cells:
        return ""
    for (data, regime), mine in _grouped(cells).items():
        text += f"\n## {data}\n\n" if regime == EVERY else f"\n## {data}, regime {regime}\n\n"
        if len(mine) >= FEWEST:
            text += f"![{data}, {regime}](../results/links/{_figure(data, regime)})\n\n"
        head = ["row", "n", "valid MRR", "raw MRR", "MRR", "hits@1", "hits@3", "hits@10", "epochs", "train s", "remark"]
        lines = []
        for row in mine:
            paper = row["paper"]
            shown = [percent(row[name]) + (f" ({100 * paper[name]:.1f})" if paper else "") for name in MEASURES]
            cost = [f"{row[name]:.0f}" if row[name] is not None else "–" for name in ("epochs", "seconds")]
            lines.append([row["row"], str(row["n"]), percent(row["valid_mrr"]), *shown, *cost, row["remark"]])
        text += table(head, lines) + _ranked(cells, data)
        text += _made([cell for cell in cells if cell["dataset"] == data and cell["regime"] == regime != EVERY])
    return text + _ranking(results)


def _ranked(cells: list[dict[str, Any]], data: str) -> str:
    """How the ranks of a data set were made, where a row says it."""
    for cell in cells:
        if cell["dataset"] == data and "filter" in cell:
            unseen = cell["with_unseen_entities"]["test"]
            whole = f"Filtered by the triples of {', '.join(cell['filter'])}"
            if unseen:
                whole += (
                    f"; {unseen} test triples have an entity that training never saw, and are ranked like all others"
                )
            return f"\n{whole}.\n"
    return ""


def _cells(results: Path) -> list[dict[str, Any]]:
    places = {name: place for place, name in enumerate(DEFAULT_ROWS)}
    cells = all_results(results / "links")
    return sorted(cells, key=lambda cell: (cell["dataset"], cell["regime"], places.get(cell["row"], len(places))))


def _grouped(cells: list[dict[str, Any]]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """(data set, regime) -> its rows, those of every regime in each."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    rows = report(cells)
    for row in rows:
        groups.setdefault((row["dataset"], row["regime"]), []).append(row)
    for data, regime in list(groups):
        if regime != EVERY and (data, EVERY) in groups:
            groups[data, regime] = groups[data, EVERY] + groups[data, regime]
    trained = {data for data, regime in groups if regime != EVERY}
    return {key: mine for key, mine in groups.items() if key[1] != EVERY or key[0] not in trained}


def _figure(data: str, regime: str) -> str:
    return f"{data}-{regime}.png"


def _made(cells: list[dict[str, Any]]) -> str:
    """One command for all rows of a table that were made on the same device with as many runs; that of each is in its
    file."""
    alike: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for cell in cells:
        alike.setdefault((cell["environment"]["device"], len(cell["runs"])), []).append(cell)
    text = ""
    for (where, runs), mine in alike.items():
        device = "cpu" if where == "cpu" else "cuda"
        regime = mine[0]["regime"].removesuffix(f"-{device}")
        command = f"brgcn reproduce links --datasets {mine[0]['dataset']} --regime {regime} --device {device}"
        command += f" --runs {runs}" if runs > 1 else ""
        command += f" --rows {','.join(cell['row'] for cell in mine)}"
        text += f"\nMade on {where}; this makes such rows: `{command}`.\n"
    return text


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
