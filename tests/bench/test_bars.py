from __future__ import annotations

from typing import Any

from small_subjects import row

from brgcn.bench.bars import bars
from brgcn.bench.tables import tables


def result(device: str = "cpu", **parts: Any) -> dict[str, Any]:
    return {"environment": {"device": device}, "epoch": [], "layer": [], "growth": [], "loading": [], **parts}


def epochs(graph: str) -> list[dict[str, Any]]:
    return [
        row("PyG", "RGCNConv", 300.0, graph=graph, peak_bytes=9000),
        row("PyG", "FastRGCNConv", None, graph=graph, error="out of memory"),
        row("PyG", "RGCNConv, 10 bases", 200.0, graph=graph, peak_bytes=8000),
        row("PyG", "HGTConv", 1.0, graph=graph, peak_bytes=1),  # not one of the three
        row("brgcn", "brgcn", 10.0, graph=graph, runs=1, peak_bytes=1000),
        row("PyG", "RGATConv", 50.0, graph=graph, scope="field"),
        row("brgcn", "brgcn", 6.0, graph=graph, scope="field", runs=1),
        row("brgcn", "brgcn, 10 runs together", 18.0, graph=graph, scope="field", runs=10),
    ]


def found(parts: dict[str, Any]) -> dict[tuple[str, str], tuple[Any, float | None, bool | None]]:
    return {(bar["graph"], bar["name"]): (bar["target"], bar["measured"], bar["reached"]) for bar in bars(parts)}


def test_epochs() -> None:
    measured = found(result(epoch=[*epochs("aifb"), *epochs("am-standin")]))
    as_trained, cut = (
        "epoch: ours on the receptive field, PyG on the full graph",
        "epoch: both on the same receptive field",
    )
    assert measured["aifb", as_trained] == (10, 200 / 6, True)
    assert measured["am-standin", as_trained] == (30, 200 / 6, True)
    assert measured["aifb", cut] == (10, 50 / 6, False)
    assert measured["aifb", "epoch: both on the full graph"] == (10, 20, True)
    assert measured["am-standin", "epoch, full graph: memory, as share of PyG's least"] == (0.2, 1 / 8, True)
    assert measured["aifb", "10 runs together, as multiple of one"] == (10, 3, True)
    on_cuda = found(result("NVIDIA", epoch=epochs("aifb")))
    assert on_cuda["aifb", "10 runs together, as multiple of one"] == (2.5, 3, False)


def test_nothing_to_compare_with() -> None:
    rows = [one for one in epochs("aifb") if one["library"] == "brgcn"]
    assert found(result(epoch=rows))["aifb", "epoch: both on the full graph"] == (10, None, None)


def test_layers_growth_and_loading() -> None:
    both = {"pass": "forward+backward", "width": 64, "graph": "am-standin"}
    layer = [
        row("PyG", "RGCNConv", 30.0, **both),
        row(
            "brgcn",
            "brgcn",
            2.0,
            **both,
        ),
    ]
    forward = {**both, "pass": "forward"}
    layer += [row("PyG", "RGCNConv", 1.0, **forward), row("brgcn", "brgcn", 2.0, **forward)]
    growth = [row("brgcn", "brgcn", ms, varies="R", relations=r, width=8) for ms, r in ((4.0, 10), (6.0, 1000))]
    loading = [
        {**row("brgcn", "load_dataset", 10.0), "what": "first"},
        {**row("PyG", "Entities route (rdflib)", 900.0), "what": "first"},
    ]
    parts = result(layer=layer, growth=growth, loading=loading)
    measured = found(parts)
    assert measured["am-standin", "layer, d = 64, forward and backward"] == (20, 15, False)
    assert measured["am-standin", "layer: time, as multiple of the bandwidth limit"] == (3, 2, True)
    assert measured["random", "layer: time at R = 1,000, as multiple of that at R = 10"] == (2, 1.5, True)
    assert measured["aifb", "loading, first time: PyG's Entities route to ours"] == (None, 90, None)
    titles = [table.title for table in tables({**parts, "bars": bars(parts)})]
    assert len(titles) == len(set(titles)) == 6


def test_rows_where_we_lose_are_shown() -> None:
    rows = [
        row("PyG", "FastRGCNConv", 1.0),
        row("brgcn", "brgcn", 4.0),
        row("PyG", "HANConv", None, error="out of memory"),
    ]
    (table,) = tables({**result(epoch=rows), "bars": []})
    assert table.own == [False, True, False]
    assert table.rows[1][2:5] == ("4.00", "4.00 – 4.00", "0.25×")
    assert table.rows[2][-1] == "out of memory"
