"""What lies between the layers: features beside one-hot nodes, and dropout."""

from __future__ import annotations

import torch
from twin import random_edges, tensors

from brgcn.graph import RelationalGraph
from brgcn.nn import NodeModel
from brgcn.nn.featureless_conv import FeaturelessConv

NODES, RELATIONS, HIDDEN = 10, 3, 4


def make(**options):
    graph = RelationalGraph.from_edges(*tensors(random_edges(NODES, RELATIONS, 30, 0)), NODES, RELATIONS)
    torch.manual_seed(0)
    both = {"node_attention": True, "relation_attention": True, "hidden": HIDDEN}
    return graph, NodeModel(graph, 2, **both, **options).double()


def test_features_are_added_to_what_one_hot_nodes_give() -> None:
    graph, model = make(num_features=5, one_hot=True)
    first, second = model.layers
    assert isinstance(first, FeaturelessConv)
    x = torch.randn(NODES, 5, dtype=torch.double)
    hidden = first(graph) + x @ model.input.weight.T + model.input.bias
    torch.testing.assert_close(model((graph, graph), x), second(hidden, graph))


def test_features_alone_replace_one_hot_nodes() -> None:
    graph, model = make(num_features=5)
    assert not any(isinstance(layer, FeaturelessConv) for layer in model.layers)
    assert model((graph, graph), torch.randn(NODES, 5, dtype=torch.double)).shape == (NODES, 2)


def test_one_layer_gives_scores_from_both() -> None:
    graph, model = make(num_features=5, one_hot=True, num_layers=1, heads=2)
    assert model((graph,), torch.randn(NODES, 5, dtype=torch.double)).shape == (NODES, 2)


def test_hidden_dropout_drops_its_share_and_keeps_the_mean() -> None:
    graph, model = make(hidden_dropout=0.25)
    model.train()
    h = torch.ones(NODES, HIDDEN, dtype=torch.double)
    dropped = torch.stack([model._dropped(h, graph, seed) for seed in range(400)])
    assert set(dropped.unique().tolist()) == {0.0, 1 / 0.75}
    assert abs(float((dropped == 0).double().mean()) - 0.25) < 0.02
    assert float((dropped == 0).double().mean(0).max()) < 0.4  # no place is dropped always
    assert model._dropped(h, graph, 3).equal(model._dropped(h, graph, 3))
    assert model.eval()._dropped(h, graph, 3) is h
