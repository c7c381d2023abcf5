"""How ``brgcn data`` shows the catalogue and reports on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Table

from brgcn.data.catalogue import SPLIT_NAMES, Entry

_WIDTH_WITHOUT_TERMINAL = 160
_MOST_CLASSES = 20


def print_out(view: RenderableType) -> None:
    """To standard output; wide enough that nothing is cut when it goes to a file or a pipe."""
    console = Console(highlight=False, emoji=False)
    if not console.is_terminal:
        console = Console(highlight=False, emoji=False, width=_WIDTH_WITHOUT_TERMINAL)
    console.print(view)


def catalogue_table(entries: Iterable[Entry], folders: Mapping[str, Path | None]) -> RenderableType:
    """One row per data set."""
    table = Table(caption="brgcn data list NAME shows everything about one of them", caption_justify="left")
    for column in ("name", "task"):
        table.add_column(column, no_wrap=True)
    for column in ("nodes", "relations", "edges", "labels", "classes"):
        table.add_column(column, justify="right")
    table.add_column("on this machine", no_wrap=True)
    for entry in entries:
        counts = entry.expected
        links = entry.task == "links"
        edges = counts["train"] if links else counts["edges"]
        labelled = sum(counts.get(split, 0) for split in SPLIT_NAMES)
        table.add_row(
            entry.name,
            entry.task,
            f"{counts['entities' if links else 'nodes']:,}",
            f"{counts['relations']:,}",
            f"{edges:,}",
            "" if links else f"{labelled:,}",
            "" if links else f"{counts['classes']:,}",
            "yes" if folders.get(entry.name) else "no",
        )
    return table


def entry_view(entry: Entry, folder: Path | None) -> RenderableType:
    """Everything about one data set."""
    table = Table(
        show_header=False, box=None, padding=(0, 2, 0, 0), title=f"{entry.name}: {entry.title}", title_justify="left"
    )
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")

    def row(title: str, values: str | Iterable[str] | None) -> None:
        lines = [values] if isinstance(values, str) else list(values or ())
        if lines:
            table.add_row(title, escape("\n".join(lines)))

    row("task", entry.task)
    row("expected", [", ".join(f"{count:,} {what}" for what, count in entry.expected.items())])
    row("columns", [f"node {entry.node_column}, label {entry.label_column}"] if entry.node_column else None)
    row("removed relations", entry.drop_relations)
    row("on this machine", str(folder) if folder else "no; `brgcn data fetch` gets it")
    row("files", [f"{entry.folder}/{file}" for file in entry.required_files])
    row("sources", entry.sources)
    row("sha256", [f"{digest} {file}" for file, digest in entry.sha256.items()])
    row("content sha256", entry.content_sha256)
    if entry.package is not None:
        row(
            "package",
            [f"{entry.package.project} {entry.package.version}", f"{entry.package.sha256} {entry.package.file_name}"],
        )
    row("licence", entry.licence)
    row("citation", entry.citation)
    row("notes", entry.notes)
    return Group(table, "")


def report_view(report: Mapping[str, Any]) -> RenderableType:
    """The report of ``inspect_dataset`` as tables."""
    parts: list[RenderableType] = [
        f"[bold]{escape(report['name'])}[/bold] ({escape(report['source'])})",
        _sizes(report),
    ]
    if report["classes"]:
        parts.append(_classes(report))
    parts += [_distributions(report), _relations(report)]
    if report["literal_datatypes"]:
        table = Table("literals of datatype", "nodes", title_justify="left")
        for datatype, count in report["literal_datatypes"].items():
            table.add_row(escape(datatype), f"{count:,}")
        parts.append(table)
    if memory := report.get("memory"):
        parts.append(f"training memory: about {_bytes(memory['bytes'])}. Assumes {memory['assumes']}.")
    return Group(*parts)


def _sizes(report: Mapping[str, Any]) -> Table:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for key in ("nodes", "relations", "edges", "pairs", "literals", "blank_nodes", "isolated_nodes"):
        table.add_row(key.replace("_", " "), f"{report[key]:,}")
    inverse = report["with_inverse"]
    table.add_row("with inverses", f"{inverse['edges']:,} edges, {inverse['pairs']:,} pairs")
    what = "triples" if report["task"] == "links" else "labelled nodes"
    for split, count in report["splits"].items():
        table.add_row(f"{split} {what}", f"{count:,}")
    return table


def _classes(report: Mapping[str, Any]) -> Table:
    table = Table("class", *report["splits"])
    for label, counts in list(report["classes"].items())[:_MOST_CLASSES]:
        table.add_row(escape(label), *(f"{counts[split]:,}" for split in report["splits"]))
    if (more := len(report["classes"]) - _MOST_CLASSES) > 0:
        table.add_row(f"and {more} more")
    return table


def _distributions(report: Mapping[str, Any]) -> Table:
    columns = ("min", "median", "mean", "p90", "p99", "max")
    table = Table("per node", *columns)
    for title, key in (("edges", "degree"), ("relations, either direction", "relations_per_node")):
        table.add_row(title, *(f"{report[key][column]:,}" for column in columns))
    return table


def _relations(report: Mapping[str, Any]) -> Table:
    table = Table("relation", "edges", "share")
    for row in report["top_relations"]:
        table.add_row(escape(row["relation"]), f"{row['edges']:,}", f"{row['share']:.1%}")
    return table


def _bytes(count: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:,.0f} {unit}"
        count /= 1000
    return f"{count:,.1f} GB"
