from __future__ import annotations

import math

import pytest

pytest.importorskip("torch_geometric")

from small_subjects import CPU, small_graph

from brgcn.bench import bench
from brgcn.bench.contender import Contender
from brgcn.bench.ours import ours
from brgcn.bench.pyg_layers import pyg_contenders
from brgcn.bench.task import SCOPES, EpochTask, LayerTask

CONTENDERS = [*pyg_contenders(), ours("brgcn", "torch"), ours("rgcn", "torch"), ours("brgcn", "torch", runs=3)]


def name(contender: Contender) -> str:
    return f"{contender.name}-{contender.runs}"


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("contender", CONTENDERS, ids=name)
def test_every_contender_learns(contender: Contender, scope: str) -> None:
    task = EpochTask(small_graph(), scope, CPU)
    assert contender.epoch is not None
    with contender.surroundings(CPU):
        built = contender.epoch(task)
        losses = [float(built.step().flatten()[0]) for _ in range(12)]
    assert all(math.isfinite(loss) for loss in losses)
    assert losses[-1] < losses[0]
    assert built.parameter_bytes > 0
    assert built.index_bytes > 0


def test_the_fused_operators_learn_the_same() -> None:
    task = EpochTask(small_graph(), "field", CPU)
    losses = []
    for backend in ("torch", None):
        contender = ours("brgcn", backend)
        with contender.surroundings(CPU):
            built = contender.epoch(task)
            losses.append([float(built.step().flatten()[0]) for _ in range(3)])
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)


def test_the_cut_is_smaller_and_pyg_computes_on_it_what_it_should() -> None:
    whole, cut = (EpochTask(small_graph(), scope, CPU).field for scope in SCOPES)
    assert cut.layers[1].num_edges < cut.layers[0].num_edges < whole.layers[0].num_edges
    fast = next(contender for contender in CONTENDERS if contender.name == "FastRGCNConv")
    slow = next(contender for contender in CONTENDERS if contender.name == "RGCNConv")
    for scope in SCOPES:  # two implementations of one layer, on the same edges
        task = EpochTask(small_graph(), scope, CPU)
        first, second = (float(contender.epoch(task).step()) for contender in (fast, slow))
        assert first == pytest.approx(second, rel=1e-4)


@pytest.mark.parametrize("contender", [c for c in CONTENDERS if c.layer is not None], ids=name)
def test_single_layers(contender: Contender) -> None:
    graph = small_graph().graph
    assert contender.layer is not None
    with contender.surroundings(CPU):
        out = contender.layer(LayerTask(graph, 4, False, CPU)).step()
        assert out.shape == (graph.num_nodes, 4)
        assert not out.requires_grad
        contender.layer(LayerTask(graph, 4, True, CPU)).step()


def test_a_contender_leaves_nothing_in_the_graph_it_was_given() -> None:
    subject = small_graph()
    with CONTENDERS[-2].surroundings(CPU):
        CONTENDERS[-2].layer(LayerTask(subject.graph, 4, False, CPU)).step()
    assert "_derived" not in subject.graph.__dict__


def test_the_whole_benchmark_from_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Graphs come from anywhere."""
    monkeypatch.setattr("brgcn.bench.run.WIDTH", 4)
    result = bench([small_graph()], "cpu", parts=("epoch", "layer"), quick=True, backend="torch", command="by hand")
    rows = result["epoch"] + result["layer"]
    assert not [row for row in rows if "error" in row]
    assert all(row["ms"] > 0 and row["limit_ms"] > 0 for row in rows)
    assert {row["scope"] for row in result["epoch"]} == set(SCOPES)
    for scope in SCOPES:
        assert len({row["edges"] for row in result["epoch"] if row["scope"] == scope}) == 1
    assert all(row["operator_bytes"] > row["layer_bytes"] for row in rows if row["library"] == "brgcn")
    assert [bar["name"] for bar in result["bars"]]
    assert result["command"] == "by hand"
    assert result["growth"] == result["loading"] == []
