from __future__ import annotations

import pytest
import torch
from twin import random_edges, tensors

from brgcn.errors import GraphError
from brgcn.graph import RelationalGraph

pyg = pytest.importorskip("torch_geometric.data")


def edge_set(graph: RelationalGraph) -> list[tuple[int, ...]]:
    return sorted(zip(graph.edge_source.tolist(), graph.edge_type.tolist(), graph.edge_target.tolist(), strict=True))


def test_data_round_trip() -> None:
    edge_index, edge_type = tensors(random_edges(9, 3, 30, 0))
    graph = RelationalGraph.from_edges(edge_index, edge_type, 9, 3)
    data = graph.to_data()
    assert data.num_nodes == 9
    back = RelationalGraph.from_pyg(data)
    assert edge_set(back) == edge_set(graph)
    assert RelationalGraph.from_pyg(pyg.Data(edge_index=edge_index, edge_type=edge_type, num_nodes=9)).edge_order.equal(
        graph.edge_order
    )


def test_round_trip_keeps_empty_relations_and_inverses() -> None:
    graph = RelationalGraph.from_edges(torch.tensor([[0, 1], [1, 2]]), torch.tensor([0, 1]), 4, 5)
    back = RelationalGraph.from_pyg(graph.with_inverse().to_data())
    assert (back.num_relations, back.has_inverse) == (10, True)
    assert RelationalGraph.from_pyg(graph.to_data()).num_relations == 5
    types = graph.with_inverse().to_hetero_data(relation_names=["a", "b", "c", "d", "e"]).edge_types
    assert {name for _, name, _ in types} == {"a", "b", "inverse of a", "inverse of b"}
    with pytest.raises(GraphError, match="5 relations, but 1 names"):
        graph.to_hetero_data(relation_names=["a"])


def test_hetero_from_pyg_numbers_types_one_after_another() -> None:
    data = pyg.HeteroData()
    data["author"].num_nodes = 2
    data["paper"].num_nodes = 3
    data["author", "writes", "paper"].edge_index = torch.tensor([[0, 1], [2, 0]])
    data["paper", "cites", "paper"].edge_index = torch.tensor([[0], [1]])
    graph = RelationalGraph.from_pyg(data)
    assert (graph.num_nodes, graph.num_relations) == (5, 2)
    assert edge_set(graph) == sorted([(0, 0, 4), (1, 0, 2), (2, 1, 3)])


def test_to_hetero_keeps_every_edge_by_type() -> None:
    edges = random_edges(10, 3, 40, 1)
    edge_index, edge_type = tensors(edges)
    graph = RelationalGraph.from_edges(edge_index, edge_type, 10, 3)
    node_type = torch.tensor([0, 1] * 5)
    data = graph.to_hetero_data(node_type, ["even", "odd"], ["a", "b", "c"])
    back = []
    for source_type, name, target_type in data.edge_types:
        source, target = data[source_type, name, target_type].edge_index
        source, target = data[source_type].node_id[source], data[target_type].node_id[target]
        back += [(s, "abc".index(name), t) for s, t in zip(source.tolist(), target.tolist(), strict=True)]
    assert sorted(back) == sorted(edges)
    assert graph.to_hetero_data().node_types == ["node"]


def test_missing_edge_type_is_explained() -> None:
    with pytest.raises(GraphError, match="edge_type"):
        RelationalGraph.from_pyg(pyg.Data(edge_index=torch.zeros(2, 1, dtype=torch.long), num_nodes=1))
