"""Every fused operator against its torch reference, forward and gradients.

The reference itself is held against brute-force twins through the layers (tests/nn).
"""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from twin import random_edges, tensors

from brgcn.errors import SettingsError
from brgcn.graph import RelationalGraph
from brgcn.nn import BRGCNConv, FeaturelessConv
from brgcn.ops import (
    attend_edges,
    attend_relations,
    backend_for,
    edge_sources,
    lane_seeds,
    mix_rows,
    pair_rows,
    source_rows,
    typed_blocks,
    typed_dot,
    use_backend,
)
from brgcn.ops.cpu.parallel import kernel_threads
from brgcn.ops.typed_linear import typed_linear
from brgcn.receptive_field import receptive_field

OPERATORS = ("attend_edges", "attend_relations", "mix_rows", "typed_blocks", "typed_dot", "typed_linear")
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}
# Kernels are compiled for each width, which takes far longer than to run them here.
WIDTH = 5
WIDE = 130  # more than an instruction takes at once


def make_graph(edges: list[tuple[int, int, int]], num_nodes: int, num_relations: int) -> RelationalGraph:
    return RelationalGraph.from_edges(*tensors(edges), num_nodes, num_relations)


def hub_graph() -> RelationalGraph:
    """A pair with more edges, and a node with more relations, than any kernel takes at once."""
    edges = [(s % 40, 0, 0) for s in range(1300)] + [(r % 40, r, 1) for r in range(70)]
    return make_graph(edges + random_edges(40, 70, 100, 3), 45, 71)


def inputs(operator: str, graph: RelationalGraph, lanes: int, channels: int, seed: int = 0) -> list[Tensor]:
    """Random float64 inputs that need gradients."""
    shapes = {
        "attend_edges": [
            (graph.num_nodes, lanes, channels),
            (graph.num_pairs, lanes),
            (source_rows(graph)[0].row.numel(), lanes),
        ],
        "attend_relations": [(graph.num_pairs, lanes, 3 * channels), (graph.num_targets, lanes, channels)],
        "mix_rows": [(graph.num_nodes, lanes, 2, channels), (graph.num_relations, lanes, 2, 3)],
        "typed_dot": [(graph.num_nodes, lanes, channels), (graph.num_relations, lanes, channels)],
        "typed_blocks": [
            (graph.num_pairs, lanes, 2 * channels),
            (graph.num_relations, lanes, 3, 2, channels, channels + 1),
        ],
        "typed_linear": [(graph.num_pairs, lanes, channels), (graph.num_relations, lanes, channels, channels + 2)],
    }[operator]
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, dtype=torch.double, generator=generator) for shape in shapes]


def compute(operator: str, given: list[Tensor], graph: RelationalGraph, **options) -> Tensor:
    items, of_edge = source_rows(graph)
    if operator == "attend_edges":
        values, target, source = given
        options = {"negative_slope": 0.2, **options}
        return attend_edges(values, edge_sources(graph), target, source, of_edge, graph, **options)[0]
    if operator == "attend_relations":
        projected, root = given
        return attend_relations(projected, graph, root=root if options.pop("root", True) else None, **options)[0]
    if operator == "mix_rows":
        return mix_rows(*given, items)
    if operator == "typed_dot":
        return torch.cat([typed_dot(*given, items), typed_dot(*given, pair_rows(graph))])
    return (typed_blocks if operator == "typed_blocks" else typed_linear)(*given, graph)


def outcome(backend: str, operator: str, given: list[Tensor], graph: RelationalGraph, **options) -> list[Tensor]:
    """The result and the gradients of a random function of it."""
    leaves = [value.clone().requires_grad_() for value in given]
    with use_backend(backend):
        out = compute(operator, leaves, graph, **options)
        weights = torch.randn(out.shape, generator=torch.Generator().manual_seed(9), dtype=torch.double)
        (out * weights.to(out.dtype)).sum().backward()
    return [out.detach(), *(torch.zeros_like(x) if x.grad is None else x.grad for x in leaves)]


def error(result: Tensor, wanted: Tensor) -> float:
    wanted = wanted.detach()
    return float((result.detach().double() - wanted).norm() / wanted.norm().clamp(min=1e-30))


def check(backend: str, operator: str, graph: RelationalGraph, lanes: int, channels: int, **options) -> None:
    given = inputs(operator, graph, lanes, channels)
    wanted = outcome("torch", operator, given, graph, **options)
    for dtype, tolerance in TOLERANCE.items():
        if channels == WIDE and dtype == torch.float64:
            continue
        results = outcome(backend, operator, [value.to(dtype) for value in given], graph, **options)
        for result, reference in zip(results, wanted, strict=True):
            assert result.shape == reference.shape
            assert result.dtype == dtype
            if reference.norm() > 1e-9:
                assert error(result, reference) <= tolerance
            else:
                assert result.norm() < 1e-5


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize(("lanes", "channels"), [(1, WIDTH), (3, WIDTH), (2, WIDE)])
def test_equals_the_reference(operator: str, lanes: int, channels: int) -> None:
    whole = make_graph(random_edges(12, 5, 60, 0), 12, 5)
    for graph in (whole, receptive_field(whole, torch.tensor([0, 3]), 1).layers[0]):
        check("numba", operator, graph, lanes, channels)


@pytest.mark.parametrize("operator", OPERATORS)
def test_hubs(operator: str) -> None:
    check("numba", operator, hub_graph(), 2, WIDTH)


@pytest.mark.parametrize("operator", OPERATORS)
def test_without_edges(operator: str) -> None:
    graph = make_graph([], 3, 2)
    for result in outcome("numba", operator, inputs(operator, graph, 2, WIDTH), graph):
        assert torch.isfinite(result).all()


def test_dropout_drops_the_same_edges() -> None:
    whole = make_graph(random_edges(12, 5, 60, 0), 12, 5)
    part = receptive_field(whole, torch.tensor([0, 3]), 1).layers[0]
    for graph in (whole, part):
        check("numba", "attend_edges", graph, 3, WIDTH, dropout=0.4, seed=lane_seeds(torch.tensor([5]), 3))


@pytest.mark.parametrize("options", [{"root": False}, {"root": False, "relu": True}, {"relu": True, "scale": 0.3}])
def test_relation_level_options(options: dict) -> None:
    check("numba", "attend_relations", make_graph(random_edges(12, 5, 60, 0), 12, 5), 2, WIDTH, **options)


@settings(max_examples=40, deadline=None)
@given(
    operator=st.sampled_from(OPERATORS),
    num_nodes=st.integers(1, 12),
    num_relations=st.integers(1, 6),
    num_edges=st.integers(0, 40),
    seed=st.integers(0, 10**6),
    lanes=st.integers(1, 3),
)
def test_any_graph(operator, num_nodes, num_relations, num_edges, seed, lanes) -> None:
    graph = make_graph(random_edges(num_nodes, num_relations, num_edges, seed), num_nodes, num_relations)
    check("numba", operator, graph, lanes, WIDTH)


def test_a_nan_is_not_hidden() -> None:
    graph = make_graph(random_edges(12, 5, 60, 0), 12, 5)
    for operator in OPERATORS:
        given = inputs(operator, graph, 1, WIDTH)
        given[0][0] = torch.nan
        assert torch.isnan(compute(operator, given, graph)).any()


def test_torch_compile_sees_no_graph_break() -> None:
    graph = make_graph(random_edges(12, 5, 60, 0), 12, 5)
    cases = (
        (BRGCNConv(4, WIDTH, 5, heads=2, dropout=0.5), (torch.randn(12, 4), graph)),
        (FeaturelessConv(graph, WIDTH, num_bases=2), (graph,)),
    )
    for layer, inputs_ in cases:
        wanted = layer(*inputs_, seed=3)  # also builds the graph's tables, which are kept with it
        compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
        got = compiled(*inputs_, seed=3)
        torch.testing.assert_close(got, wanted)
        parameters = list(layer.parameters())
        for a, b in zip(
            torch.autograd.grad(got.sum(), parameters), torch.autograd.grad(wanted.sum(), parameters), strict=True
        ):
            torch.testing.assert_close(a, b)


@pytest.mark.parametrize("backend", ["torch", "numba"])
def test_autocast_keeps_the_softmax_in_float32(backend: str) -> None:
    graph = make_graph(random_edges(12, 5, 60, 0), 12, 5)
    layer, x = BRGCNConv(4, WIDTH, 5), torch.randn(12, 4)
    wanted = layer(x, graph)
    with use_backend(backend), torch.autocast("cpu", torch.bfloat16):
        out, attention = layer(x, graph, return_attention_weights=True)
        again = layer(x, graph)
    assert attention.edge.dtype == attention.relation.weight.dtype == torch.float32
    for result in (out, again):
        assert error(result, wanted.double()) < 2e-2


def test_the_backend_can_be_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.randn(2)
    assert backend_for(x) == "numba"
    monkeypatch.setenv("BRGCN_BACKEND", "torch")
    assert backend_for(x) == "torch"
    with use_backend("numba"):
        assert backend_for(x) == "numba"
    monkeypatch.setenv("BRGCN_BACKEND", "fast")
    with pytest.raises(SettingsError, match="BRGCN_BACKEND must be one of torch, numba, triton, not 'fast'"):
        backend_for(x)
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    with use_backend("triton"), pytest.raises(SettingsError, match="computes on CUDA only"):
        backend_for(x)


def test_several_threads_compute_the_same() -> None:
    """Enough rows that the kernels are shared out; to the last bit, since every row has one owner."""
    graph = make_graph(random_edges(3000, 6, 30_000, 0), 3000, 6)
    for operator in OPERATORS:
        given = [value.float() for value in inputs(operator, graph, 2, WIDTH)]
        with kernel_threads(1):
            alone = outcome("numba", operator, given, graph)
        with kernel_threads(3):
            for a, b in zip(alone, outcome("numba", operator, given, graph), strict=True):
                assert a.equal(b)


def test_several_callers_at_once() -> None:
    """A service computes in many threads of its own."""
    graph = make_graph(random_edges(3000, 6, 30_000, 0), 3000, 6)
    given = [value.float() for value in inputs("attend_edges", graph, 2, WIDTH)]
    wanted = compute("attend_edges", given, graph)
    with ThreadPoolExecutor(4) as pool:
        for result in pool.map(lambda _: compute("attend_edges", given, graph), range(20)):
            assert result.equal(wanted)


def test_torch_keeps_the_threads_it_was_given() -> None:
    """In a fresh process: beginning numba's threads, of which there are more, must not change torch's, or several
    trainings beside each other hold each other up."""
    program = (
        "import torch\n"
        "from brgcn.ops import use_backend, weighted_cubes\n"
        "torch.set_num_threads(1)\n"
        "with use_backend('numba'):\n"
        "    weighted_cubes(torch.ones(2, 4), torch.ones(2), pairs=False)\n"
        "print(torch.get_num_threads())"
    )
    given = {**os.environ, "NUMBA_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", program], env=given, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"
