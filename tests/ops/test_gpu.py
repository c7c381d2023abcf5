"""The Triton operators against plain torch: on CUDA where there is one, else through Triton's interpreter."""

from __future__ import annotations

import sys

import pytest
import torch
from torch import Tensor
from twin import random_edges, tensors

from brgcn.graph import Origin, RelationalGraph
from brgcn.ops import node_level, relation_level
from brgcn.ops.backend import use_backend
from brgcn.ops.dropout import combine_seed, lane_seeds
from brgcn.ops.mix_rows import mix_rows
from brgcn.ops.node_level import attend_edges, average_edges
from brgcn.ops.relation_level import attend_relations
from brgcn.ops.tables import edge_sources, pair_rows, source_rows
from brgcn.ops.typed_dot import typed_dot
from brgcn.ops.typed_linear import typed_linear

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Triton exists for Linux only")

CLOSE = {torch.float32: 1e-5, torch.float64: 1e-10}


def build(edges: list[tuple[int, int, int]], num_nodes: int, num_relations: int) -> RelationalGraph:
    return RelationalGraph.from_edges(*tensors(edges), num_nodes, num_relations).to(DEVICE)


def random_graph(num_edges: int = 60) -> RelationalGraph:
    return build(random_edges(20, 5, num_edges, 3), 20, 5)


def hub_graph(size: int = 1110) -> RelationalGraph:
    """A pair with that many edges, so that a relation, a source and a target have many, too; and one with 70."""
    hubs = [(j % 7, 1, 2) for j in range(size)] + [(3, 0, 4)] * 70
    return build([*random_edges(20, 4, 30, 5), *hubs], 20, 4)


def many_relations(count: int) -> RelationalGraph:
    """Node 1 has ``count`` relations, between nodes with few."""
    edges = [(r % 6, r, 1) for r in range(count)]
    return build([*random_edges(12, 6, 25, 6), *edges], 12, count)


def many_pairs(count: int) -> RelationalGraph:
    """A relation with that many pairs, and sources."""
    return build([(j, 0, j) for j in range(count)] + random_edges(40, 3, 60, 7), count, 3)


def draw(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(*shape, dtype=torch.float64, generator=generator).to(DEVICE)


def check(function, *inputs: Tensor, dtype: torch.dtype = torch.float32, tolerance: float | None = None) -> None:
    """Compare outputs and gradients of function(*inputs) with the reference in float64."""
    tolerance = tolerance or CLOSE[dtype]
    results = []
    for backend, kind in (("torch", torch.float64), ("triton", dtype)):
        leaves = [given.to(dtype).to(kind).requires_grad_() for given in inputs]
        with use_backend(backend):
            out = function(*leaves)
            (out.double() * draw(*out.shape)).sum().backward()
        results.append([out.detach(), *(leaf.grad for leaf in leaves)])
    for expected, got in zip(*results, strict=True):
        assert got.dtype == dtype
        assert got.shape == expected.shape
        assert got.isfinite().all()
        # a gradient that is zero in exact arithmetic is compared with the size of one
        scale = expected.norm() + 1e-3 * expected.numel() ** 0.5
        assert (got.double() - expected).norm() <= tolerance * scale


def edge_inputs(graph: RelationalGraph, lanes: int, channels: int, by_item: bool) -> tuple[Tensor, Tensor, Tensor]:
    items, _ = source_rows(graph)
    num_values = items.row.numel() if by_item else graph.num_nodes
    values = draw(num_values, lanes, channels, seed=1)
    return values, draw(graph.num_pairs, lanes, seed=2), draw(items.row.numel(), lanes, seed=3)


def seeds(lanes: int) -> Tensor:
    return lane_seeds(combine_seed(torch.tensor([12345678912], device=DEVICE), 3), lanes)


GRAPHS = {
    "random": random_graph,
    "few": lambda: random_graph(10),
    "dense": lambda: random_graph(300),
    "hub": hub_graph,
    "small hub": lambda: hub_graph(100),
    "relations": lambda: many_relations(33),
    "more relations": lambda: many_relations(70),
    "sizes": lambda: build([(8, r, k) for k, n in enumerate((0, 1, 2, 3, 6, 12, 20, 34)) for r in range(n)], 9, 34),
    "many": lambda: many_pairs(520),
    "more": lambda: many_pairs(1100),
    "empty": lambda: random_graph(0),
    "no nodes": lambda: build([], 0, 0),
}


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


# ---------------------------------------------------------------------- typed maps


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


@pytest.mark.parametrize(
    ("name", "lanes", "sizes", "dtype"),
    [
        ("random", 1, (5, 3), torch.float32),
        ("dense", 3, (7, 20), torch.float64),
        ("random", 2, (70, 17), torch.float32),
        ("more", 1, (4, 3), torch.float32),
        ("empty", 2, (4, 3), torch.float32),
        ("no nodes", 2, (4, 3), torch.float32),
    ],
)
def test_typed_linear(name, lanes, sizes, dtype) -> None:
    graph = GRAPHS[name]()
    z, weight = draw(graph.num_pairs, lanes, sizes[0]), draw(graph.num_relations, lanes, *sizes)
    check(lambda z, weight: typed_linear(z, weight, graph), z, weight, dtype=dtype)


@pytest.mark.parametrize(
    ("name", "lanes", "channels", "dtype"),
    [
        ("random", 1, 5, torch.float32),
        ("dense", 3, 7, torch.float64),
        ("few", 20, 33, torch.float32),
        ("many", 3, 3, torch.float32),
        ("few", 1, 300, torch.float32),
        ("empty", 2, 4, torch.float32),
        ("no nodes", 2, 4, torch.float32),
    ],
)
def test_typed_dot(name, lanes, channels, dtype) -> None:
    graph = GRAPHS[name]()
    x, vector = draw(graph.num_nodes, lanes, channels), draw(graph.num_relations, lanes, channels)
    check(lambda x, vector: typed_dot(x, vector, pair_rows(graph)), x, vector, dtype=dtype)


def test_rows_beyond_the_targets_get_no_gradient() -> None:
    """In a cut graph pairs belong to the first nodes only."""
    graph = random_graph(60)
    check(lambda x, vector: typed_dot(x, vector, pair_rows(graph)), draw(25, 2, 4), draw(5, 2, 4))


@pytest.mark.parametrize(
    ("name", "lanes", "sizes", "dtype"),
    [
        ("random", 1, (4, 5, 3), torch.float32),
        ("random", 3, (3, 7, 3), torch.float64),
        ("random", 2, (5, 3, 1), torch.float32),
        ("many", 1, (2, 3, 3), torch.float32),
        ("few", 1, (17, 130, 2), torch.float32),
        ("empty", 2, (4, 3, 3), torch.float32),
        ("no nodes", 2, (4, 3, 3), torch.float32),
    ],
)
def test_mix_rows(name, lanes, sizes, dtype) -> None:
    graph = GRAPHS[name]()
    num_bases, channels, parts = sizes
    basis = draw(graph.num_nodes, lanes, num_bases, channels)
    coefficients = draw(graph.num_relations, lanes, num_bases, parts)
    items = source_rows(graph)[0]
    check(lambda basis, coefficients: mix_rows(basis, coefficients, items), basis, coefficients, dtype=dtype)


# ---------------------------------------------------------------------- types of numbers


def test_index_tables_may_hold_int64(monkeypatch) -> None:
    monkeypatch.setattr("brgcn.ops.tables._INT32_MAX", -1)
    graph = hub_graph(100)
    rows = source_rows(graph)[1]
    assert rows.row.dtype == torch.long

    def edges(values: Tensor, target: Tensor, source: Tensor) -> Tensor:
        return attend_edges(values, rows, target, source, rows, graph, negative_slope=0.2, dropout=0.3, seed=seeds(2))[
            0
        ]

    check(edges, *edge_inputs(graph, 2, 3, by_item=True))
    check(lambda projected: attend_relations(projected, graph)[0], draw(graph.num_pairs, 2, 9))
    check(lambda z, w: typed_linear(z, w, graph), draw(graph.num_pairs, 2, 3), draw(4, 2, 3, 5))
    items = source_rows(graph)[0]
    check(lambda x, vector: typed_dot(x, vector, items), draw(20, 2, 3), draw(4, 2, 3))
    check(lambda basis, c: mix_rows(basis, c, items), draw(20, 2, 3, 4), draw(4, 2, 3, 2))


def test_bfloat16_is_close_to_float32() -> None:
    from brgcn.ops.gpu import mix_rows as gpu_mix_rows
    from brgcn.ops.gpu import node_level as gpu_node_level

    graph = hub_graph(100)
    items, rows = source_rows(graph)
    values, target, source = (given.float() for given in edge_inputs(graph, 2, 8, by_item=True))
    tables = node_level._tables(rows, rows, node_level.layout(graph))
    seed = torch.empty(0, dtype=torch.long, device=DEVICE)
    forward, backward = [], []
    for kind in (values.bfloat16(), values):
        z, attention = gpu_node_level.attend_edges(kind, target, source, seed, tables, 0.2, 0.0)
        forward.append(z)
        grads = gpu_node_level.attend_edges_backward(z, kind, target, source, seed, z, attention, tables, 0.2, 0.0)
        assert grads[1].dtype == grads[2].dtype == torch.float32
        backward.append(grads[0])
    assert_close_in_low_precision(*forward)
    assert_close_in_low_precision(*backward)
    tables = [items.row, items.relation, *items.by_row.tensors(), *items.by_relation.tensors()]
    basis, coefficients = draw(20, 2, 3, 4).float(), draw(4, 2, 3, 2).float()
    assert_close_in_low_precision(
        gpu_mix_rows.mix_rows(basis.bfloat16(), coefficients.bfloat16(), tables),
        gpu_mix_rows.mix_rows(basis, coefficients, tables),
    )


@pytest.mark.skipif(DEVICE == "cpu", reason="the interpreter does not multiply matrices in bfloat16")
def test_matrix_products_in_bfloat16_are_close_to_float32() -> None:
    graph = many_relations(70)
    projected, root = draw(graph.num_pairs, 2, 60).float(), draw(12, 2, 20).float()
    z, weight = draw(graph.num_pairs, 2, 20).float(), draw(70, 2, 20, 30).float()

    def run(*inputs: Tensor) -> list[Tensor]:
        leaves = [given.detach().requires_grad_() for given in inputs]
        with use_backend("triton"):
            attended = attend_relations(leaves[0], graph, root=leaves[1], relu=True, scale=0.2)[0]
            mapped = typed_linear(leaves[2], leaves[3], graph)
        (attended.sum() + mapped.sum()).backward()
        return [attended, mapped, *(leaf.grad for leaf in leaves)]

    low = run(*(given.bfloat16() for given in (projected, root, z, weight)))
    wide = run(*(given.bfloat16().float() for given in (projected, root, z, weight)))
    for ours, expected in zip(low, wide, strict=True):
        assert_close_in_low_precision(ours, expected)


def assert_close_in_low_precision(low: Tensor, expected: Tensor) -> None:
    assert low.dtype == torch.bfloat16
    assert (low.float() - expected).norm() <= 2e-2 * expected.norm()
