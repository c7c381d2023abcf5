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
    key = source_rows(graph).key
    occurring = torch.div(key, NODES + 1, rounding_mode="floor") * NODES + key % (NODES + 1)
    weights: dict[str, torch.Tensor] = {}
    for name, parameter in conv.named_parameters():
        if name in ("query", "key", "value"):
            full = parameter.new_zeros(RELATIONS * NODES, OUT).index_copy(0, occurring, parameter)
            weights[name] = full.view(RELATIONS, NODES, OUT)
        elif name == "attention_source":
            weights[name] = (
                parameter.new_zeros(RELATIONS * NODES).index_copy(0, occurring, parameter).view(RELATIONS, NODES)
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


@pytest.mark.parametrize("num_bases", [0, 2])
def test_rare_sources_share_a_row(num_bases: int) -> None:
    """The same as a layer without sharing in which the rows of rare sources are equal."""
    rare = 3
    _, graph, shared = make(num_bases=num_bases, rare=rare)
    _, _, plain = make(num_bases=num_bases)
    ids, of_edge, count = torch.unique(
        graph.edge_type * (NODES + 1) + graph.edge_source, return_inverse=True, return_counts=True
    )
    assert (count < rare).any()
    assert (count >= rare).any()
    rows = source_rows(graph, rare)
    assert rows.key.numel() < ids.numel()
    row_of = torch.empty_like(ids)
    row_of[of_edge] = rows.of_edge  # of each (relation, source), the row it has in the shared layer
    with torch.no_grad():
        for name, parameter in plain.named_parameters():
            if name in ("query", "key", "value", "attention_source"):
                parameter.copy_(getattr(shared, name)[row_of])
            elif name != "basis":  # bases belong to nodes: the twin is made of the mixed rows, see below
                parameter.copy_(getattr(shared, name))
    if not num_bases:
        torch.testing.assert_close(shared(graph), plain(graph))
        return
    _, _, mixed = make()
    relation, source = torch.div(rows.key, NODES + 1, rounding_mode="floor"), rows.key % (NODES + 1)
    with torch.no_grad():
        for name in ("query", "key", "value"):
            coefficients = getattr(shared, f"{name}_coefficients")[relation]
            table = torch.einsum("mb,mbo->mo", coefficients, shared.basis[source])
            getattr(mixed, name).copy_(table[row_of])
        for name in ("attention_source", "attention_target", "root"):
            getattr(mixed, name).copy_(getattr(plain, name))
    torch.testing.assert_close(shared(graph), mixed(graph))


@pytest.mark.parametrize("num_bases", [0, 2])
def test_new_sources_of_a_grown_graph_are_rare(num_bases: int) -> None:
    edges, graph, conv = make(num_bases=num_bases, rare=3)
    new = [(NODES, 1, 0), (NODES, 1, 2), (NODES, 1, 3), (NODES, 1, 4), (0, 0, NODES)]
    grown = RelationalGraph.from_edges(*tensors([*edges, *new]), NODES + 1, RELATIONS)
    rebuilt = conv.rebuilt_for(graph, grown)
    rows = source_rows(graph, 3)
    own = {int(key) for key in rows.key if int(key) % (NODES + 1) < NODES}
    for edge in range(grown.num_edges):
        relation, source = int(grown.edge_type[edge]), int(grown.edge_source[edge])
        kept = source < NODES and relation * (NODES + 1) + source in own
        expected = relation * (NODES + 2) + (source if kept else NODES + 1)
        assert int(rebuilt.row_key[rebuilt.edge_row[edge]]) == expected
    if num_bases:
        assert rebuilt.basis[-1].equal(conv.basis[-1])
    # nodes that nothing new leads to are scored as before
    untouched = [node for node in range(NODES) if node not in {0, 2, 3, 4}]
    torch.testing.assert_close(rebuilt(grown)[untouched], conv(graph)[untouched])
