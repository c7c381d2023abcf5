"""Maps by the parameters of a relation in Triton against plain torch."""

from __future__ import annotations

import sys

import pytest
import torch
from gpu_cases import GRAPHS, check, draw, random_graph

from brgcn.ops.mix_rows import mix_rows
from brgcn.ops.tables import pair_rows, source_rows
from brgcn.ops.typed_dot import typed_dot
from brgcn.ops.typed_linear import typed_linear

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Triton exists for Linux only")


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
