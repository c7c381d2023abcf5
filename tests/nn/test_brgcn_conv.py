from __future__ import annotations

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from twin import layer_twin, random_edges, tensors

from brgcn.errors import SettingsError
from brgcn.graph import RelationalGraph
from brgcn.nn import MODELS, BRGCNConv

IN, OUT, NODES, RELATIONS = 5, 4, 9, 4


def make(seed: int = 0, num_edges: int = 25, **options):
    edges = random_edges(NODES, RELATIONS, num_edges, seed)
    edge_index, edge_type = tensors(edges)
    graph = RelationalGraph.from_edges(edge_index, edge_type, NODES, RELATIONS)
    torch.manual_seed(seed)
    conv = BRGCNConv(IN, OUT, RELATIONS, **options).double()
    x = torch.randn(NODES, IN, dtype=torch.double)
    return edges, graph, conv, x


def twin_options(options: dict) -> dict:
    return {("relu" if k == "activation" else k): (v == "relu" if k == "activation" else v) for k, v in options.items()}


ALL = list(itertools.product(MODELS.values(), ("inside", "outside", "relation", "none"), ("sum", "mean")))


@pytest.mark.parametrize(("slots", "self_connection", "aggregate"), ALL)
def test_equals_the_twin_in_outputs_gradients_and_attention(slots, self_connection, aggregate) -> None:
    options = {
        "node_attention": slots[0],
        "relation_attention": slots[1],
        "self_connection": self_connection,
        "aggregate": aggregate,
    }
    edges, graph, conv, x = make(**options)
    x.requires_grad_()
    weights = dict(conv.named_parameters())
    expected, gamma, psi = layer_twin(x, edges, weights, **options)
    out, attention = conv(x, graph, return_attention_weights=True)
    torch.testing.assert_close(out, expected, rtol=1e-10, atol=1e-12)

    inputs = [x, *weights.values()]
    towards = torch.randn_like(out)
    got = torch.autograd.grad((out * towards).sum(), inputs, allow_unused=True)
    want = torch.autograd.grad((expected * towards).sum(), inputs, allow_unused=True)
    for name, g, w in zip(["x", *weights], got, want, strict=True):
        zero = torch.zeros_like(dict(zip(["x", *weights], inputs, strict=True))[name])
        torch.testing.assert_close(zero if g is None else g, zero if w is None else w, rtol=1e-9, atol=1e-11, msg=name)

    assert torch.allclose(attention.edge, torch.stack([gamma[e] for e in range(len(edges))]))
    if slots[1]:
        rows = attention.relation
        relation = [r if r < RELATIONS else -1 for r in rows.relation.tolist()]
        attended = [r if r < RELATIONS else -1 for r in rows.attended_relation.tolist()]
        keys = list(zip(rows.node.tolist(), relation, attended, strict=True))
        assert sorted(keys) == sorted(psi)
        assert torch.allclose(rows.weight, torch.stack([psi[key] for key in keys]))
    else:
        assert attention.relation is None


@pytest.mark.parametrize(
    "options",
    [
        {"activation": None},
        {"negative_slope": 0.0},
        {"scaled": True},
        {"counts": "log"},
        {"counts": "sqrt", "node_attention": False},
        {"counts": "sqrt", "relation_attention": False},
        {"counts": "share", "node_attention": False, "relation_attention": False},
    ],
)
def test_other_options_equal_the_twin(options) -> None:
    edges, graph, conv, x = make(3, **options)
    given = {"relu": False} if "activation" in options else options
    expected, _, _ = layer_twin(x, edges, dict(conv.named_parameters()), **given)
    torch.testing.assert_close(conv(x, graph), expected)


@given(
    st.integers(1, 8),
    st.integers(1, 5),
    st.integers(0, 30),
    st.integers(0, 10_000),
    st.sampled_from(sorted(MODELS)),
    st.sampled_from(["inside", "outside", "relation", "none"]),
)
@settings(deadline=None, max_examples=60)
def test_any_graph_equals_the_twin(num_nodes, num_relations, num_edges, seed, model, self_connection) -> None:
    edges = random_edges(num_nodes, num_relations, num_edges, seed)
    node_attention, relation_attention = MODELS[model]
    options = {
        "node_attention": node_attention,
        "relation_attention": relation_attention,
        "self_connection": self_connection,
    }
    conv = BRGCNConv(3, 2, num_relations, **options).double()
    x = 3 * torch.randn(num_nodes, 3, dtype=torch.double)
    expected, _, _ = layer_twin(x, edges, dict(conv.named_parameters()), **options)
    edge_index, edge_type = tensors(edges)
    torch.testing.assert_close(conv(x, edge_index, edge_type), expected)


@pytest.mark.parametrize("model", sorted(MODELS))
@pytest.mark.parametrize("extra", [{}, {"num_bases": 2}, {"heads": 2}, {"heads": 2, "num_bases": 2, "concat": False}])
def test_gradcheck(model, extra) -> None:
    node_attention, relation_attention = MODELS[model]
    options = {"activation": None, "node_attention": node_attention, "relation_attention": relation_attention, **extra}
    _, graph, conv, x = make(1, 12, **options)
    parameters = list(conv.parameters())
    for parameter in parameters:
        parameter.data.uniform_(-0.5, 0.5)
    assert torch.autograd.gradcheck(lambda x, *_: conv(x, graph), (x.requires_grad_(), *parameters))


def test_order_of_edges_does_not_matter() -> None:
    edges, graph, conv, x = make(5)
    edge_index, edge_type = tensors(edges)
    out, attention = conv(x, edge_index, edge_type, return_attention_weights=True)
    assert out.equal(conv(x, graph, return_attention_weights=True)[0])  # bit for bit: the layout sorts them
    torch.testing.assert_close(out, conv(x, graph))  # attention is shown by the reference, computed by fused operators
    shuffle = torch.randperm(len(edges))
    again, attention_again = conv(x, edge_index[:, shuffle], edge_type[shuffle], return_attention_weights=True)
    assert out.equal(again)
    assert torch.allclose(attention_again.edge, attention.edge[shuffle])


def test_attention_sums_to_one() -> None:
    edges, graph, conv, x = make(7, 60, heads=3)
    _, attention = conv(x, graph, return_attention_weights=True)
    totals: dict[tuple[int, int], torch.Tensor] = {}
    for weight, (_, relation, target) in zip(attention.edge, edges, strict=True):
        totals[(target, relation)] = totals.get((target, relation), 0) + weight
    assert all(torch.allclose(total, torch.ones(3, dtype=torch.double)) for total in totals.values())
    totals.clear()
    rows = attention.relation
    for node, relation, weight in zip(rows.node.tolist(), rows.relation.tolist(), rows.weight, strict=True):
        totals[(node, relation)] = totals.get((node, relation), 0) + weight
    assert all(torch.allclose(total, torch.ones(3, dtype=torch.double)) for total in totals.values())
    assert set(totals) == {(target, relation) for _, relation, target in edges}


def test_rgcn_filling_equals_pyg() -> None:
    rgcn = pytest.importorskip("torch_geometric.nn").RGCNConv
    edges, graph, conv, x = make(2, 60, node_attention=False, relation_attention=False, activation=None)
    edge_index, edge_type = tensors(edges)
    theirs = rgcn(IN, OUT, RELATIONS, aggr="mean", bias=False).double()
    theirs.weight.data.copy_(conv.value.data)
    theirs.root.data.copy_(conv.root.data)
    x.requires_grad_()
    ours_out, theirs_out = conv(x, graph), theirs(x, edge_index, edge_type)
    torch.testing.assert_close(ours_out, theirs_out)
    towards = torch.randn_like(ours_out)
    ours = torch.autograd.grad((ours_out * towards).sum(), [x, conv.value, conv.root])
    other = torch.autograd.grad((theirs_out * towards).sum(), [x, theirs.weight, theirs.root])
    for a, b in zip(ours, other, strict=True):
        torch.testing.assert_close(a, b)


def test_bases_are_a_mixture_of_shared_matrices() -> None:
    edges, graph, conv, x = make(4, num_bases=3)
    weights = {
        name: torch.einsum("rb,bio->rio", getattr(conv, f"{name}_coefficients"), conv.basis)
        for name in ("query", "key", "value")
    }
    weights |= {k: v for k, v in conv.named_parameters() if k.startswith(("attention", "root"))}
    expected, _, _ = layer_twin(x, edges, weights)
    torch.testing.assert_close(conv(x, graph), expected)


@pytest.mark.parametrize("model", sorted(MODELS))
@pytest.mark.parametrize("heads", [1, 2])
def test_bases_first_or_matrices_first(monkeypatch: pytest.MonkeyPatch, model: str, heads: int) -> None:
    """Pairs times bases, or a matrix for each relation: the same, whichever is less work."""
    node_attention, relation_attention = MODELS[model]
    _, graph, conv, x = make(
        num_bases=2, heads=heads, node_attention=node_attention, relation_attention=relation_attention
    )
    x.requires_grad_()
    inputs = [x, *conv.parameters()]
    towards = torch.randn(NODES, heads * OUT, dtype=torch.double)
    found = []
    for first in (True, False):
        monkeypatch.setattr(conv, "_bases_come_first", lambda graph, first=first: first)
        out = conv(x, graph)
        found.append([out, *torch.autograd.grad((out * towards).sum(), inputs)])
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b)


def test_bases_come_first_where_they_are_few_or_relations_many() -> None:
    def graph(relations: int) -> RelationalGraph:
        return RelationalGraph.from_edges(*tensors(random_edges(90, RELATIONS, 900, 0)), 90, relations)

    for relations, bases, first in ((4, 0, False), (4, 1, True), (4, 8, False), (400, 8, True)):
        assert BRGCNConv(IN, OUT, relations, num_bases=bases)._bases_come_first(graph(relations)) == first


@pytest.mark.parametrize("model", sorted(MODELS))
def test_blocks_stand_on_the_diagonal(model: str) -> None:
    node_attention, relation_attention = MODELS[model]
    options = {"node_attention": node_attention, "relation_attention": relation_attention}
    edges, graph, _, _ = make(4)
    conv = BRGCNConv(6, 4, RELATIONS, num_blocks=2, heads=2, concat=False, **options).double()
    x = torch.randn(NODES, 6, dtype=torch.double)
    outs = []
    for head in range(2):
        weights = {name: p[head] if name == "root" else p[:, head] for name, p in conv.named_parameters()}
        for name in set(weights) & {"query", "key", "value"}:
            assert weights[name].shape == (RELATIONS, 2, 3, 2)
            weights[name] = torch.stack([torch.block_diag(*of_relation) for of_relation in weights[name]])
        outs.append(layer_twin(x, edges, weights, **options)[0])
    torch.testing.assert_close(conv(x, graph), torch.stack(outs).mean(0))
    empty = RelationalGraph.from_edges(torch.zeros(2, 0).long(), torch.zeros(0).long(), NODES, RELATIONS)
    own = torch.einsum("ni,hio->nho", x, conv.root).relu().mean(1)
    torch.testing.assert_close(conv(x, empty), own)


def test_blocks_equal_pyg() -> None:
    rgcn = pytest.importorskip("torch_geometric.nn").RGCNConv
    edges, graph, _, _ = make(2, 60)
    edge_index, edge_type = tensors(edges)
    ours = BRGCNConv(6, 4, RELATIONS, num_blocks=2, node_attention=False, relation_attention=False, activation=None)
    theirs = rgcn(6, 4, RELATIONS, aggr="mean", num_blocks=2, bias=False)
    theirs.weight.data.copy_(ours.value.data)
    theirs.root.data.copy_(ours.root.data)
    x = torch.randn(NODES, 6)
    torch.testing.assert_close(ours(x, graph), theirs(x, edge_index, edge_type))


@pytest.mark.parametrize("concat", [True, False])
def test_heads_are_independent_copies(concat) -> None:
    edges, graph, conv, x = make(6, heads=3, concat=concat)
    outs = []
    for head in range(3):
        weights = {
            name: parameter[head] if name == "root" else parameter[:, head]
            for name, parameter in conv.named_parameters()
        }
        outs.append(layer_twin(x, edges, weights)[0])
    expected = torch.cat(outs, dim=-1) if concat else torch.stack(outs).mean(0)
    torch.testing.assert_close(conv(x, graph), expected)


def test_parameter_shapes_are_the_documented_ones() -> None:
    shapes = {name: list(p.shape) for name, p in BRGCNConv(5, 4, 3).named_parameters()}
    assert shapes == {
        "attention_target": [3, 5],
        "attention_source": [3, 5],
        "query": [3, 5, 4],
        "key": [3, 5, 4],
        "value": [3, 5, 4],
        "root": [5, 4],
    }
    rgcn = BRGCNConv(5, 4, 3, node_attention=False, relation_attention=False)
    assert {name for name, _ in rgcn.named_parameters()} == {"value", "root"}


def test_dropout_acts_on_edge_attention_in_training_only() -> None:
    _, graph, conv, x = make(8, 60, dropout=0.5)
    assert conv(x, graph, seed=1).equal(conv(x, graph, seed=1))
    assert not conv(x, graph, seed=1).equal(conv(x, graph, seed=2))
    torch.manual_seed(3)
    drawn = conv(x, graph)
    torch.manual_seed(3)
    assert drawn.equal(conv(x, graph))
    conv.eval()
    assert conv(x, graph, seed=1).equal(conv(x, graph, seed=2))


def test_drops_into_a_pyg_style_model_in_float32() -> None:
    edges, _, _, _ = make(9)
    edge_index, edge_type = tensors(edges)
    model = torch.nn.ModuleList([BRGCNConv(IN, 8, RELATIONS), BRGCNConv(8, 2, RELATIONS, activation=None)])
    x = torch.randn(NODES, IN)
    for conv in model:
        x = conv(x, edge_index, edge_type)
    x.sum().backward()
    assert x.shape == (NODES, 2)
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


def test_large_scores_do_not_overflow() -> None:
    _, graph, conv, x = make(10)
    assert conv(1e4 * x, graph).isfinite().all()


def test_empty_graph_keeps_features() -> None:
    conv = BRGCNConv(3, 2, 4)
    x = torch.randn(5, 3)
    out = conv(x, torch.empty(2, 0, dtype=torch.long), torch.empty(0, dtype=torch.long))
    torch.testing.assert_close(out, torch.relu(x @ conv.root))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"self_connection": "sideways"}, "self_connection must be one of inside, outside, relation, none"),
        ({"aggregate": "max"}, "aggregate must be one of sum, mean"),
        ({"activation": "tanh"}, "activation must be one of"),
        ({"dropout": 1.0}, "dropout must lie in"),
        ({"heads": 0}, "heads must be at least 1"),
        ({"num_bases": -1}, "num_bases must not be negative"),
        ({"num_blocks": -1}, "num_blocks must not be negative"),
        ({"num_blocks": 2}, "num_blocks=2 must divide the widths 3 and 2"),
        ({"num_blocks": 1, "num_bases": 1}, "two ways to the same end"),
    ],
)
def test_bad_options_are_refused(options, message) -> None:
    with pytest.raises(SettingsError, match=message):
        BRGCNConv(3, 2, 4, **options)


def test_wrong_graph_or_features_are_refused() -> None:
    _, graph, conv, x = make(11)
    with pytest.raises(SettingsError, match="built for 4 relations, but the graph has 8"):
        conv(x, graph.with_inverse())
    with pytest.raises(SettingsError, match=r"x must have shape \[9, 5\]"):
        conv(x[:, :3], graph)
    with pytest.raises(SettingsError, match="needs edge_type"):
        conv(x, graph.edge_index)


def test_repr() -> None:
    expected = "BRGCNConv(5, 4, num_relations=3, node=NodeAttention, relation=RelationAttention, heads=1)"
    assert repr(BRGCNConv(5, 4, 3)) == expected
