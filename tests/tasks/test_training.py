from __future__ import annotations

import pytest
import torch
from twin import random_edges, tensors

from brgcn.config import build
from brgcn.errors import DataError
from brgcn.graph import RelationalGraph
from brgcn.nn import BASELINES
from brgcn.tasks.cross_validation import cross_validate
from brgcn.tasks.settings import MODEL_NAMES, NodeSettings, read_settings
from brgcn.tasks.trainer import NodeTrainer
from brgcn.tasks.training import build_model, logits, prepare_graph


def problem(num_nodes: int = 40):
    graph = RelationalGraph.from_edges(*tensors(random_edges(num_nodes, 4, 160, 0)), num_nodes, 4).with_inverse()
    nodes = torch.arange(30)
    return graph, nodes, (nodes * 7 % 3)


def trainer(seed: int | list[int] = 0, **settings) -> NodeTrainer:
    graph, nodes, labels = problem()
    return NodeTrainer(graph, nodes, labels, 3, build(NodeSettings, settings, "test"), seed)


def records_of(trained: NodeTrainer, run: int = 0) -> list[dict]:
    return [record for records in trained.epochs() for place, record in records if place == run]


@pytest.mark.parametrize("patience", [0, 3])
@pytest.mark.parametrize("refit", [True, False])
@pytest.mark.parametrize("model", ["brgcn", "rgcn", "gat"])
def test_continuing_equals_never_stopping(patience, refit, model) -> None:
    if model == "gat":
        pytest.importorskip("torch_geometric")
    options = {"epochs": 8, "patience": patience, "refit": refit, "dropout": 0.3, "hidden_dropout": 0.2, "model": model}
    whole = trainer([0, 5], **options)
    records = list(whole.epochs())
    for stop in range(len(records)):
        first = trainer([0, 5], **options)
        steps = first.epochs()
        got = [next(steps) for _ in range(stop)]
        tensors_, progress = first.state()
        second = trainer([0, 5], **options)
        second.restore({name: value.clone() for name, value in tensors_.items()}, progress)
        got += list(second.epochs())
        assert got == records
        for run in (0, 1):
            for name, value in whole.trained(run).state_dict().items():
                assert second.trained(run).state_dict()[name].equal(value), (stop, name)


@pytest.mark.parametrize(
    "settings",
    [
        {"dropout": 0.4, "heads": 2, "bases": 2},
        {"patience": 3, "bases": 0, "class_weights": True, "self_connection": "relation"},
        {"patience": 3, "refit": False, "dropout": 0.2},
        {"model": "rgcn"},
        {"hidden_dropout": 0.5, "heads": 2, "counts": "log", "rare": 3},
        {"normalise": True, "hidden_dropout": 0.3, "heads": 2},
        {"model": "gat", "dropout": 0.0, "hidden_dropout": 0.0},
    ],
)
def test_runs_together_are_the_runs_alone(settings) -> None:
    seeds = [3, 0, 2**40 + 1]
    wide = trainer(seeds, epochs=12, **settings)
    together = list(wide.epochs())
    graph, nodes, _ = problem()
    for run, seed in enumerate(seeds):
        alone = trainer(seed, epochs=12, **settings)
        mine = [record for records in together for place, record in records if place == run]
        for a, b in zip(records_of(alone), mine, strict=True):
            assert a["loss"] == pytest.approx(b["loss"], rel=2e-4)
            assert (a["phase"], a["epoch"]) == (b["phase"], b["epoch"])
        assert alone.epochs_trained() == wide.epochs_trained(run)
        torch.testing.assert_close(
            logits(alone.trained(), graph, nodes, alone.settings),
            logits(wide.trained(run), graph, nodes, wide.settings),
            rtol=1e-3,
            atol=1e-3,
        )


@pytest.mark.parametrize("one_hot", [False, True])
def test_features_of_runs_together(one_hot: bool) -> None:
    graph, nodes, labels = problem()
    features = torch.randn(40, 5, generator=torch.Generator().manual_seed(0))
    settings = NodeSettings(epochs=5, one_hot=one_hot)
    wide = NodeTrainer(graph, nodes, labels, 3, settings, [1, 2], features=features)
    together = list(wide.epochs())
    alone = NodeTrainer(graph, nodes, labels, 3, settings, 2, features=features)
    last = records_of(alone)[-1]
    assert together[-1][1][1]["loss"] == pytest.approx(last["loss"], rel=1e-4)


def test_same_seed_same_run_other_seed_other_run() -> None:
    first, same, other = (list(trainer(seed=s, epochs=4, dropout=0.5).epochs()) for s in (1, 1, 2))
    assert first == same
    assert first != other


def test_training_does_not_touch_the_users_random_numbers() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    list(trainer(epochs=2, dropout=0.5).epochs())
    assert torch.rand(3).equal(expected)


@pytest.mark.parametrize(
    "settings",
    [
        {"dropout": 0.4},
        {"bases": 2, "heads": 2},
        {"self_connection": "relation"},
        {"hidden_dropout": 0.5, "counts": "log", "rare": 3},
        {"model": "gat", "heads": 2, "dropout": 0.0},
        {"model": "gcn", "rare": 3},
    ],
)
def test_receptive_field_changes_nothing_but_speed(settings) -> None:
    cut, whole = (trainer(epochs=5, receptive_field=value, **settings) for value in (True, False))
    for a, b in zip(records_of(cut), records_of(whole), strict=True):
        assert a["loss"] == pytest.approx(b["loss"], rel=1e-4)
    graph, nodes, _ = problem()
    torch.testing.assert_close(
        logits(cut.trained(), graph, nodes, cut.settings),
        logits(whole.trained(), graph, nodes, whole.settings),
        rtol=1e-3,
        atol=1e-4,
    )


def test_early_stopping_refits_on_all_labels_for_the_best_number_of_epochs() -> None:
    one = trainer(epochs=40, patience=4)
    records = records_of(one)
    select = [r for r in records if r["phase"] == "select"]
    fit = [r for r in records if r["phase"] == "fit"]
    best = max(select, key=lambda r: (r["validation_accuracy"], -r["validation_loss"]))["epoch"]
    assert len(select) == min(40, best + 4)
    assert len(fit) == best == one.epochs_trained()
    assert one.parts["train"].labels.numel() == 30  # all labels in the end
    assert int(one.held.sum()) == 6


def test_without_refit_the_best_weights_are_kept() -> None:
    one = trainer(epochs=30, patience=3, refit=False)
    measured = {r["epoch"]: r["validation_accuracy"] for r in records_of(one)}
    one.model.load_state_dict(one.trained().state_dict())
    assert float(one.measure(one.parts["validation"])[1]) == measured[one.epochs_trained()] == max(measured.values())


def test_class_weights_count_every_class_the_same() -> None:
    graph, nodes, _ = problem()
    labels = torch.tensor([0] * 20 + [1] * 10)
    one = NodeTrainer(graph, nodes, labels, 3, NodeSettings(class_weights=True), 0)
    weight = one.parts["train"].weight[:, 0]
    torch.testing.assert_close(weight, torch.tensor([1 / 40] * 20 + [1 / 20] * 10))


def test_decay_of_attention_has_its_own_strength() -> None:
    one = trainer(l2=0.5, attention_l2=0.0, bases=0, self_connection="outside")
    groups = {group["weight_decay"]: {id(p) for p in group["params"]} for group in one.optimizer.param_groups}
    named = dict(one.model.named_parameters())
    assert {n for n, p in named.items() if id(p) in groups[0.5]} == {
        "layers.0.value",
        "layers.1.value",
        "layers.1.root",
    }
    assert len(groups[0.5]) + len(groups[0.0]) == len(named)


@pytest.mark.parametrize("model", MODEL_NAMES)
def test_settings_that_a_model_does_not_read_change_nothing(model: str) -> None:
    if model in BASELINES and model != "majority":
        pytest.importorskip("torch_geometric")
    others = {"bases": 3, "self_connection": "outside", "input_self_connection": "inside", "aggregate": "mean"}
    others |= {"scaled": True, "counts": "log", "attention_l2": 0.3, "heads": 2, "dropout": 0.4, "negative_slope": 0.7}
    others |= {"hidden": 5, "literals": "nodes", "rare": 4, "one_hot": True, "hidden_dropout": 0.1, "normalise": True}
    read = read_settings(NodeSettings(model=model))
    unread = {name: value for name, value in others.items() if name not in read}
    assert bool(unread) == (model != "brgcn")
    usual, changed = trainer(3, epochs=4, model=model), trainer(3, epochs=4, model=model, **unread)
    assert records_of(usual) == records_of(changed)
    for name, value in usual.trained().state_dict().items():
        assert changed.trained().state_dict()[name].equal(value)


def test_one_step_of_adam_on_the_loss_of_the_twin() -> None:
    """The loss is the mean cross-entropy over the training labels of softmax(logits)."""
    one = trainer(epochs=1, l2=0.0, dropout=0.0, hidden_dropout=0.0)
    graph, nodes, labels = problem()
    fresh = build_model(graph, 3, one.settings, 0)
    probability = logits(fresh, graph, nodes, one.settings).softmax(-1)
    expected = -sum(float(probability[i, int(labels[i])].log()) for i in range(30)) / 30
    assert next(one.epochs())[0][1]["loss"] == pytest.approx(expected, rel=1e-5)


def test_inverse_relations_are_added_once() -> None:
    graph, _, _ = problem()
    assert prepare_graph(graph, NodeSettings()) is graph
    plain = RelationalGraph.from_edges(torch.tensor([[0], [1]]), torch.tensor([0]), 2, 1)
    assert prepare_graph(plain, NodeSettings()).has_inverse
    assert prepare_graph(plain, NodeSettings(inverse=False)) is plain


def test_no_labels_and_broken_loss_are_explained() -> None:
    graph, nodes, labels = problem()
    with pytest.raises(DataError, match="no training labels"):
        NodeTrainer(graph, nodes[:0], labels[:0], 3, NodeSettings(), 0)
    with pytest.raises(DataError, match="the loss became"):
        list(trainer(learning_rate=1e30, epochs=20, l2=0.0).epochs())


def test_cross_validation_measures_the_fold_left_out() -> None:
    graph, nodes, labels = problem()
    settings = NodeSettings(epochs=3, bases=0)
    curves = cross_validate(graph, nodes, labels, 3, settings, folds=3, repeats=2)
    assert [len(curve) for curve in curves["accuracy"]] == [3] * 6
    again = cross_validate(graph, nodes, labels, 3, settings, folds=3, repeats=2)
    assert curves == again
    from brgcn.tasks.splits import stratified_folds

    held = stratified_folds(labels, 3, 0) == 1
    alone = NodeTrainer(graph, nodes[~held], labels[~held], 3, settings, 0)
    list(alone.epochs())
    right = logits(alone.trained(), graph, nodes[held], settings).argmax(-1) == labels[held]
    assert curves["accuracy"][1][-1] == pytest.approx(float(right.double().mean()))
