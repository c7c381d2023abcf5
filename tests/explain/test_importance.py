from __future__ import annotations

import math

import pytest
import torch
from twin import random_edges, tensors

from brgcn.explain import relation_importance
from brgcn.nn import BRGCNConv


@pytest.mark.parametrize(("heads", "self_connection"), [(1, "inside"), (3, "none"), (1, "relation")])
def test_equals_the_definition_in_plain_loops(heads, self_connection) -> None:
    edges = random_edges(12, 5, 60, 0)
    conv = BRGCNConv(4, 3, 5, heads=heads, self_connection=self_connection).double()
    x = 3 * torch.randn(12, 4, dtype=torch.double)
    _, attention = conv(x, *tensors(edges), return_attention_weights=True)
    psi = attention.relation
    got = relation_importance(psi, 6)

    weight = psi.weight.mean(-1) if heads > 1 else psi.weight
    rows = list(
        zip(psi.node.tolist(), psi.relation.tolist(), psi.attended_relation.tolist(), weight.tolist(), strict=True)
    )
    relations_of: dict[int, set[int]] = {}
    for node, relation, _, _ in rows:
        relations_of.setdefault(node, set()).add(relation)
    for attended in range(6):
        having = [node for node, relations in relations_of.items() if attended in relations]
        assert int(got.nodes[attended]) == len(having)
        if not having:
            assert math.isnan(float(got.attention[attended]))
            continue
        shares, lifts = [], []
        for node in having:
            received = [w for n, _, a, w in rows if n == node and a == attended]
            size = len(relations_of[node])
            assert len(received) == size
            shares.append(sum(received) / size)
            lifts.append(sum(received))
        assert float(got.attention[attended]) == pytest.approx(sum(shares) / len(shares))
        assert float(got.lift[attended]) == pytest.approx(sum(lifts) / len(lifts))


def test_uniform_attention_has_lift_one() -> None:
    edges = random_edges(12, 5, 60, 1)
    conv = BRGCNConv(4, 3, 5).double()
    conv.query.data.zero_()
    _, attention = conv(torch.randn(12, 4, dtype=torch.double), *tensors(edges), return_attention_weights=True)
    importance = relation_importance(attention.relation, 5)
    present = importance.nodes > 0
    torch.testing.assert_close(importance.lift[present], torch.ones(int(present.sum()), dtype=torch.double))
