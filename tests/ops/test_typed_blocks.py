"""Maps of pairs by block-diagonal matrices against plain loops."""

from __future__ import annotations

import importlib

import pytest
import torch
from twin import random_edges, tensors

from brgcn.graph import RelationalGraph
from brgcn.ops import typed_blocks, use_backend
from brgcn.ops.cpu.typed_blocks import TOGETHER
from brgcn.ops.typed_blocks import NARROW


@pytest.mark.parametrize("backend", ["torch", "numba"])
@pytest.mark.parametrize("shape", [(1, 3, 1, 5, 4), (2, 1, 3, 2, 7), (1, 2, 2, 1, 1)])
@pytest.mark.parametrize(("num_edges", "num_relations"), [(0, 3), (300, 2), (300, 40)])
def test_equals_a_loop_over_pairs(
    backend: str, shape: tuple[int, ...], num_edges: int, num_relations: int, parts: int
) -> None:
    lanes, maps, blocks, ins, outs = shape
    nodes = 2 * TOGETHER + 60  # a relation has more pairs than are taken together
    edges = tensors(random_edges(nodes, num_relations, num_edges, 0))
    graph = RelationalGraph.from_edges(*edges, nodes, num_relations)
    assert num_relations != 2 or graph.pair_relation.bincount().max() > TOGETHER
    z = torch.randn(graph.num_pairs, lanes, blocks * ins, dtype=torch.double, requires_grad=True)
    weight = torch.randn(num_relations, lanes, maps, blocks, ins, outs, dtype=torch.double, requires_grad=True)
    with use_backend(backend):
        out = typed_blocks(z, weight, graph)
    assert out.shape == (graph.num_pairs, lanes, maps * blocks * outs)
    expected = []
    for p, relation in enumerate(graph.pair_relation.tolist()):
        for lane in range(lanes):
            whole = [torch.block_diag(*weight[relation, lane, m]) for m in range(maps)]
            expected.append(torch.cat([z[p, lane] @ matrix for matrix in whole]))
    if not expected:
        return
    by_hand = torch.stack(expected).view(out.shape)
    torch.testing.assert_close(out, by_hand)
    slope = torch.randn(out.shape, dtype=torch.double)
    for mine, theirs in zip(*(torch.autograd.grad(o, (z, weight), slope) for o in (out, by_hand)), strict=True):
        torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize("wide", [True, False])
def test_wide_blocks_are_left_to_the_library(wide: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    width, fused = int(NARROW**0.5) + wide, []
    graph = RelationalGraph.from_edges(*tensors(random_edges(9, 2, 20, 0)), 9, 2)
    z, weight = torch.randn(graph.num_pairs, 1, width), torch.randn(2, 1, 1, 1, width, width)
    module = importlib.import_module("brgcn.ops.typed_blocks")
    monkeypatch.setattr(module, "_fused", lambda *given: fused.append(given))
    typed_blocks(z, weight, graph)
    assert bool(fused) is not wide
