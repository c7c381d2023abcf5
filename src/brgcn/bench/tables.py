"""The rows of a result as tables of text, for the terminal and for the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from brgcn.bench.bars import fastest_pyg
from brgcn.bench.contender import OURS

Row = Mapping[str, Any]
SCOPE_NAMES = {"full": "full graph", "field": "receptive field"}
SERIES = {"E": ("edges", "edges", "mean degree 8"), "R": ("relations", "relations", ""), "d": ("width", "width", "")}
NOTHING = "–"
BARS = "What was promised, and what was measured"


class TextTable(NamedTuple):
    title: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    own: list[bool]  # which rows are ours


def tables(result: Mapping[str, Any]) -> list[TextTable]:
    """Everything that was measured, the bars last."""
    found: list[TextTable] = []
    for (graph, scope), rows in _groups(result["epoch"], "graph", "scope"):
        found.append(_contest(f"{graph}: one training epoch, {SCOPE_NAMES[scope]}, {_edges(rows[0])}", rows))
    for (graph, direction), rows in _groups(result["layer"], "graph", "pass"):
        title = f"{graph}: one layer, d = {rows[0]['width']}, {direction.replace('+', ' + ')}, {_edges(rows[0])}"
        found.append(_contest(title, rows))
    for (varies,), rows in _groups(result["growth"], "varies"):
        found += [_growth(varies, rows, "ms"), _growth(varies, rows, "peak_bytes")]
    if result["loading"]:
        found.append(_loading(result["loading"]))
    if result["bars"]:
        found.append(_bars(result["bars"]))
    return found


def milliseconds(value: float | None) -> str:
    """Three digits that count."""
    if value is None:
        return NOTHING
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def size(value: float | None) -> str:
    if value is None:
        return NOTHING
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20)):
        if value >= factor:
            return f"{value / factor:.3g} {unit}" if value / factor < 1000 else f"{value / factor:,.0f} {unit}"
    return f"{value / 1024:.0f} KiB"


def ratio(value: float | None) -> str:
    if value is None:
        return NOTHING
    return f"{value:,.0f}×" if value >= 100 else f"{value:.1f}×" if value >= 10 else f"{value:.2f}×"


def _contest(title: str, rows: list[Row]) -> TextTable:
    fastest = fastest_pyg(rows)
    header = ("library", "layer or model", "ms", "quartiles", "speed, fastest PyG = 1", "peak memory", "limit ms", "")
    cells = []
    for row in rows:
        speed = fastest["ms"] / row["ms"] if fastest and row["ms"] else None
        spread = f"{milliseconds(row['ms_low'])} – {milliseconds(row['ms_high'])}" if row["ms"] else NOTHING
        cells.append(
            (
                row["library"],
                row["layer"],
                milliseconds(row["ms"]),
                spread,
                ratio(speed),
                size(row["peak_bytes"]),
                milliseconds(row["limit_ms"]),
                row.get("error", ""),
            )
        )
    return TextTable(title, header, cells, [row["library"] == OURS for row in rows])


def _growth(varies: str, rows: list[Row], measure: str) -> TextTable:
    """Contenders down, sizes across."""
    key, word, note = SERIES[varies]
    points = sorted({row[key] for row in rows})
    show = milliseconds if measure == "ms" else size
    fixed = ", ".join(f"{other} {rows[0][SERIES[other][0]]:,}" for other in SERIES if other != varies)
    what = "ms" if measure == "ms" else "peak memory"
    title = f"one layer, forward + backward, {what} by {word} ({', '.join(filter(None, (fixed, note)))})"
    cells, own = [], []
    for (library, layer), mine in _groups(rows, "library", "layer"):
        by_point = {row[key]: row for row in mine}
        shown = [_cell(by_point.get(point), measure, show) for point in points]
        cells.append((library, layer, *shown))
        own.append(library == OURS)
    if measure == "ms":
        limits = {row[key]: row["limit_ms"] for row in rows if row["library"] == OURS and row["layer"] == "brgcn"}
        cells.append(("", "limit of the machine", *(show(limits.get(point)) for point in points)))
        own.append(False)
    return TextTable(title, ("library", "layer", *(f"{point:,}" for point in points)), cells, own)


def _cell(row: Row | None, measure: str, show: Any) -> str:
    if row is None:
        return NOTHING
    return str(row["error"].partition(" at a smaller")[0]) if row.get("error") else str(show(row[measure]))


def _loading(rows: list[Row]) -> TextTable:
    header = ("data set", "library", "route", "time", "ms", "repeats", "peak memory", "")
    cells = [
        (
            row["graph"],
            row["library"],
            row["layer"],
            row["what"],
            milliseconds(row["ms"]),
            str(row["repeats"]),
            size(row["peak_bytes"]),
            row.get("error", ""),
        )
        for row in rows
    ]
    return TextTable("loading", header, cells, [row["library"] == OURS for row in rows])


def _bars(bars: list[Row]) -> TextTable:
    words = {True: "yes", False: "no", None: NOTHING}
    cells = []
    for bar in bars:
        target = NOTHING if bar["target"] is None else f"{bar['side']} {bar['target']:g}"
        against = f" (fastest: {bar['against']})" if bar.get("against") else ""
        cells.append((bar["graph"], bar["name"] + against, target, ratio(bar["measured"]), words[bar["reached"]]))
    return TextTable(BARS, ("graph", "bar", "target", "measured", "reached"), cells, [False] * len(cells))


def _edges(row: Row) -> str:
    last = row.get("edges_last_layer", row["edges"])
    if last != row["edges"]:
        return f"{row['edges']:,} and {last:,} edges"
    return f"{row['edges']:,} edges"


def _groups(rows: Iterable[Row], *keys: str) -> list[tuple[tuple[Any, ...], list[Row]]]:
    """Rows with the same values of these keys, in the order in which those first occur."""

    def key(row: Row) -> tuple[Any, ...]:
        return tuple(row[name] for name in keys)

    order: dict[tuple[Any, ...], int] = {}
    kept = list(rows)
    for row in kept:
        order.setdefault(key(row), len(order))
    kept.sort(key=lambda row: order[key(row)])
    return [(values, list(group)) for values, group in groupby(kept, key)]
