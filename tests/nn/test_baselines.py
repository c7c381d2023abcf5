"""The baselines are PyG's layers on one-hot nodes, and on a cut graph they compute what they compute on the whole."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from brgcn.errors import SettingsError
from brgcn.graph import RelationalGraph
from brgcn.nn.baselines import BASELINES, NEEDS_WHOLE_GRAPH, MajorityClass, PygBaseline
from brgcn.receptive_field import receptive_field

pyg = pytest.importorskip("torch_geometric.nn")
KINDS = [name for name in BASELINES if name != "majority"]
NODES, RELATIONS, CLASSES = 12, 4, 3


@pytest.fixture
def graph() -> RelationalGraph:
    random = torch.Generator().manual_seed(3)
    edges = torch.randint(NODES - 1, (2, 30), generator=random)  # the last node has no edge
    kinds = torch.randint(RELATIONS, (30,), generator=random)
    return RelationalGraph.from_edges(edges, kinds, NODES, RELATIONS).with_inverse()


def build(kind: str, graph: RelationalGraph, **options) -> PygBaseline:
    torch.manual_seed(0)
    return PygBaseline(kind, graph, CLASSES, hidden=8, **options).eval()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in NEEDS_WHOLE_GRAPH])
@pytest.mark.parametrize("heads", [1, 2])
def test_a_cut_graph_gives_the_same_scores(kind: str, heads: int, graph: RelationalGraph) -> None:
    model = build(kind, graph, heads=heads)
    nodes = torch.tensor([7, 2, NODES - 1])
    field = receptive_field(graph, nodes, 2)
    torch.testing.assert_close(model(field.layers)[field.rows], model((graph, graph))[nodes])


def test_the_table_is_the_first_map_of_one_hot_nodes(graph: RelationalGraph) -> None:
    """Layer by layer against PyG's own, given one-hot vectors and the table as its first matrix."""
    one_hot = torch.eye(NODES)
    edges, kinds = graph.edge_index, graph.edge_type
    for kind in KINDS:
        model = build(kind, graph)
        layer, table = model.layers[0], model.table
        if kind == "gat":
            twin = pyg.GATConv(NODES, 8)
            twin.lin.weight.data, twin.att_src.data, twin.att_dst.data = table.T, layer.att_src, layer.att_dst
            expected = twin(one_hot, edges)
        elif kind == "gcn":
            twin = pyg.GCNConv(NODES, 8)
            twin.lin.weight.data = table.T
            expected = twin(one_hot, edges)
        elif kind == "gin":
            map_of_nodes = nn.Linear(NODES, 8, bias=False)
            map_of_nodes.weight.data = table.T
            expected = pyg.GINConv(nn.Sequential(map_of_nodes, *layer.nn[1:]))(one_hot, edges)
        else:
            names = [("node", str(r), "node") for r in range(graph.num_relations)]
            twin = pyg.HANConv(NODES, 8, (["node"], names))
            twin.load_state_dict(layer.state_dict(), strict=False)
            twin.proj["node"].weight.data, twin.proj["node"].bias.data = table.T, torch.zeros(8)
            of = {name: edges[:, kinds == r] for r, name in enumerate(names) if (kinds == r).any()}
            expected = twin({"node": one_hot}, of)["node"]
        torch.testing.assert_close(model._convolve(layer, table, graph), expected, msg=kind)


@pytest.mark.parametrize("kind", KINDS)
def test_given_features_and_one_layer(kind: str, graph: RelationalGraph) -> None:
    x = torch.randn(NODES, 5)
    assert build(kind, graph, num_features=5)((graph, graph), x).shape == (NODES, CLASSES)
    assert build(kind, graph, num_layers=1, heads=2)((graph,)).shape == (NODES, CLASSES)
    with pytest.raises(SettingsError, match="none were given"):
        build(kind, graph, num_features=5)((graph, graph))


@pytest.mark.parametrize("kind", KINDS)
def test_dropout_follows_its_seed(kind: str, graph: RelationalGraph) -> None:
    model = build(kind, graph, dropout=0.5, hidden_dropout=0.5).train()
    outputs = [model((graph, graph), seed=seed) for seed in (1, 1, torch.tensor([[2, 3]]))]
    assert outputs[0].equal(outputs[1])
    assert not outputs[0].equal(outputs[2])
    before = torch.random.get_rng_state()
    model((graph, graph), seed=5)
    assert torch.random.get_rng_state().equal(before)


def test_the_majority_class_is_what_a_bias_learns(graph: RelationalGraph) -> None:
    model = MajorityClass(CLASSES, 2)
    labels = torch.tensor([0, 2, 2, 1, 2])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(20):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model((graph, graph))[:5], labels).backward()
        optimizer.step()
    assert model((graph, graph)).argmax(-1).tolist() == [2] * NODES


@pytest.mark.parametrize("kind", KINDS)
def test_side_by_side_each_is_what_it_is_alone(kind: str, graph: RelationalGraph) -> None:
    models = [build(kind, graph) for _ in range(3)]
    for number, model in enumerate(models):
        for parameter in model.parameters():
            parameter.data += 0.1 * number
    together = PygBaseline.together(models)
    scores = together((graph, graph))
    assert scores.shape == (NODES, 3, CLASSES)
    assert together.replicas == 3
    for number, model in enumerate(models):
        assert scores[:, number].equal(model((graph, graph)))
        assert together.apart(number) is model


@pytest.mark.parametrize("kind", KINDS)
def test_a_graph_without_edges(kind: str) -> None:
    empty = torch.zeros(2, 0, dtype=torch.long), torch.zeros(0, dtype=torch.long)
    graph = RelationalGraph.from_edges(*empty, NODES, RELATIONS).with_inverse()
    scores = build(kind, graph)((graph, graph))
    assert scores.shape == (NODES, CLASSES)
    assert scores.isfinite().all()


@pytest.mark.parametrize("kind", KINDS)
def test_features_join_as_in_our_models(kind: str, graph: RelationalGraph) -> None:
    """Beside one-hot nodes they are added to the activated result of the first layer; alone they are dropped out."""
    x = torch.randn(NODES, 5)
    both = build(kind, graph, num_features=5, one_hot=True, normalise=True)
    twin = build(kind, graph, normalise=True)
    twin.load_state_dict({name: value for name, value in both.state_dict().items() if not name.startswith("input")})
    activated = torch.nn.functional.elu if kind == "gat" else torch.relu
    hidden = activated(twin._convolve(twin.layers[0], twin._input(graph, None)[0], graph)) + both.input(x)
    hidden = torch.nn.functional.layer_norm(hidden, hidden.shape[-1:])
    expected = twin._convolve(twin.layers[1], hidden, graph)
    if kind == "han":
        expected = twin.output(torch.relu(expected))
    torch.testing.assert_close(both((graph, graph), x), expected)
    alone = build(kind, graph, num_features=5, hidden_dropout=0.9).train()
    first = [alone((graph, graph), x, seed=seed) for seed in (1, 2)]
    assert not first[0].equal(first[1])


def test_alone_and_grown(graph: RelationalGraph) -> None:
    model = build("gat", graph)
    assert PygBaseline.together([model]) is model.apart(0)
    with pytest.raises(SettingsError, match="only the nodes"):
        model.rebuilt_for(graph, graph)
