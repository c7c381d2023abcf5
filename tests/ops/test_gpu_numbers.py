"""The Triton operators with other types of numbers: wide indices, bfloat16."""

from __future__ import annotations

import sys

import pytest
import torch
from gpu_cases import DEVICE, check, draw, edge_inputs, hub_graph, many_relations, seeds
from torch import Tensor

from brgcn.ops import node_level
from brgcn.ops.backend import use_backend
from brgcn.ops.mix_rows import mix_rows
from brgcn.ops.node_level import attend_edges
from brgcn.ops.relation_level import attend_relations
from brgcn.ops.tables import source_rows
from brgcn.ops.typed_dot import typed_dot
from brgcn.ops.typed_linear import typed_linear

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Triton exists for Linux only")


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
