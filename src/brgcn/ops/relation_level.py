"""Relation level: the pairs of a node attend to each other and are added up.

Scores, softmax, weighted sum, self-connection, activation and the sum over relations are one operator. The pairs of a
node are a short sequence; a *member* is such a pair or, where the self-connection is attended to like a relation, the
node itself (member P + i for node i).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from brgcn.graph import RelationalGraph, ragged_range
from brgcn.ops.backend import backend_for
from brgcn.ops.node_level import attend_edges
from brgcn.ops.precision import autocast_features
from brgcn.ops.registered import FusedOp
from brgcn.ops.segment import segment_softmax, segment_sum, sum_in_order
from brgcn.ops.tables import EdgeRows, TypedRows, edge_rows, edge_sources, layout, typed_rows
from brgcn.ops.typed_dot import typed_dot


class Encounters(NamedTuple):
    """Every (member, attended member) of the same node; there are sum_i |R_i|^2 of them."""

    query: Tensor  # [S] member that attends
    key: Tensor  # [S] member that is attended to
    member_node: Tensor  # [members] node of each member


def attend_relations(
    projected: Tensor,
    graph: RelationalGraph,
    *,
    root: Tensor | None = None,
    root_outside: bool = False,
    with_self: bool = False,
    relu: bool = False,
    mean: bool = False,
    scale: float = 1.0,
    want_attention: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """d_m = act(sum_m' psi_mm' value_m' [+ root_i]), psi = softmax over the members m' of node i of scale * q_m . k_m',
    and h_i' = sum (or mean) of d_m over the members m of i [+ root_i].

    Args:
        projected: [members, L, 3 * C] query, key and value side by side; members are the pairs, then, ``with_self``,
            the target nodes.
        root: [targets, L, C] the projected self-connection, added inside the activation or, ``root_outside``, once
            after the sum. A node without members gets act(root_i), or root_i, alone.
    Returns:
        h' [targets, L, C] and, where it is wanted, psi [S, L] (see ``encounters``).
    """
    projected = autocast_features(projected)
    inside = None if root is None or root_outside else root.to(projected.dtype)
    backend = backend_for(projected)
    attention = None
    if backend == "torch" or with_self or want_attention:
        out, attention = _attend_relations(projected, inside, graph, with_self, relu, scale)
    elif backend == "triton" and projected.size(2) > 3 * WIDEST:
        out = _attend_wide(projected, inside, graph, relu, scale)
    else:
        out = _fused(backend, projected, inside, _tables(graph, backend, projected.size(2) // 3), relu, scale)
    if mean:
        out = out / member_count(graph, with_self).clamp(min=1).to(out.dtype)[:, None, None]
    return out if root is None or not root_outside else out + root, attention


def _attend_relations(
    projected: Tensor, root: Tensor | None, graph: RelationalGraph, with_self: bool, relu: bool, scale: float
) -> tuple[Tensor, Tensor]:
    """The reference, in plain torch."""
    query, key, value = projected.chunk(3, dim=-1)
    meet = encounters(graph, with_self)
    scores = (query.index_select(0, meet.query) * key.index_select(0, meet.key)).sum(-1, dtype=_wide(projected)) * scale
    attention = segment_softmax(scores, meet.query, query.size(0))
    attended = segment_sum(value.index_select(0, meet.key) * attention.unsqueeze(-1), meet.query, query.size(0))
    if root is not None:
        attended = attended + root.index_select(0, meet.member_node)
    out = segment_sum(attended.relu() if relu else attended, meet.member_node, graph.num_targets)
    return _with_lonely(out, root, graph, relu).to(projected.dtype), attention


def _with_lonely(out: Tensor, root: Tensor | None, graph: RelationalGraph, relu: bool) -> Tensor:
    """Nodes without members are what their self-connection says."""
    if root is None:
        return out
    lonely = (member_count(graph, False) == 0)[:, None, None]
    return torch.where(lonely, root.relu() if relu else root, out)


def _attend_wide(projected: Tensor, root: Tensor | None, graph: RelationalGraph, relu: bool, scale: float) -> Tensor:
    """Rows of which a program cannot hold many: the members are nodes of a graph whose edges are their encounters, and
    what is fused for edges is so for these. Nothing is held that has both encounters and channels."""
    query, key, value = (part.contiguous() for part in projected.chunk(3, dim=-1))
    met = graph.derived("meeting", _meeting)
    scores = typed_dot(query, key, met.dots) * scale
    alike = scores.new_zeros(graph.num_pairs, scores.size(1))
    attended, _ = attend_edges(value, edge_sources(met.graph), alike, scores, met.scores, met.graph, negative_slope=1.0)
    if root is not None:
        attended = attended + root.index_select(0, graph.pair_node)
    out = sum_in_order(attended.relu() if relu else attended, graph.pair_node, graph.node_ptr)
    return _with_lonely(out, root, graph, relu)


class Meeting(NamedTuple):
    """The encounters of pairs, as edges from the pair that is attended to."""

    graph: RelationalGraph
    dots: TypedRows  # query and key of each edge
    scores: EdgeRows  # an edge's score is its own


def _meeting(graph: RelationalGraph) -> Meeting:
    meet, pairs = _encounters(graph), graph.num_pairs
    edges = torch.stack([meet.key, meet.query])
    meeting = RelationalGraph.from_edges(edges, torch.zeros_like(meet.key), pairs, 1)
    place = torch.arange(meet.key.numel(), device=graph.device)
    return Meeting(meeting, typed_rows(meet.query, meet.key, pairs, pairs), edge_rows(place, place.numel()))


def _wide(tensor: Tensor) -> torch.dtype:
    return torch.promote_types(tensor.dtype, torch.float32)


def add_relations(
    value: Tensor,
    graph: RelationalGraph,
    *,
    root: Tensor | None = None,
    root_outside: bool = False,
    with_self: bool = False,
    relu: bool = False,
    mean: bool = False,
) -> Tensor:
    """Without attention: h_i' = act(sum (or mean) over the pairs p of i of value_p [+ root_i]) [+ root_i].

    Args:
        value: [P, L, C].
        root: [targets, L, C]; ``with_self`` it is one more member of the mean instead of being added after it.
    """
    out = sum_in_order(value, graph.pair_node, graph.node_ptr)
    if root is not None and with_self:
        out = out + root
    if mean:
        out = out / member_count(graph, with_self).clamp(min=1).to(out.dtype)[:, None, None]
    if root is not None and not with_self and not root_outside:
        out = out + root
    if relu:
        out = out.relu()
    return out + root if root is not None and root_outside else out


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


# ---------------------------------------------------------------------- the fused operator

WIDEST = 256  # channels for which the rows of a large node fit into a Triton program
LARGEST = 32  # pairs of a node that one Triton program holds at once
NARROW = 1024  # numbers of a tile that one warp holds


def tile_rows(channels: int) -> int:
    """Pairs of a tile in Triton, a power of 2, so that their rows fit into the registers of a warp."""
    most = max(NARROW // channels, 1)
    return min(max(1 << (most.bit_length() - 1), 8), LARGEST)


def _tables(graph: RelationalGraph, backend: str, channels: int) -> list[Tensor]:
    """First pair of each node [T + 1] and, for Triton, the tiles of nodes (see ``node_tiles``)."""
    ptr = layout(graph).nodes.ptr
    if backend != "triton":
        return [ptr]
    rows = tile_rows(channels)
    return [ptr, *graph.derived(f"node_tiles_{rows}", lambda g: node_tiles(g, rows))]


class NodeTiles(NamedTuple):
    """Nodes by size, the number of their pairs rounded up to a power of 2: a tile is the nodes of one size that fit
    into ``rows`` pairs; -1 where there are no more nodes of that size."""

    node: Tensor  # [Q, rows] the tile's rows // size nodes come first
    size: Tensor  # [Q]
    wide_node: Tensor  # [Q', LARGEST] the same of nodes larger than ``rows``
    wide_size: Tensor  # [Q']
    large: Tensor  # nodes with more than LARGEST pairs


def node_tiles(graph: RelationalGraph, rows: int) -> NodeTiles:
    count = (graph.node_ptr[1:] - graph.node_ptr[:-1]).cpu()  # at once: a device would wait for each of the masks below
    by_count = torch.argsort(count, stable=True)  # nodes of a tile have equally many pairs, or nearly
    count = count[by_count]
    parts: list[Tensor] = []
    for smallest, largest, width in ((1, rows, rows), (2 * rows, LARGEST, LARGEST)):
        nodes, sizes = [torch.empty(0, width, dtype=torch.int32)], [torch.empty(0, dtype=torch.int32)]
        size = smallest
        while size <= largest:
            fits = (count <= size) & (count > (size // 2 if size > 1 else -1))
            found = by_count[fits].int()
            per_tile = width // size
            found = torch.cat([found, found.new_full((-found.numel() % per_tile,), -1)]).view(-1, per_tile)
            nodes.append(torch.cat([found, found.new_full((len(found), width - per_tile), -1)], dim=1))
            sizes.append(found.new_full((len(found),), size))
            size *= 2
        parts += [torch.cat(nodes).to(graph.device), torch.cat(sizes).to(graph.device)]
    narrow, narrow_size, wide, wide_size = parts
    return NodeTiles(narrow, narrow_size, wide, wide_size, by_count[count > LARGEST].int().to(graph.device))


def _fake(projected: Tensor, root: Tensor | None, tables: list[Tensor], relu: bool, scale: float) -> Tensor:
    return projected.new_empty(tables[0].size(0) - 1, projected.size(1), projected.size(2) // 3)


def _fake_backward(
    grad: Tensor, projected: Tensor, root: Tensor | None, tables: list[Tensor], relu: bool, scale: float
) -> tuple[Tensor, Tensor]:
    return torch.empty_like(projected), grad.new_empty(0) if root is None else torch.empty_like(grad)


def _setup(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    projected, root, tables, ctx.relu, ctx.scale = inputs
    ctx.has_root = root is not None
    ctx.save_for_backward(projected, *tables, *([] if root is None else [root]))
    ctx.num_tables = len(tables)


def _backward(ctx: Any, op: Any, grad: Tensor) -> tuple[Any, ...]:
    projected, *rest = ctx.saved_tensors
    tables, root = rest[: ctx.num_tables], rest[-1] if ctx.has_root else None
    grad_projected, grad_root = op(grad.contiguous(), projected, root, tables, ctx.relu, ctx.scale)
    return grad_projected, grad_root if ctx.has_root else None, [None] * len(tables), None, None


_fused = FusedOp(
    "attend_relations",
    "relation_level",
    schema="(Tensor projected, Tensor? root, Tensor[] tables, bool relu, float scale) -> Tensor",
    backward_schema="(Tensor grad, Tensor projected, Tensor? root, Tensor[] tables, bool relu, float scale) "
    "-> (Tensor, Tensor)",
    fake=_fake,
    fake_backward=_fake_backward,
    setup=_setup,
    backward=_backward,
)
