"""``brgcn predict`` for a link predictor."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from brgcn.cli.console import print_json, say, stdout
from brgcn.cli.inputs import parse_columns
from brgcn.errors import DataError

if TYPE_CHECKING:
    from brgcn.tasks.link_use import Query


def predict_links(
    folder: Path,
    parts: tuple[str | None, str | None, str | None],
    table: Path | None,
    *,
    columns: str | None,
    top: int,
    run: int | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """One query from the options, or the queries of a table."""
    from brgcn.cli.link_views import row_table
    from brgcn.tasks.link_predictor import LinkPredictor
    from brgcn.tasks.run_files import table_line, write_table

    if table is not None and any(parts):
        raise DataError("queries stand in the table, and one on the command line", remedy="Give one of the two.")
    if columns is not None and table is None:
        raise DataError("--columns are those of a table of queries", remedy="Leave them out, or give --queries FILE.")
    queries = _queries(folder, parts, table, columns)
    predictor = LinkPredictor.load(folder, run)
    answers = [(query, predictor.predict(**asdict(query), top=top)) for query in queries]
    labels = [
        name for name in ("head_label", "tail_label") if any(name in row for _, found in answers for row in found)
    ]
    header = ["query", "asked", "rank", "head", "relation", "tail", "probability", "known", *labels]
    rows = [_cells(number, query, row) for number, (query, found) in enumerate(answers, 1) for row in found]
    if out is not None:
        write_table(out, header, rows)
        say(f"{len(rows)} predictions in {out}")
    if as_json:
        print_json({"queries": [_answered(query, found) for query, found in answers]})
    elif table is None and out is None:
        query, found = answers[0]
        shown = [{"rank": row["rank"], query.asked: row[query.asked], **_rest(query, row)} for row in found]
        stdout().print(row_table(_title(query), shown))
    elif out is None:
        for cells in (header, *rows):
            typer.echo(table_line(cells))


def _queries(
    folder: Path, parts: tuple[str | None, str | None, str | None], table: Path | None, columns: str | None
) -> list[Query]:
    from brgcn.tasks.link_folder import LinkFolder
    from brgcn.tasks.link_use import Query
    from brgcn.tasks.query_table import QueryTable

    if table is None:
        return [Query.of(*parts)]
    read = QueryTable.read(table, parse_columns(columns))
    read.check_names(LinkFolder.open(folder).named_graph)
    return read.queries


def _cells(number: int, query: Query, row: dict[str, Any]) -> list[Any]:
    names = [row[part] for part in ("head", "relation", "tail")]
    labels = [row[name] for name in ("head_label", "tail_label") if name in row]
    return [number, query.asked, row["rank"], *names, f"{row['probability']:.6g}", row["known"] or "", *labels]


def _answered(query: Query, found: list[dict[str, Any]]) -> dict[str, Any]:
    given = {part: getattr(query, part) for part in ("head", "relation", "tail")}
    return {**given, "asked": query.asked, "answers": found}


def _rest(query: Query, row: dict[str, Any]) -> dict[str, Any]:
    label = {"label": row[f"{query.asked}_label"]} if f"{query.asked}_label" in row else {}
    return {**label, "probability": row["probability"], "known": f"in {row['known']}" if row["known"] else ""}


def _title(query: Query) -> str:
    return f"({query.head or '?'}, {query.relation or '?'}, {query.tail or '?'})"
