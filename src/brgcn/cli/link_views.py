"""Results of link prediction as tables for people; measures in percent, ranks as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.table import Table

from brgcn.cli.views import percent

MEASURES = ("mrr", "hits@1", "hits@3", "hits@10")


def ranking_table(result: dict[str, Any]) -> Table:
    """A line per run and split, the means, and the baseline of rules where it was asked."""
    title = f"{result['dataset']} · {result['encoder']} · {result['decoder']} · {result['regime']}"
    table = Table(title=title, title_justify="left", caption=ranking_caption(result), caption_justify="left")
    for column in ("run", "split", "raw MRR %", "MRR %", "hits@1 %", "hits@3 %", "hits@10 %", "mean rank"):
        table.add_column(column, justify="left" if column == "split" else "right")
    splits = [split for split in ("valid", "test") if result.get(split)]
    for split in splits:
        for number, report in enumerate(result["runs"]):
            table.add_row(str(report.get("run", number)), split, *measured_cells(report[split]))
        if len(result["runs"]) > 1:
            table.add_row("mean", split, *measured_cells(result[split]))
        if "rules" in result:
            table.add_row("rules", split, *measured_cells(result["rules"][split]))
        table.add_section()
    if not splits:
        table.add_row("–", "no held-back triples", *["–"] * 6)
    return table


def ranking_caption(facts: dict[str, Any]) -> str:
    """How the ranks below were made."""
    caption = f"filtered by the known triples of {', '.join(facts['filter'])}; ties count by their middle"
    unseen = sum(facts["with_unseen_entities"][split] for split in facts["splits"] if split != "train")
    return f"{caption}; {unseen} ranked triples have an entity that training never saw" if unseen else caption


def measured_cells(measured: dict[str, dict[str, float]]) -> list[str]:
    filtered = measured["filtered"]
    shares = [percent(filtered[name]) for name in MEASURES]
    return [percent(measured["raw"]["mrr"]), *shares, f"{filtered['mr']:.0f}"]


def parts_table(result: dict[str, Any], split: str) -> Table:
    """Filtered MRR of the first run by cardinality and side, and of its most frequent relations."""
    parts = result["runs"][0][split]["by"]
    table = Table(title=f"filtered, on {split}, run {result['runs'][0]['run']}", title_justify="left")
    for column in ("part", "side", "triples", "MRR %", "hits@10 %"):
        table.add_column(column, justify="left" if column in ("part", "side") else "right")
    for kind, sides in parts["cardinality"].items():
        for side, row in sides.items():
            _add_part(table, kind, f"which {side}?", row["filtered"])
    table.add_section()
    frequent = sorted(parts["relation"].items(), key=lambda item: -item[1]["filtered"]["n"])
    for name, row in frequent[:10]:
        _add_part(table, name, "both", row["filtered"], share=2)
    return table


def _add_part(table: Table, part: str, side: str, row: dict[str, float], share: int = 1) -> None:
    table.add_row(part, side, f"{int(row['n']) // share:,}", percent(row["mrr"]), percent(row["hits@10"]))


def row_table(title: str, rows: Sequence[dict[str, Any]]) -> Table:
    """Any rows with the same keys."""
    table = Table(title=title, title_justify="left")
    for name in rows[0] if rows else ():
        table.add_column(name, justify="right" if isinstance(rows[0][name], int | float) else "left")
    for row in rows:
        table.add_row(*(_shown(value) for value in row.values()))
    return table


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, float):
        return str(value)
    return f"{value:.4f}" if abs(value) >= 0.1 else f"{value:#.3g}"  # of many candidates each is improbable
