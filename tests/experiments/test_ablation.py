"""Cuts of a graph by what BR-GCN attends to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from brgcn.cli import main
from brgcn.data import Dataset, load_dataset
from brgcn.experiments import ablation as module
from brgcn.experiments.ablation import (
    STEPS,
    Cut,
    cuts,
    measure_ablation,
    measure_importance,
    only_relations,
    ranking_by,
    relation_ranking,
)
from brgcn.experiments.ablation_report import curves, draw, report, whole_draws
from brgcn.tasks.inputs import node_inputs
from brgcn.tasks.settings import NodeSettings
from brgcn.tasks.trainer import NodeTrainer


@pytest.fixture
def data(toy: Path) -> Dataset:
    return load_dataset(toy)


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "node_settings", lambda model, dataset: NodeSettings(model=model, epochs=3, hidden=4))


def quiet(text: str) -> None:
    pass


def test_cuts_keep_tenths_in_their_order() -> None:
    ranking = [4, 0, 3, 1, 2, 9, 8, 7, 6, 5, 10]
    assert Cut("highest", 1).kept(ranking) == [0, 4]  # two of eleven: a tenth, rounded up
    assert Cut("lowest", 1).kept(ranking) == [5, 10]
    assert Cut("random", 5, 2).kept(ranking) == Cut("random", 5, 2).kept(ranking)
    assert set(Cut("random", 3, 1).kept(ranking)) < set(Cut("random", 7, 1).kept(ranking))  # cumulative
    assert Cut("random", 5, 2).kept(ranking) == Cut("random", 5, 2).kept(ranking[::-1])  # whatever the ranking
    assert len({tuple(Cut("random", 5, draw).kept(ranking)) for draw in range(5)}) > 1
    assert all(Cut(order, STEPS, 3).kept(ranking) == sorted(ranking) for order in ("highest", "lowest", "random"))
    every = list(cuts(2))
    assert len(every) == 1 + (STEPS - 1) * 4
    assert len({cut.key for cut in every}) == len(every)


def test_a_relation_and_its_inverse_go_together(data: Dataset) -> None:
    named = only_relations(data.named_graph, [1])
    graph = node_inputs(named, NodeSettings()).graph
    count = data.graph.num_relations
    assert graph.num_nodes == data.graph.num_nodes
    assert set(graph.edge_type.tolist()) == {1, 1 + count}
    expected = [row for row in data.named_graph.triples().tolist() if row[1] == 1]
    assert sorted(named.triples().tolist()) == sorted(expected)
    assert only_relations(data.named_graph, []).graph.num_edges == 0


def test_importance_is_pooled_over_layers_directions_and_runs(data: Dataset) -> None:
    """Against plain loops over the attention of each model."""
    settings = NodeSettings(epochs=2, hidden=4, self_connection="inside", literals="nodes")
    inputs = node_inputs(data.named_graph, settings)
    rows = relation_ranking(data, inputs, settings, 2, torch.device("cpu"))
    train = data.splits["train"]
    count = data.graph.num_relations
    total, places = [0.0] * count, [0] * count
    for seed in range(2):
        trainer = NodeTrainer(inputs.graph, train.nodes, train.labels, data.num_classes, settings, seed)
        list(trainer.epochs())
        field = trainer.parts["train"].field
        for layer in trainer.trained().attention(field.layers):
            psi = layer.relation
            size: dict[int, int] = {}
            received: dict[tuple[int, int], float] = {}
            for node, to, weight in zip(
                psi.node.tolist(), psi.attended_relation.tolist(), psi.weight.flatten().tolist(), strict=True
            ):
                received[node, to] = received.get((node, to), 0.0) + weight
            for node, _ in received:
                size[node] = size.get(node, 0) + 1
            for (node, to), weight in received.items():
                if to < 2 * count:  # the self-connection is no relation type
                    total[to % count] += weight / size[node]
                    places[to % count] += 1
    for row in rows:
        r = row["id"]
        assert row["places"] == places[r] // 2
        assert row["attention"] == pytest.approx(total[r] / max(places[r], 1), rel=1e-4)


def test_a_relation_that_nobody_sees_comes_last() -> None:
    rows = [{"id": 0, "attention": 0.0, "lift": 0.0}, {"id": 1, "attention": 0.2, "lift": 0.9}]
    rows.append({"id": 2, "attention": 0.1, "lift": 1.3})
    assert ranking_by("attention", {"relations": rows}) == [1, 2, 0]
    assert ranking_by("lift", {"relations": rows}) == [2, 1, 0]


def test_measured_kept_and_continued(data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    importance = measure_importance(data, tmp_path, runs=1, device="cpu", tell=quiet)
    assert measure_importance(data, tmp_path, runs=1, device="cpu", tell=quiet) == importance
    first = measure_ablation(data, "rgcn", importance, tmp_path, runs=2, draws=1, tell=quiet)
    assert len(first["accuracy"]) == 1 + 3 * (STEPS - 1)
    assert all(len(values) == 2 for values in first["accuracy"].values())
    told: list[str] = []
    with monkeypatch.context() as patch:
        patch.setattr(module, "environment", lambda device: {"device": "another"})
        more = measure_ablation(data, "rgcn", importance, tmp_path, runs=2, draws=2, tell=told.append)
    assert [made["device"] for made in more["environments"]] == ["cpu", "another"]
    assert len(told) == STEPS - 1  # the second draw alone is new
    assert first["accuracy"].items() <= more["accuracy"].items()
    steps = curves(more)
    assert [len(values) for values in steps["random"]] == [4] * (STEPS - 1) + [2]
    assert steps["highest"][-1] == steps["lowest"][-1] == more["accuracy"]["all"]
    row = report([more])[0]
    assert row["top"]["100"] == pytest.approx(sum(more["accuracy"]["all"]) / 2)
    assert row["gain"]["50"]["mean"] == pytest.approx(row["top"]["50"] - row["top"]["100"])
    differences = [a - b for a, b in zip(more["accuracy"]["highest-5-0"], more["accuracy"]["all"], strict=True)]
    spread = abs(differences[0] - differences[1]) / 2**0.5
    assert row["gain"]["50"]["sem"] == pytest.approx(spread / 2**0.5)
    assert draw([more], tmp_path / "figure.png").stat().st_size > 5000


def test_a_cut_that_does_not_fit_into_memory(data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    importance = measure_importance(data, tmp_path, runs=1, device="cpu", tell=quiet)

    def full(*_: object) -> list[float]:
        raise torch.OutOfMemoryError("CUDA out of memory")

    with monkeypatch.context() as patch:
        patch.setattr(module, "accuracies", full)
        nothing = measure_ablation(data, "rgcn", importance, tmp_path, runs=1, draws=0, tell=quiet)
    assert set(nothing["errors"].values()) == {"out of memory on cpu"}
    assert report([nothing])[0]["gain"]["50"] is None
    something = measure_ablation(data, "rgcn", importance, tmp_path, runs=1, draws=0, tell=quiet)
    assert not something["errors"]


def test_the_command(toy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch) -> None:
    words = ["reproduce", "ablation", "--datasets", str(toy), "--models", "brgcn", "--runs", "1", "--draws", "1"]
    words += ["--out", str(tmp_path / "out"), "--device", "cpu", "--json"]
    with pytest.raises(SystemExit) as stopped:
        main(words)
    assert not stopped.value.code
    rows = json.loads(capsys.readouterr().out)
    assert rows[0]["model"] == "brgcn"
    assert (tmp_path / "out" / "toy-attention.png").exists()
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main(words[:-1])
    assert "…" not in capsys.readouterr().out
    with pytest.raises(SystemExit) as stopped:
        main([*words, "--by", "size"])
    assert stopped.value.code
    assert "there is no 'size' here" in capsys.readouterr().err


def test_random_orders_that_are_not_whole_do_not_count() -> None:
    accuracy = {cut.key: [0.2 if cut.draw else 0.8] for cut in cuts(2)}
    result = {"accuracy": accuracy}
    assert whole_draws(result) == [0, 1]
    del accuracy[Cut("random", 9, 1).key]
    assert whole_draws(result) == [0]
    assert curves(result)["random"] == [[0.8]] * 10
    del accuracy[Cut("random", 9, 0).key]
    assert whole_draws(result) == [0, 1]  # better than none
    assert whole_draws({"accuracy": {}}) == []
