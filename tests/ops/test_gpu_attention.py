"""The two levels of attention in Triton against plain torch."""

from __future__ import annotations

import sys

import pytest
import torch
from gpu_cases import DEVICE, GRAPHS, check, draw, edge_inputs, random_graph, seeds
from torch import Tensor

from brgcn.graph import Origin, RelationalGraph
from brgcn.ops import relation_level
from brgcn.ops.backend import use_backend
from brgcn.ops.node_level import attend_edges, average_edges
from brgcn.ops.relation_level import attend_relations
from brgcn.ops.tables import edge_sources, source_rows

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Triton exists for Linux only")


# ---------------------------------------------------------------------- node level


@pytest.mark.parametrize(
    ("name", "lanes", "channels", "dropout", "dtype"),
    [
        ("random", 1, 5, 0.0, torch.float32),
        ("random", 2, 5, 0.4, torch.float32),
        ("random", 3, 7, 0.0, torch.float32),
        ("dense", 3, 7, 0.4, torch.float64),
        ("random", 2, 40, 0.0, torch.float32),
        ("small hub", 3, 5, 0.4, torch.float32),
        ("hub", 1, 5, 0.4, torch.float32),
        ("small hub", 1, 9, 0.0, torch.float64),
        ("empty", 2, 4, 0.4, torch.float32),
        ("no nodes", 1, 4, 0.0, torch.float32),
    ],
)
def test_attend_edges(name, lanes, channels, dropout, dtype) -> None:
    graph = GRAPHS[name]()
    by_item = lanes != 3
    rows = source_rows(graph)[1]

    def run(values: Tensor, target: Tensor, source: Tensor) -> Tensor:
        value_rows = rows if by_item else edge_sources(graph)
        return attend_edges(
            values, value_rows, target, source, rows, graph, negative_slope=0.2, dropout=dropout, seed=seeds(lanes)
        )[0]

    check(run, *edge_inputs(graph, lanes, channels, by_item), dtype=dtype)


def test_attention_is_returned_before_dropout() -> None:
    graph = random_graph()
    rows = source_rows(graph)[1]
    values, target, source = edge_inputs(graph, 2, 3, by_item=True)
    attention = []
    for backend in ("torch", "triton"):
        with use_backend(backend):
            call = attend_edges(
                values, rows, target, source, rows, graph, negative_slope=0.2, dropout=0.4, seed=seeds(2)
            )
        attention.append(call[1])
    torch.testing.assert_close(*attention)


def test_edges_of_a_cut_graph_keep_their_identity_under_dropout() -> None:
    graph = random_graph(200)
    identity = torch.arange(graph.num_edges, device=DEVICE) * 7 + 2**33  # past 32 bits
    origin = Origin(graph.edge_source, graph.edge_source, identity, 0)
    cut = RelationalGraph(
        **{name: getattr(graph, name) for name in graph.__dataclass_fields__ if name != "origin"}, origin=origin
    )
    rows = source_rows(cut)[1]

    def run(values: Tensor, target: Tensor, source: Tensor) -> Tensor:
        return attend_edges(values, rows, target, source, rows, cut, negative_slope=0.2, dropout=0.5, seed=seeds(3))[0]

    check(run, *edge_inputs(cut, 3, 4, by_item=True))


def test_average_edges() -> None:
    graph = random_graph(200)
    check(lambda values: average_edges(values, edge_sources(graph), graph)[0], draw(20, 2, 6))


# ---------------------------------------------------------------------- relation level


@pytest.mark.parametrize(
    ("name", "lanes", "channels", "dtype"),
    [
        ("random", 1, 5, torch.float64),
        ("dense", 3, 20, torch.float32),
        ("relations", 1, 3, torch.float32),
        ("more relations", 2, 6, torch.float32),
        ("relations", 1, 130, torch.float32),
        ("sizes", 2, 9, torch.float32),
        ("sizes", 1, 64, torch.float32),
        ("empty", 2, 4, torch.float32),
        ("no nodes", 1, 4, torch.float32),
    ],
)
@pytest.mark.parametrize(("with_root", "relu"), [(False, False), (True, False), (False, True), (True, True)])
def test_attend_relations(name, lanes, channels, dtype, with_root, relu) -> None:
    graph = GRAPHS[name]()
    projected = draw(graph.num_pairs, lanes, 3 * channels)
    root = [draw(graph.num_targets, lanes, channels)] if with_root else []

    def run(projected: Tensor, *root: Tensor) -> Tensor:
        return attend_relations(projected, graph, root=root[0] if root else None, relu=relu, scale=0.5)[0]

    check(run, projected, *root, dtype=dtype)


@pytest.mark.parametrize("name", ["random", "hub", "empty", "no nodes"])
@pytest.mark.parametrize(("with_root", "relu"), [(False, False), (True, True)])
def test_attend_relations_of_wide_rows(name, with_root, relu, monkeypatch) -> None:
    monkeypatch.setattr(relation_level, "WIDEST", 4)
    graph = GRAPHS[name]()
    projected, root = draw(graph.num_pairs, 2, 3 * 5), draw(graph.num_targets, 2, 5)

    def attend(projected: Tensor, root: Tensor) -> Tensor:
        return attend_relations(projected, graph, root=root if with_root else None, relu=relu, scale=0.7)[0]

    if with_root:
        check(attend, projected, root)
    else:
        check(lambda projected: attend(projected, root), projected)
