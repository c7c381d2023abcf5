"""Relation level: the pairs of a node attend to each other and are added up.

The seam for fused kernels: scores, softmax, weighted sum, self-connection, activation and the sum over relations are
one function. The pairs of a node are a short sequence; a *member* is such a pair or, where the self-connection is
attended to like a relation, the node itself (member P + i for node i).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from brgcn.graph import RelationalGraph, ragged_range
from brgcn.ops.segment import segment_softmax, segment_sum

Activation = Callable[[Tensor], Tensor]


class Encounters(NamedTuple):
    """Every (member, attended member) of the same node; there are sum_i |R_i|^2 of them."""

    query: Tensor  # [S] member that attends
    key: Tensor  # [S] member that is attended to
    member_node: Tensor  # [members] node of each member


def attend_relations(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    graph: RelationalGraph,
    *,
    root: Tensor | None = None,
    root_outside: bool = False,
    with_self: bool = False,
    activation: Activation | None = None,
    mean: bool = False,
    scale: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """d_m = act(sum_m' psi_mm' value_m' [+ root_i]), psi = softmax over the members m' of node i of scale * q_m . k_m',
    and h_i' = sum (or mean) of d_m over the members m of i [+ root_i].

    Args:
        query, key, value: [members, L, C]; members are the pairs, then, ``with_self``, the target nodes.
        root: [targets, L, C] the projected self-connection, added inside the activation or, ``root_outside``, once
            after the sum. A node without members gets act(root_i), or root_i, alone.
    Returns:
        h' [targets, L, C] and psi [S, L] (see ``encounters``).
    """
    meet = encounters(graph, with_self)
    scores = (query.index_select(0, meet.query) * key.index_select(0, meet.key)).sum(-1) * scale
    attention = segment_softmax(scores, meet.query, query.size(0))
    attended = segment_sum(value.index_select(0, meet.key) * attention.unsqueeze(-1), meet.query, query.size(0))
    if root is not None and not root_outside:
        attended = attended + root.index_select(0, meet.member_node)
    if activation is not None:
        attended = activation(attended)
    out = segment_sum(attended, meet.member_node, graph.num_targets)
    if mean:
        out = out / member_count(graph, with_self).clamp(min=1).to(out.dtype)[:, None, None]
    return _add_root_to_rest(out, root, root_outside, activation, graph), attention


def add_relations(
    value: Tensor,
    graph: RelationalGraph,
    *,
    root: Tensor | None = None,
    root_outside: bool = False,
    with_self: bool = False,
    activation: Activation | None = None,
    mean: bool = False,
) -> Tensor:
    """Without attention: h_i' = act(sum (or mean) over the pairs p of i of value_p [+ root_i]) [+ root_i].

    Args:
        value: [P, L, C].
        root: [targets, L, C]; ``with_self`` it is one more member of the mean instead of being added after it.
    """
    out = segment_sum(value, graph.pair_node, graph.num_targets)
    if root is not None and with_self:
        out = out + root
    if mean:
        out = out / member_count(graph, with_self).clamp(min=1).to(out.dtype)[:, None, None]
    if root is not None and not with_self and not root_outside:
        out = out + root
    if activation is not None:
        out = activation(out)
    return out + root if root is not None and root_outside else out


def _add_root_to_rest(
    out: Tensor, root: Tensor | None, root_outside: bool, activation: Activation | None, graph: RelationalGraph
) -> Tensor:
    if root is None:
        return out
    if root_outside:
        return out + root
    lonely = (member_count(graph, False) == 0)[:, None, None]
    return torch.where(lonely, activation(root) if activation is not None else root, out)


def encounters(graph: RelationalGraph, with_self: bool) -> Encounters:
    if with_self:
        return graph.derived("encounters_with_self", _encounters_with_self)
    return graph.derived("encounters", _encounters)


def member_count(graph: RelationalGraph, with_self: bool) -> Tensor:
    """[targets] |R_i|, one more where the node itself is a member."""
    return graph.node_ptr[1:] - graph.node_ptr[:-1] + int(with_self)


def _encounters(graph: RelationalGraph) -> Encounters:
    count = member_count(graph, False)[graph.pair_node]  # [P] members that each pair meets
    query = torch.repeat_interleave(torch.arange(graph.num_pairs, device=graph.device), count)
    return Encounters(query, ragged_range(graph.node_ptr[graph.pair_node], count), graph.pair_node)


def _encounters_with_self(graph: RelationalGraph) -> Encounters:
    node = torch.arange(graph.num_targets, device=graph.device)
    member_node = torch.cat([graph.pair_node, node])
    by_node = torch.argsort(member_node, stable=True)  # the pairs of node 0, node 0 itself, the pairs of node 1, ..
    count = member_count(graph, True)
    first = count.cumsum(0) - count
    query = torch.repeat_interleave(torch.arange(member_node.numel(), device=graph.device), count[member_node])
    key = by_node[ragged_range(first[member_node], count[member_node])]
    return Encounters(query, key, member_node)
