"""Rows of the tables of link prediction, the paper's figures beside ours."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from brgcn.errors import DataError
from brgcn.experiments.kept import REMEDY
from brgcn.experiments.link_table import PLAIN, LinkRow, kept_file, kept_parts, made_as_today
from brgcn.experiments.paper_links import MEASURES, paper_row, remark
from brgcn.tasks.metrics import summary
from brgcn.tasks.rank_metrics import check_measures

CHOSEN = ", chosen on valid"


def report(cells: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row per cell: mean over its runs of each measure on test, the MRR on valid, the paper's row and a remark.
    Before an ensemble come those of its parts that have no row of their own in its table."""
    cells = list(cells)
    there = {(cell["dataset"], cell["regime"], cell["row"]) for cell in cells}
    rows = []
    for cell in cells:
        _check(cell)
        row = LinkRow.parse(cell["row"])
        for place, (part, regime) in enumerate(kept_parts(cell)):
            name = part.name if regime == cell["regime"] else f"{part.name} ({regime})"
            if (cell["dataset"], cell["regime"], name) not in there:
                there.add((cell["dataset"], cell["regime"], name))
                rows.append(_other_row(cell, name, [run["components"][place] for run in cell["runs"]], part))
        rows.append(_row(cell, cell["row"], [run["test"] for run in cell["runs"]], row))
        tuned = [run["chosen_on_valid"] for run in cell["runs"] if "chosen_on_valid" in run]
        if tuned:
            kinds = ", ".join(f"{one['kind']} {one['beta']:.2f}" for one in tuned)
            rows.append(_other_row(cell, f"{cell['row']}{CHOSEN} ({kinds})", tuned, None))
    return rows


def _check(cell: dict[str, Any]) -> None:
    """Files are kept long, and people change them."""
    for run in cell["runs"]:
        for measured in (run["valid"], run["test"]):
            for measures in measured.values():
                try:
                    check_measures(measures)
                except DataError as error:
                    raise DataError(error.message, where=kept_file(cell), remedy=REMEDY) from None


def _other_row(cell: dict[str, Any], name: str, found: list[dict[str, Any]], row: LinkRow | None) -> dict[str, Any]:
    """Of something else that the cell has for each of its runs."""
    made = _row(cell, name, [one["test"] for one in found], row)
    return {**made, "valid_mrr": _mean([one["valid"]["filtered"]["mrr"] for one in found])}


def _row(cell: dict[str, Any], name: str, tests: list[dict[str, Any]], row: LinkRow | None) -> dict[str, Any]:
    measured = {
        "raw mrr": _mean([test["raw"]["mrr"] for test in tests]),
        **{name: _mean([test["filtered"][name] for test in tests]) for name in MEASURES[1:]},
    }
    encoder, embedding = _as_the_paper_calls_it(row)
    return {
        "dataset": cell["dataset"],
        "regime": cell["regime"],
        "row": name,
        "n": len(tests),
        "valid_mrr": _mean([run["valid"]["filtered"]["mrr"] for run in cell["runs"]]),
        **measured,
        "epochs": _mean_of(cell, "best_epoch"),
        "seconds": _mean_of(cell, "seconds"),
        "mrr_spread": summary([test["filtered"]["mrr"] for test in tests]),
        **{name: cell[name] for name in ("filter", "splits", "with_unseen_entities") if name in cell},
        "paper": paper_row(encoder, embedding, cell["dataset"]),
        "remark": "; ".join(filter(None, (remark(encoder, embedding, cell["dataset"]), _age(cell)))),
    }


def _mean_of(cell: dict[str, Any], name: str) -> float | None:
    """Over the runs; an ensemble and rules have neither epochs nor seconds."""
    values = [run[name] for run in cell["runs"] if name in run]
    return _mean(values) if values else None


def _age(cell: dict[str, Any]) -> str:
    return "" if made_as_today(cell) else "made with settings that have changed since"


def _as_the_paper_calls_it(row: LinkRow | None) -> tuple[str, str]:
    """Encoder and letter: an ensemble has the letter of its embedding; an auto-encoder that of its decoder in the
    other reading, and none with DistMult."""
    if row is None or row.encoder == "none" or row.graph != "true":
        return "", ""
    if row.beside:
        return (row.encoder, row.beside) if row.decoder == PLAIN else ("", "")
    return row.encoder, "" if row.decoder == PLAIN else row.decoder


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
