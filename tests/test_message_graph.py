"""What an encoder of links passes messages over."""

from __future__ import annotations

import pytest
import torch

from brgcn.errors import SettingsError
from brgcn.graph import RelationalGraph
from brgcn.message_graph import keep_edges, message_graph


def graph_of(edges: int = 60, nodes: int = 12, relations: int = 4) -> RelationalGraph:
    generator = torch.Generator().manual_seed(2)
    index = torch.randint(nodes, (2, edges), generator=generator)
    return RelationalGraph.from_edges(index, torch.randint(relations, (edges,), generator=generator), nodes, relations)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_keeping_edges_is_building_the_graph_from_them(share: float) -> None:
    graph = graph_of().with_inverse()
    keep = torch.rand(graph.num_edges, generator=torch.Generator().manual_seed(0)) < share
    kept = keep_edges(graph, keep)
    built = RelationalGraph.from_edges(
        graph.edge_index[:, keep], graph.edge_type[keep], graph.num_nodes, graph.num_relations
    )
    for name in ("node_ptr", "pair_ptr", "pair_relation", "edge_source"):
        torch.testing.assert_close(getattr(kept, name), getattr(built, name))
    assert kept.has_inverse
    assert kept.num_nodes == graph.num_nodes


def test_tables_of_the_whole_graph_are_not_taken_over() -> None:
    graph = graph_of()
    graph.derived("number of pairs", lambda g: g.num_pairs)
    kept = keep_edges(graph, torch.zeros(graph.num_edges, dtype=torch.bool))
    assert kept.derived("number of pairs", lambda g: g.num_pairs) == 0
    assert kept.edge_pair.numel() == 0


def test_random_and_empty_graphs() -> None:
    graph = graph_of()
    true, random, empty = (message_graph(graph, kind, seed=3) for kind in ("true", "random", "empty"))
    assert true.num_edges == random.num_edges == 2 * graph.num_edges
    assert empty.num_edges == 0
    assert empty.num_relations == true.num_relations
    torch.testing.assert_close(
        torch.bincount(random.edge_type, minlength=8), torch.bincount(true.edge_type, minlength=8)
    )
    assert not torch.equal(random.edge_index, true.edge_index)
    assert torch.equal(random.edge_index, message_graph(graph, "random", seed=3).edge_index)
    with pytest.raises(SettingsError, match="true, random, empty"):
        message_graph(graph, "false")
