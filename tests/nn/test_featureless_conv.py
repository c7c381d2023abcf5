from __future__ import annotations

import pytest
import torch
from twin import layer_twin, random_edges, tensors

from brgcn.errors import SettingsError
from brgcn.graph import RelationalGraph
from brgcn.nn import MODELS, BRGCNConv, FeaturelessConv
from brgcn.nn.featureless_conv import source_rows
from brgcn.receptive_field import receptive_field

NODES, RELATIONS, OUT = 10, 4, 3


def make(seed: int = 0, **options):
    edges = random_edges(NODES, RELATIONS, 30, seed)
    graph = RelationalGraph.from_edges(*tensors(edges), NODES, RELATIONS)
    torch.manual_seed(seed)
    return edges, graph, FeaturelessConv(graph, OUT, **options).double()


def spread(conv: FeaturelessConv, graph: RelationalGraph) -> dict[str, torch.Tensor]:
    """The rows of the layer put back into matrices [R, N, out] for one-hot features.

    The target half of a_r has a row per pair, so a_r . e_i is a number for each (relation, target)."""
    rows = source_rows(graph)
    weights: dict[str, torch.Tensor] = {}
    for name, parameter in conv.named_parameters():
        if name in ("query", "key", "value"):
            full = parameter.new_zeros(RELATIONS * NODES, OUT).index_copy(0, rows.key, parameter)
            weights[name] = full.view(RELATIONS, NODES, OUT)
        elif name == "attention_source":
            weights[name] = (
                parameter.new_zeros(RELATIONS * NODES).index_copy(0, rows.key, parameter).view(RELATIONS, NODES)
            )
        elif name == "attention_target":
            place = graph.pair_relation * NODES + graph.pair_node
            weights[name] = (
                parameter.new_zeros(RELATIONS * NODES).index_copy(0, place, parameter).view(RELATIONS, NODES)
            )
        elif name == "basis":
            for which in conv.relation_slot.projections:
                coefficients = getattr(conv, f"{which}_coefficients")
                weights[which] = torch.einsum("rb,nbo->rno", coefficients, parameter)
        elif not name.endswith("_coefficients"):
            weights[name] = parameter
    return weights


@pytest.mark.parametrize("model", sorted(MODELS))
@pytest.mark.parametrize("self_connection", ["inside", "relation", "none"])
@pytest.mark.parametrize("num_bases", [0, 2])
def test_equals_one_hot_in_outputs_and_gradients(model, self_connection, num_bases) -> None:
    node_attention, relation_attention = MODELS[model]
    options = {
        "node_attention": node_attention,
        "relation_attention": relation_attention,
        "self_connection": self_connection,
    }
    edges, graph, conv = make(1, num_bases=num_bases, **options)
    one_hot = torch.eye(NODES, dtype=torch.double)
    expected, gamma, _ = layer_twin(one_hot, edges, spread(conv, graph), **options)
    out, attention = conv(graph, return_attention_weights=True)
    torch.testing.assert_close(out, expected)
    assert torch.allclose(attention.edge, torch.stack([gamma[e] for e in range(len(edges))]))
    towards = torch.randn_like(out)
    got = torch.autograd.grad((out * towards).sum(), list(conv.parameters()), allow_unused=True)
    want = torch.autograd.grad((expected * towards).sum(), list(conv.parameters()), allow_unused=True)
    for (name, parameter), g, w in zip(conv.named_parameters(), got, want, strict=True):
        zero = torch.zeros_like(parameter)
        torch.testing.assert_close(zero if g is None else g, zero if w is None else w, msg=name)


def test_equals_the_dense_layer_on_one_hot() -> None:
    _, graph, conv = make(2)
    dense = BRGCNConv(NODES, OUT, RELATIONS).double()
    for name, weight in spread(conv, graph).items():
        getattr(dense, name).data.copy_(weight.data)
    torch.testing.assert_close(conv(graph), dense(torch.eye(NODES, dtype=torch.double), graph))


@pytest.mark.parametrize("num_bases", [0, 2])
@pytest.mark.parametrize("heads", [1, 2])
def test_parts_of_the_graph_give_the_same(num_bases, heads) -> None:
    _, graph, conv = make(3, num_bases=num_bases, heads=heads, dropout=0.4)
    wanted = torch.tensor([7, 2, 9, 2])
    field = receptive_field(graph, wanted, 1)
    part = conv(field.layers[0], seed=5)[field.rows]
    torch.testing.assert_close(part, conv(graph, seed=5)[wanted])


@pytest.mark.parametrize("num_bases", [0, 2])
def test_grown_graph_keeps_what_was_learned(num_bases) -> None:
    edges, graph, conv = make(4, num_bases=num_bases)
    new_node = NODES
    grown_edges = [*edges, (1, 0, new_node), (2, 1, new_node), (new_node, 2, new_node)]
    grown = RelationalGraph.from_edges(*tensors(grown_edges), NODES + 1, RELATIONS)
    rebuilt = conv.rebuilt_for(graph, grown)
    out = rebuilt(grown)
    torch.testing.assert_close(out[:NODES], conv(graph))  # the new edges end in the new node only
    assert out[new_node].isfinite().all()
    assert rebuilt.num_nodes == NODES + 1
    assert {n for n, _ in rebuilt.named_parameters()} == {n for n, _ in conv.named_parameters()}


def test_another_graph_is_refused() -> None:
    _, graph, conv = make(5)
    other = RelationalGraph.from_edges(*tensors(random_edges(NODES, RELATIONS, 12, 9)), NODES, RELATIONS)
    with pytest.raises(SettingsError, match="the graph it was built for"):
        conv(other)
    same_size = RelationalGraph.from_edges(graph.edge_index.flip(0), graph.edge_type, NODES, RELATIONS)
    for wrong in (same_size, receptive_field(same_size, torch.tensor([0, 1]), 1).layers[0]):
        with pytest.raises(SettingsError, match="the graph it was built for"):
            conv(wrong)
    with pytest.raises(SettingsError, match="whole graph"):
        FeaturelessConv(receptive_field(graph, torch.tensor([0]), 1).layers[0], 2)
