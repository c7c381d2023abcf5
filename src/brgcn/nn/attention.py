"""Attention that a layer gives back on request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from brgcn.graph import RelationalGraph
from brgcn.ops import encounters


class RelationAttentionWeights(NamedTuple):
    """psi as a list: at ``node``, ``relation`` gives ``attended_relation`` the weight ``weight``.

    All [S]; ``weight`` is [S, heads] with several heads. Over the attended relations of one (node, relation) they sum
    to one. Where the node itself is a member, its relation id is ``num_relations``.
    """

    node: Tensor
    relation: Tensor
    attended_relation: Tensor
    weight: Tensor


@dataclass(frozen=True)
class AttentionWeights:
    """What a layer attended to.

    Attributes:
        edge: [E] (or [E, heads]) weight of each edge inside its pair, **in the order in which the edges were given**.
        relation: relation-level attention, None for layers without it.
    """

    edge: Tensor
    relation: RelationAttentionWeights | None


def collect_attention(
    graph: RelationalGraph, edge: Tensor, relation: Tensor | None, with_self: bool
) -> AttentionWeights:
    """edge [E, L] in layout order and relation [S, L] in the order of ``encounters``."""
    given = torch.empty_like(edge)
    given[graph.edge_order] = edge
    if relation is None:
        return AttentionWeights(_drop_single(given), None)
    meet = encounters(graph, with_self)
    member_relation = graph.pair_relation
    if with_self:
        own = member_relation.new_full((graph.num_targets,), graph.num_relations)
        member_relation = torch.cat([member_relation, own])
    psi = RelationAttentionWeights(
        node=meet.member_node[meet.query],
        relation=member_relation[meet.query],
        attended_relation=member_relation[meet.key],
        weight=_drop_single(relation),
    )
    return AttentionWeights(_drop_single(given), psi)


def _drop_single(weight: Tensor) -> Tensor:
    return weight.squeeze(-1) if weight.size(-1) == 1 else weight
