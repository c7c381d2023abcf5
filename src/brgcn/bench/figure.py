"""Growth of time and memory on logarithmic axes, with what the machine's memory allows at best."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from brgcn.bench.contender import OURS
from brgcn.bench.growth import DEGREE
from brgcn.figures import heading, new_figure, save, with_grid

Row = Mapping[str, Any]
# Colours that people with any colour vision tell apart (Okabe and Ito); shapes tell the same once more.
STYLES = {
    (OURS, "brgcn"): ("#0072B2", "o", "BR-GCN (ours)"),
    (OURS, "rgcn"): ("#56B4E9", "s", "R-GCN (ours)"),
    (OURS, "brgcn-node"): ("#009E73", "<", "BR-GCN-node (ours)"),
    (OURS, "brgcn-relation"): ("#CC79A7", ">", "BR-GCN-relation (ours)"),
    ("PyG", "FastRGCNConv"): ("#D55E00", "^", "FastRGCNConv (PyG)"),
    ("PyG", "RGCNConv"): ("#E69F00", "v", "RGCNConv (PyG)"),
    ("PyG", "HANConv"): ("#8B4513", "D", "HANConv (PyG)"),
    ("PyG", "GATConv"): ("#777777", "P", "GATConv (PyG)"),
}
_PANELS = {
    "N": ("nodes", "nodes N"),
    "E": ("edges", "edges E"),
    "R": ("relations", "relations R"),
    "d": ("width", "width d"),
}
_LIMIT = "#000000"


def draw(result: Mapping[str, Any], path: Path) -> Path | None:
    """A PNG with a column per series, time above and memory below; None where nothing was measured to draw."""
    rows = [row for row in result["growth"] if row["ms"]]
    if not rows:
        return None
    series = [varies for varies in _PANELS if any(row["varies"] == varies for row in rows)]
    figure = new_figure(5.6 * len(series), 8.6)
    panels = figure.subplots(2, len(series), squeeze=False)
    for column, varies in enumerate(series):
        mine = [row for row in rows if row["varies"] == varies]
        _panel(panels[0][column], mine, varies, "ms", 1.0)
        _panel(panels[1][column], mine, varies, "peak_bytes", 1 / (1 << 20))
        panels[0][column].set_title(_heading(mine, varies), fontsize=11, loc="left")
    panels[0][0].set_ylabel("milliseconds, forward + backward")
    panels[1][0].set_ylabel("peak memory, MiB")
    device = result["environment"]["device"]
    where = f"{result['environment']['cpus']} CPU cores" if device == "cpu" else device
    heading(
        figure, f"One layer on random graphs, {where}; dotted: each array once at {result['copy_rate_gb_s']:,.0f} GB/s"
    )
    return save(figure, path)


def _panel(axes: Any, rows: list[Row], varies: str, measure: str, factor: float) -> None:
    from matplotlib.ticker import NullLocator

    key, label = _PANELS[varies]
    ends: list[tuple[float, float, str, str]] = []
    for contender in dict.fromkeys((row["library"], row["layer"]) for row in rows):
        points = sorted(
            (row[key], row[measure] * factor)
            for row in rows
            if (row["library"], row["layer"]) == contender and row[measure]
        )
        if points:
            color, marker, name = STYLES.get(contender, ("#777777", "x", " ".join(contender)))
            axes.plot(*zip(*points, strict=True), color=color, marker=marker, markersize=5, linewidth=1.8)
            ends.append((*points[-1], name, color))
    if measure == "ms":
        limits = sorted(
            (row[key], row["limit_ms"]) for row in rows if (row["library"], row["layer"]) == (OURS, "brgcn")
        )
        if limits:
            axes.plot(*zip(*limits, strict=True), color=_LIMIT, linestyle=":", linewidth=1.5)
            ends.append((*limits[-1], "limit of the machine", _LIMIT))
    axes.set_xscale("log")
    axes.set_yscale("log")
    ticks = sorted({row[key] for row in rows})
    axes.set_xticks(ticks, [_short(tick) for tick in ticks])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(label)
    with_grid(axes)
    _name_ends(axes, ends, ticks)


def _name_ends(axes: Any, ends: list[tuple[float, float, str, str]], ticks: list[float]) -> None:
    """Each line is named where it ends on the right, moved apart where names would overlap."""
    if not ends:
        return
    first, last = math.log10(ticks[0]), math.log10(ticks[-1])
    reach = max(last - first, 0.1)
    axes.set_xlim(10 ** (first - 0.05 * reach), 10 ** (last + 0.62 * reach))
    low, high = (math.log10(bound) for bound in axes.get_ylim())
    ends = sorted(ends, key=lambda end: end[1])
    places = _apart([math.log10(y) for _, y, _, _ in ends], 0.06 * (high - low), high)
    for (x, y, name, color), place in zip(ends, places, strict=True):
        text = (10 ** (last + 0.05 * reach), 10**place)
        arrow = {"arrowstyle": "-", "color": color, "linewidth": 0.6, "alpha": 0.6}
        axes.annotate(name, xy=(x, y), xytext=text, fontsize=9, color=color, va="center", arrowprops=arrow)


def _apart(places: list[float], gap: float, top: float) -> list[float]:
    """Ascending places, moved until they are a gap apart and none is above the top."""
    moved = list(places)
    for number in range(1, len(moved)):
        moved[number] = max(moved[number], moved[number - 1] + gap)
    for number in reversed(range(len(moved))):
        highest = top if number == len(moved) - 1 else moved[number + 1] - gap
        moved[number] = min(moved[number], highest)
    return moved


def _heading(rows: list[Row], varies: str) -> str:
    """What stays as it is."""
    same = {letter: key for letter, (key, _) in _PANELS.items() if len({row[key] for row in rows}) == 1}
    degree = f"mean degree {DEGREE}" if varies == "E" and "N" not in same else ""
    return ", ".join(
        [*(f"{letter} = {_short(rows[0][key])}" for letter, key in same.items()), *([degree] if degree else [])]
    )


def _short(number: float) -> str:
    for unit, factor in (("M", 1_000_000), ("k", 1000)):
        if number >= factor:
            return f"{number / factor:g}{unit}"
    return f"{number:g}"
