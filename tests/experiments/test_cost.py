"""Exponents, and what they are fitted to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from brgcn.bench.growth import random_graph
from brgcn.cli import main
from brgcn.experiments.cost import PAPER, QUICK_SERIES, SERIES, VARIED, exponents, slope

pytest.importorskip("torch_geometric")


def test_the_slope_is_the_exponent() -> None:
    assert slope([(x, 3 * x**1.7) for x in (1.0, 2.0, 5.0, 9.0)]) == pytest.approx(1.7)
    assert slope([(1.0, 4.0), (2.0, 4.0), (4.0, 4.0)]) == pytest.approx(0)
    assert slope([(1.0, 2.0), (2.0, None)]) is None
    assert slope([(2.0, 2.0), (2.0, 3.0)]) is None
    assert slope([]) is None


@pytest.mark.parametrize("series", [*SERIES.values(), QUICK_SERIES])
def test_one_quantity_varies_at_a_time(series) -> None:
    for letter, points in series.items():
        values = {
            "N": {point.nodes for point in points},
            "E": {point.edges for point in points},
            "R": {point.relations for point in points},
            "d": {point.width for point in points},
        }
        assert {name for name, seen in values.items() if len(seen) > 1} == {letter}
        assert len(values[letter]) == len(points)
    point = series["N"][0]
    graph = random_graph(point.edges, point.relations, point.nodes)
    assert (graph.num_nodes, graph.num_edges) == (point.nodes, point.edges)


def test_exponents_of_rows() -> None:
    rows = [
        {"layer": layer, "varies": letter, key: x, "ms": x**2, "peak_bytes": None}
        for layer, _, _ in PAPER.values()
        for letter, key in VARIED.items()
        for x in (2, 4, 8)
    ]
    found = exponents(rows)
    assert found["gat"]["ms"] == pytest.approx(dict.fromkeys(VARIED, 2.0))
    assert found["han"]["peak_bytes"] == dict.fromkeys(VARIED)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["reproduce", "cost", "--quick", "--device", "cpu", "--out", str(tmp_path), "--json"])
    assert not stopped.value.code
    result = json.loads(capsys.readouterr().out)
    assert all(row["ms"] for row in result["growth"])
    assert {row["varies"] for row in result["growth"]} == set(VARIED)
    assert (tmp_path / "cpu.png").stat().st_size > 5000
