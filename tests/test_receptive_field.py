from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from twin import random_edges, tensors

from brgcn.errors import GraphError
from brgcn.graph import RelationalGraph
from brgcn.nn import BRGCNConv, FeaturelessConv
from brgcn.receptive_field import receptive_field


@given(
    st.integers(0, 1000), st.integers(0, 25), st.lists(st.integers(0, 11), min_size=1, max_size=5), st.integers(1, 3)
)
@settings(deadline=None, max_examples=40)
def test_same_outputs_and_gradients_as_the_whole_graph(seed, num_edges, wanted_nodes, num_layers) -> None:
    graph = RelationalGraph.from_edges(*tensors(random_edges(12, 3, num_edges, seed)), 12, 3)
    wanted = torch.tensor(wanted_nodes)
    torch.manual_seed(seed)
    first = FeaturelessConv(graph, 4, dropout=0.3).double()
    rest = torch.nn.ModuleList([BRGCNConv(4, 4, 3, dropout=0.3).double() for _ in range(num_layers - 1)])
    parameters = [*first.parameters(), *rest.parameters()]

    def run(layers: list[RelationalGraph]) -> torch.Tensor:
        h = first(layers[0], seed=1)
        for number, (conv, layer) in enumerate(zip(rest, layers[1:], strict=True)):
            h = conv(h, layer, seed=number + 2)
        return h

    field = receptive_field(graph, wanted, num_layers)
    cut, whole = run(list(field.layers))[field.rows], run([graph] * num_layers)[wanted]
    torch.testing.assert_close(cut, whole, rtol=1e-10, atol=1e-12)
    towards = torch.randn_like(cut)
    got = torch.autograd.grad((cut * towards).sum(), parameters, allow_unused=True)
    want = torch.autograd.grad((whole * towards).sum(), parameters, allow_unused=True)
    for g, w, p in zip(got, want, parameters, strict=True):
        zero = torch.zeros_like(p)
        torch.testing.assert_close(zero if g is None else g, zero if w is None else w, rtol=1e-9, atol=1e-11)


def test_cut_holds_only_what_can_reach() -> None:
    # 0 -> 1 -> 2 -> 3, and 4 -> 5 apart
    graph = RelationalGraph.from_edges(
        torch.tensor([[0, 1, 2, 4], [1, 2, 3, 5]]), torch.zeros(4, dtype=torch.long), 6, 1
    )
    field = receptive_field(graph, torch.tensor([3]), 2)
    assert [layer.num_edges for layer in field.layers] == [2, 1]
    assert field.input_nodes.tolist() == [3, 2, 1]
    assert field.layers[0].num_targets == field.layers[1].num_nodes == 2


def test_bad_requests_are_refused() -> None:
    graph = RelationalGraph.from_edges(torch.tensor([[0], [1]]), torch.tensor([0]), 2, 1)
    with pytest.raises(GraphError, match=r"0\.\.1"):
        receptive_field(graph, torch.tensor([2]), 1)
    with pytest.raises(GraphError, match="at least 1"):
        receptive_field(graph, torch.tensor([0]), 0)
    with pytest.raises(GraphError, match="cannot be cut again"):
        receptive_field(receptive_field(graph, torch.tensor([1]), 1).layers[0], torch.tensor([0]), 1)
