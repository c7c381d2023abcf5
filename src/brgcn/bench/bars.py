"""What was promised, and what was measured: computed from the rows alone.

A ratio of times is that of the fastest of PyG's relational layers to ours, so a bar of 10 is reached at ten times as
fast. Where no PyG layer could compute the row there is nothing to divide, and the bar says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from brgcn.bench.contender import OURS, PLAIN_LOOP, PYG, RECORDED, RELATIONAL

Row = Mapping[str, Any]
LARGE = "am-standin"
BAR_MODEL = "brgcn"
WHAT = {"first": "first time", "again": "again"}


def bars(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One entry per bar: name, graph, target ("at least" or "at most"), what was measured, whether it is reached."""
    found: list[dict[str, Any]] = []
    on_cuda = result["environment"]["device"] != "cpu"
    for graph in _graphs(result["epoch"]):
        found += _epoch_bars([row for row in result["epoch"] if row["graph"] == graph], graph, on_cuda)
    for graph in _graphs(result["layer"]):
        found += _layer_bars([row for row in result["layer"] if row["graph"] == graph], graph)
    found += _growth_bars(result["growth"])
    found += _loading_bars(result["loading"])
    return found


def fastest_pyg(rows: Iterable[Row]) -> Row | None:
    """Of PyG's relational layers, in any variant."""
    return _least(rows, lambda row: row["ms"])


def _least(rows: Iterable[Row], measure: Callable[[Row], float | None]) -> Row | None:
    ran = [row for row in rows if _is_relational(row) and row["ms"] and measure(row)]
    return min(ran, key=lambda row: measure(row) or 0.0, default=None)


def _is_relational(row: Row) -> bool:
    """``RGCNConv``, ``RGCNConv, 10 bases``, .."""
    return row["library"] == PYG and row["layer"].partition(",")[0] in RELATIONAL


def _own(rows: Iterable[Row]) -> Row | None:
    """Ours; of a layer, the faster of computed as it comes and recorded, as for the others."""
    names = (BAR_MODEL, BAR_MODEL + RECORDED)
    mine = [row for row in rows if row["library"] == OURS and row["layer"] in names and row["ms"]]
    return min(mine, key=lambda row: float(row["ms"]), default=None)


def _epoch_bars(rows: list[Row], graph: str, on_cuda: bool) -> list[dict[str, Any]]:
    of = {scope: [row for row in rows if row["scope"] == scope] for scope in ("full", "field")}
    large = graph == LARGE
    found = [
        _speed(
            "epoch: ours on the receptive field, PyG on the full graph",
            graph,
            30 if large else 10,
            of["field"],
            of["full"],
        ),
        _speed(
            "epoch: the same, PyG in a plain loop (Adam and the C library as they come)",
            graph,
            30 if large else 10,
            of["field"],
            [row for row in of["full"] if row["layer"].endswith(PLAIN_LOOP)],
        ),
        _speed("epoch: both on the same receptive field", graph, 10, of["field"], of["field"]),
        _speed("epoch: both on the full graph", graph, 10, of["full"], of["full"]),
    ]
    if large:
        mine, theirs = _own(of["full"]), _least(of["full"], lambda row: row["peak_bytes"])
        share = _ratio(mine, theirs, "peak_bytes")
        found.append(_bar("epoch, full graph: memory, as share of PyG's least", graph, "at most", 0.2, share))
    one = _own(of["field"])
    together = next((row for row in of["field"] if row["library"] == OURS and row.get("runs", 1) > 1), None)
    if one is not None and together is not None and together["ms"]:
        name = f"{together['runs']} runs together, as multiple of one"
        target = 2.5 if on_cuda else float(together["runs"])
        found.append(_bar(name, graph, "at most", target, together["ms"] / one["ms"]))
    return found


def _layer_bars(rows: list[Row], graph: str) -> list[dict[str, Any]]:
    both = [row for row in rows if row["pass"] == "forward+backward"]
    found = [_speed("layer, d = 64, forward and backward", graph, 20 if graph == LARGE else 5, both, both)]
    mine = _own(both)
    if graph == LARGE and mine is not None:
        share = mine["ms"] / mine["limit_ms"]
        found.append(_bar("layer: time, as multiple of the bandwidth limit", graph, "at most", 3, share))
    return found


def _growth_bars(rows: list[Row]) -> list[dict[str, Any]]:
    mine = [row for row in rows if row["varies"] == "R" and row["library"] == OURS and row["layer"] == BAR_MODEL]
    mine = [row for row in mine if row["ms"]]
    if len(mine) < 2:
        return []
    few, many = min(mine, key=lambda row: row["relations"]), max(mine, key=lambda row: row["relations"])
    name = f"layer: time at R = {many['relations']:,}, as multiple of that at R = {few['relations']:,}"
    return [_bar(name, "random", "at most", 2, many["ms"] / few["ms"])]


def _loading_bars(rows: list[Row]) -> list[dict[str, Any]]:
    """No target was set for loading; the ratio is told all the same."""
    found = []
    for graph in _graphs(rows):
        for what in WHAT:
            times = {row["library"]: row["ms"] for row in rows if row["graph"] == graph and row["what"] == what}
            if times.get(OURS) and times.get(PYG):
                name = f"loading, {WHAT[what]}: PyG's Entities route to ours"
                found.append(_bar(name, graph, "at least", None, times[PYG] / times[OURS]))
    return found


def _speed(name: str, graph: str, target: float, ours: list[Row], theirs: list[Row]) -> dict[str, Any]:
    mine, fastest = _own(ours), fastest_pyg(theirs)
    bar = _bar(name, graph, "at least", target, _ratio(fastest, mine, "ms"))
    return bar | {"against": fastest["layer"] if fastest else None}


def _bar(name: str, graph: str, side: str, target: float | None, measured: float | None) -> dict[str, Any]:
    reached = None
    if target is not None and measured is not None:
        reached = measured >= target if side == "at least" else measured <= target
    return {
        "name": name,
        "graph": graph,
        "side": side,
        "target": target,
        "measured": measured,
        "reached": reached,
    }


def _ratio(above: Row | None, below: Row | None, measure: str) -> float | None:
    if above is None or below is None or not above[measure] or not below[measure]:
        return None
    ratio: float = above[measure] / below[measure]
    return ratio


def _graphs(rows: Iterable[Row]) -> list[str]:
    return list(dict.fromkeys(row["graph"] for row in rows))
