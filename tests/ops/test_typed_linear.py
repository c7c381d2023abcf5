from __future__ import annotations

import pytest
import torch
from twin import random_edges, tensors

from brgcn.graph import RelationalGraph
from brgcn.ops.typed_linear import BLOCK, relation_blocks, typed_linear


@pytest.mark.parametrize(("num_edges", "num_relations"), [(0, 3), (10, 3), (400, 3), (400, 50)])
def test_equals_a_loop_over_pairs(num_edges, num_relations) -> None:
    edges = random_edges(60, num_relations, num_edges, 0)
    graph = RelationalGraph.from_edges(*tensors(edges), 60, num_relations)
    z = torch.randn(graph.num_pairs, 2, 5, dtype=torch.double)
    weight = torch.randn(num_relations, 2, 5, 3, dtype=torch.double)
    out = typed_linear(z, weight, graph)
    for p, relation in enumerate(graph.pair_relation.tolist()):
        for lane in range(2):
            torch.testing.assert_close(out[p, lane], z[p, lane] @ weight[relation, lane])
    assert out.shape == (graph.num_pairs, 2, 3)


def test_blocks_grow_with_pairs_not_with_relations() -> None:
    graph = RelationalGraph.from_edges(*tensors(random_edges(500, 40, 3000, 1)), 500, 1000)
    blocks = relation_blocks(graph)
    occurring = len(set(graph.pair_relation.tolist()))
    assert blocks.relation.numel() <= graph.num_pairs // BLOCK + occurring
    assert len(set(blocks.slot.tolist())) == graph.num_pairs
