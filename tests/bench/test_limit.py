from __future__ import annotations

import pytest
import torch
from small_subjects import CPU

from brgcn.bench import BenchGraph
from brgcn.bench.limit import (
    epoch_bytes,
    feature_operator_bytes,
    featureless_operator_bytes,
    index_bytes,
    layer_bytes,
    operator_epoch_bytes,
    operator_layer_bytes,
)
from brgcn.bench.task import EpochTask, LayerTask
from brgcn.graph import RelationalGraph

# Three nodes; node 2 has a pair of relation 0 with two edges and a pair of relation 1 with one edge.
GRAPH = RelationalGraph.from_edges(torch.tensor([[0, 1, 0], [2, 2, 2]]), torch.tensor([0, 0, 1]), 3, 2)


def test_index_arrays() -> None:
    node_ptr, pair_ptr, pair_relation, edge_source = 4, 3, 2, 3
    assert index_bytes(GRAPH) == 4 * (node_ptr + pair_ptr + pair_relation + edge_source)


@pytest.mark.parametrize(("backward", "factor"), [(False, 1), (True, 2)])
def test_a_layer(backward: bool, factor: int) -> None:
    features, output, parameters = 4 * 3 * 5, 4 * 3 * 5, 1000
    task = LayerTask(GRAPH, 5, backward, CPU)
    assert layer_bytes(task, parameters, 48) == factor * (features + output + parameters) + 48


def test_the_operators_of_a_layer() -> None:
    node_level = 3 * 5 + 2 * 5  # features of three nodes in, two pairs out
    typed_linear = 2 * 5 + 2 * 3 * 7
    relation_level = 2 * 3 * 7 + 3 * 7 + 3 * 7  # query, key and value, the root, the output
    assert feature_operator_bytes(GRAPH, 5, 7, 3) == 4 * (node_level + typed_linear + relation_level)
    rows = 3  # (0, node 0), (0, node 1), (1, node 0)
    assert featureless_operator_bytes(GRAPH, 7, 3) == 4 * (rows * 21 + (rows + 2) * 21 + 2 * 21 + 3 * 7)
    forward = operator_layer_bytes(LayerTask(GRAPH, 5, False, CPU), 1000, 3)
    assert forward == feature_operator_bytes(GRAPH, 5, 5, 3) + 1000 + 48
    assert operator_layer_bytes(LayerTask(GRAPH, 5, True, CPU), 1000, 3) == 3 * forward


def test_an_epoch() -> None:
    task = EpochTask(BenchGraph("hand", GRAPH, torch.tensor([2]), torch.tensor([0]), 2), "full", CPU)
    scores, label = 4 * 1 * 2, 8
    assert epoch_bytes(task, 1000, 48) == 4 * 1000 + 48 + label + 2 * scores
    activations = featureless_operator_bytes(GRAPH, 16, 3) + feature_operator_bytes(GRAPH, 16, 2, 3)
    assert operator_epoch_bytes(task, 16, 1000, 3) == 3 * (activations + 1000 + 48) + 4 * 1000
