from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from brgcn.data import load_dataset
from brgcn.errors import BrgcnError, DataError, SettingsError
from brgcn.tasks import NodeClassifier


@pytest.fixture
def data(toy: Path):
    return load_dataset(toy, drop_relations=["http://example.org/favourite"])


def test_fit_predict_score(data) -> None:
    train, test = data.splits["train"], data.splits["test"]
    labels = [data.label_names[i] for i in train.labels]
    classifier = NodeClassifier(epochs=40, seed=0, bases=0, l2=0.0, device="cpu").fit(data.graph, train.nodes, labels)
    assert classifier.classes_.tolist() == ["blue", "green", "red"]
    probability = classifier.predict_proba(test.nodes)
    assert probability.shape == (20, 3)
    np.testing.assert_allclose(probability.sum(1), 1, rtol=1e-5)
    predicted = classifier.predict(test.nodes)
    assert (predicted == classifier.classes_[probability.argmax(1)]).all()
    truth = [data.label_names[i] for i in test.labels]
    assert classifier.score(test.nodes, truth) == pytest.approx(np.mean(predicted == truth))
    assert classifier.score(test.nodes, truth) > 0.9  # the toy can be learned; a third is chance
    assert len(classifier.history_) == 40
    assert classifier.predict(test.nodes[:0]).shape == (0,)
    assert classifier.predict(test.nodes.numpy().tolist()).tolist() == predicted.tolist()


def test_features_are_used(data) -> None:
    train, test = data.splits["train"], data.splits["test"]
    features = torch.zeros(data.graph.num_nodes, 3)
    for split in (train, test):
        features[split.nodes, split.labels] = 1.0
    classifier = NodeClassifier(epochs=60, model="rgcn", bases=0, self_connection="inside", l2=0.0, device="cpu")
    classifier.fit(data.graph, train.nodes, train.labels, features=features)
    assert classifier.score(test.nodes, test.labels) == 1.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": lambda n: torch.full((n, 2), torch.nan)}, "NaN or infinity in 109 rows, the first for node 0"),
        ({"features": lambda n: torch.zeros(n - 1, 2)}, r"features must have shape \[109, F\]"),
        ({"labels": lambda y: [0] * len(y)}, "fewer than two classes"),
        ({"labels": lambda y: y[:-1]}, "40 nodes but 39 labels"),
        ({"nodes": lambda x: x + 1000}, r"node ids must lie in 0\.\.108"),
        ({"nodes": lambda x: x.float()}, "must be whole numbers"),
    ],
)
def test_bad_input_is_explained(data, change, message) -> None:
    train = data.splits["train"]
    nodes = change.get("nodes", lambda x: x)(train.nodes)
    labels = change.get("labels", lambda y: y)(train.labels)
    features = change["features"](data.graph.num_nodes) if "features" in change else None
    with pytest.raises(DataError, match=message):
        NodeClassifier(epochs=1, device="cpu").fit(data.graph, nodes, labels, features)


def test_use_before_fit_and_unknown_settings() -> None:
    with pytest.raises(BrgcnError, match="has not been fitted"):
        NodeClassifier().predict([0])
    with pytest.raises(SettingsError, match="Did you mean hidden"):
        NodeClassifier(hiden=3)
    with pytest.raises(BrgcnError, match="unknown device"):
        NodeClassifier(device="toaster").fit(None, [], [])  # type: ignore[arg-type]
