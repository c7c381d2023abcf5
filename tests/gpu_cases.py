"""Graphs, inputs and the comparison with plain torch, for the tests of the Triton operators: on CUDA where there is
one, else through Triton's interpreter."""

from __future__ import annotations

import torch
from torch import Tensor
from twin import random_edges, tensors

from brgcn.graph import RelationalGraph
from brgcn.ops.backend import use_backend
from brgcn.ops.dropout import combine_seed, lane_seeds
from brgcn.ops.tables import source_rows

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
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
