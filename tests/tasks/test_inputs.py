"""Literals as features on the whole way: training, evaluation, new nodes, explanation, scikit-learn's form."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from toys import EX

from brgcn import NodeClassifier
from brgcn.config import build
from brgcn.data import Dataset, load_dataset
from brgcn.explain import explain_run
from brgcn.tasks import NodeSettings, RunFolder, evaluate_runs, predict_nodes, train_runs
from brgcn.tasks.inputs import node_inputs

XSD = "http://www.w3.org/2001/XMLSchema#"


@pytest.fixture
def data(tmp_path: Path) -> Dataset:
    """Whether a thing is cheap or dear is in its price alone, and every price is another."""
    lines, labels = [], ["node\tlabel"]
    for k in range(60):
        dear = k % 2
        lines.append(f'<{EX}t{k}> <{EX}price> "{100 * dear + k * 37 % 60}.25"^^<{XSD}decimal> .')
        lines.append(f"<{EX}t{k}> <{EX}soldIn> <{EX}shop{k % 7}> .")
        labels.append(f"{EX}t{k}\t{'dear' if dear else 'cheap'}")
    (tmp_path / "graph.nt").write_text("\n".join(lines) + "\n")
    (tmp_path / "train.tsv").write_text("\n".join(labels[:41]) + "\n")
    (tmp_path / "test.tsv").write_text("\n".join([labels[0], *labels[41:]]) + "\n")
    return load_dataset(tmp_path / "graph.nt", labels=tmp_path / "train.tsv", test_labels=tmp_path / "test.tsv")


def settings(**changes) -> NodeSettings:
    return build(NodeSettings, {"epochs": 60, "literals": "features", "rare": 3, "l2": 0.0, **changes}, "test")


def test_what_models_see(data: Dataset) -> None:
    prices = len(data.literals)
    for literals, edges in (("nodes", 120), ("both", 120), ("features", 120 - prices)):
        graph, features = node_inputs(data.named_graph, settings(literals=literals))
        assert graph.num_edges == 2 * edges
        assert graph.num_nodes == data.graph.num_nodes
        assert (features is None) == (literals == "nodes")


@pytest.mark.parametrize("model", ["brgcn", "rgcn", "gcn"])
def test_a_number_can_be_learned_from(data: Dataset, tmp_path: Path, model: str) -> None:
    if model == "gcn":
        pytest.importorskip("torch_geometric")
    learned = train_runs(data, settings(model=model), tmp_path / "features", runs=2)
    assert learned.result["test_accuracy"]["mean"] > 0.9
    assert evaluate_runs(learned)["test_accuracy"] == learned.result["test_accuracy"]
    lost = train_runs(data, settings(model=model, literals="nodes"), tmp_path / "nodes", runs=2)
    assert lost.result["test_accuracy"]["mean"] < 0.9


def test_the_folder_alone_is_enough(data: Dataset, tmp_path: Path) -> None:
    train_runs(data, settings(), tmp_path / "run")
    folder = RunFolder.open(tmp_path / "run")
    new = tmp_path / "new.nt"
    prices = {"dear": 250, "cheap": 5.5}
    lines = [f'<{EX}{name}> <{EX}price> "{price}"^^<{XSD}decimal> .' for name, price in prices.items()]
    lines += [f"<{EX}{name}> <{EX}soldIn> <{EX}shop1> ." for name in prices]
    new.write_text("\n".join(lines) + "\n")
    found = {row["node"]: row["predicted"] for row in predict_nodes(folder, triples=new).rows()}
    assert found[f"{EX}dear"] == "dear"
    assert found[f"{EX}cheap"] == "cheap"
    assert explain_run(folder).figure.exists()
    test = data.splits["test"]
    loaded = NodeClassifier.load(tmp_path / "run")
    names = [data.label_names[label] for label in test.labels.tolist()]
    assert loaded.score(test.nodes, names) == pytest.approx(folder.result["test_accuracy"]["mean"])


def test_in_python_a_named_graph_brings_the_values(data: Dataset, tmp_path: Path) -> None:
    train, test = data.splits["train"], data.splits["test"]
    chosen = {"epochs": 60, "literals": "features", "rare": 3, "l2": 0.0}
    classifier = NodeClassifier(**chosen, device="cpu", seed=0)
    expected = train_runs(data, settings(), tmp_path / "run").result["test_accuracy"]["mean"]
    assert classifier.fit(data.named_graph, train.nodes, train.labels).score(test.nodes, test.labels) == expected > 0.9
    assert classifier.fit(data.graph, train.nodes, train.labels).score(test.nodes, test.labels) < 0.9
    own = torch.zeros(data.graph.num_nodes, 2)
    own[test.nodes, test.labels] = own[train.nodes, train.labels] = 1.0
    classifier.fit(data.named_graph, train.nodes, train.labels, features=own)
    assert classifier.features_.size(1) == 2 + node_inputs(data.named_graph, settings()).features.size(1)
    assert classifier.score(test.nodes, test.labels) == 1.0


def test_a_graph_without_literals_is_as_it_was(toy: Path) -> None:
    lines = (toy / "graph.nt").read_text().splitlines()
    (toy / "graph.nt").write_text("\n".join(line for line in lines if '"' not in line) + "\n")
    named = load_dataset(toy).named_graph
    graph, features = node_inputs(named, settings())
    assert features is None
    assert torch.equal(graph.edge_source, node_inputs(named, settings(literals="nodes")).graph.edge_source)
