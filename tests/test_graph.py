from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from twin import random_edges, tensors

from brgcn.errors import GraphError
from brgcn.graph import RelationalGraph, inverse_relation, is_inverse, original_relation, ragged_range

edge_lists = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3), st.integers(0, 6)), max_size=40)


@given(edge_lists)
@settings(deadline=None)
def test_layout_is_sorted_and_keeps_every_edge(edges) -> None:
    edge_index, edge_type = tensors(edges)
    graph = RelationalGraph.from_edges(edge_index, edge_type, 8, 5)
    laid_out = list(zip(*[t.tolist() for t in (graph.edge_target, graph.edge_type, graph.edge_source)], strict=True))
    assert laid_out == sorted((t, r, s) for s, r, t in edges)
    assert graph.edge_index.equal(edge_index[:, graph.edge_order])
    assert graph.edge_type.equal(edge_type[graph.edge_order])
    assert graph.num_pairs == len({(t, r) for _, r, t in edges})
    for p in range(graph.num_pairs):  # every pair holds the edges of one (target, relation), and is not empty
        first, last = int(graph.pair_ptr[p]), int(graph.pair_ptr[p + 1])
        assert last > first
        assert set(graph.edge_target[first:last].tolist()) == {int(graph.pair_node[p])}
        assert set(graph.edge_type[first:last].tolist()) == {int(graph.pair_relation[p])}
    for i in range(8):
        relations = graph.pair_relation[graph.node_ptr[i] : graph.node_ptr[i + 1]].tolist()
        assert relations == sorted({r for _, r, t in edges if t == i})


@given(edge_lists)
@settings(deadline=None)
def test_inverse_adds_each_edge_turned_round(edges) -> None:
    edge_index, edge_type = tensors(edges)
    graph = RelationalGraph.from_edges(edge_index, edge_type, 7, 4)
    both = graph.with_inverse()
    expected = [(s, r, t) for s, r, t in edges] + [(t, r + 4, s) for s, r, t in edges]
    got = zip(both.edge_source.tolist(), both.edge_type.tolist(), both.edge_target.tolist(), strict=True)
    assert [expected[e] for e in both.edge_order.tolist()] == list(got)  # edge_order speaks of the given edges
    assert both.num_relations == 8
    assert both.num_original_relations == 4
    with pytest.raises(GraphError, match="already"):
        both.with_inverse()


def test_large_sizes_use_the_two_step_sort() -> None:
    edge_index, edge_type = tensors(random_edges(20, 5, 60, 0))
    small = RelationalGraph.from_edges(edge_index, edge_type, 20, 5)
    from brgcn import graph as module

    order = module._layout_order(edge_index[1], edge_type, edge_index[0], 4_000_000_000, 5)
    assert order.equal(small.edge_order)


def test_relation_helpers() -> None:
    graph = RelationalGraph.from_edges(torch.tensor([[0], [1]]), torch.tensor([0]), 2, 3).with_inverse()
    relation = torch.arange(6)
    assert inverse_relation(relation, 3).tolist() == [3, 4, 5, 0, 1, 2]
    assert is_inverse(relation, 3).tolist() == [False, False, False, True, True, True]
    assert original_relation(relation, 3).tolist() == [0, 1, 2, 0, 1, 2]
    assert graph.relation_label(1, ["a", "b", "c"]) == "b"
    assert graph.relation_label(4, ["a", "b", "c"]) == "inverse of b"


def test_ragged_range() -> None:
    assert ragged_range(torch.tensor([5, 0, 9]), torch.tensor([2, 0, 3])).tolist() == [5, 6, 9, 10, 11]


def test_sizes_are_inferred_and_graph_is_frozen() -> None:
    graph = RelationalGraph.from_edges(torch.tensor([[0, 4], [1, 2]]), torch.tensor([0, 2]))
    assert (graph.num_nodes, graph.num_relations, graph.num_edges) == (5, 3, 2)
    assert repr(graph) == "RelationalGraph(nodes=5, relations=3, pairs=2, edges=2)"
    with pytest.raises(AttributeError):
        graph.num_nodes = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("edge_index", "edge_type", "sizes", "message"),
    [
        (torch.zeros(3, 2, dtype=torch.long), torch.zeros(2, dtype=torch.long), (1, 1), r"shape \[2, E\]"),
        (torch.zeros(2, 2, dtype=torch.long), torch.zeros(3, dtype=torch.long), (1, 1), "E = 2 edges"),
        (torch.zeros(2, 2), torch.zeros(2, dtype=torch.long), (1, 1), "must hold integers"),
        (torch.tensor([[0, 5], [0, 0]]), torch.zeros(2, dtype=torch.long), (3, 1), "num_nodes is 3, but node 5 occurs"),
        (torch.tensor([[0, -1], [0, 0]]), torch.zeros(2, dtype=torch.long), (3, 1), "must not be negative"),
        (torch.zeros(2, 1, dtype=torch.long), torch.tensor([7]), (1, 7), "num_relations is 7, but relation 7 occurs"),
        ([[0], [1]], torch.tensor([0]), (2, 1), "must be a torch tensor"),
    ],
)
def test_bad_edges_are_refused(edge_index, edge_type, sizes, message) -> None:
    with pytest.raises(GraphError, match=message):
        RelationalGraph.from_edges(edge_index, edge_type, *sizes)
