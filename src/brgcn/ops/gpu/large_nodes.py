# mypy: ignore-errors
"""Relation level of nodes with more pairs than a tile holds: one program per node and lane loops over blocks of pairs.

Such nodes are rare, and a table lists them.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from brgcn.ops.gpu.common import LOWEST, on_device, power_of_2, product, sums_in


@triton.jit
def _load_part(projected, pair, exists, lane, part: tl.constexpr, column, L: tl.constexpr, C: tl.constexpr):
    """[N, W] of the query (part 0), key (1) or value (2) of pairs [N] in rows of 3 * C."""
    place = (pair.to(tl.int64) * L + lane)[:, None] * (3 * C) + (part * C + column)[None, :]
    return tl.load(projected + place, mask=exists[:, None] & (column < C)[None, :], other=0.0)


@triton.jit
def _store_rows(rows, values, row, exists, lane, column, L: tl.constexpr, C: tl.constexpr, STRIDE: tl.constexpr):
    """Write C columns of rows that are STRIDE apart."""
    place = (row.to(tl.int64) * L + lane)[:, None] * STRIDE + column[None, :]
    tl.store(rows + place, values.to(rows.dtype.element_ty), mask=exists[:, None] & (column < C)[None, :])


@triton.jit
def _scores(query, key, exists, SCALE: tl.constexpr, W: tl.constexpr):
    return tl.where(exists[None, :], product(query, tl.trans(key), W) * SCALE, LOWEST)


@triton.jit
def _attend(
    projected, query, begin, end, lane,
    SCALE: tl.constexpr, L: tl.constexpr, C: tl.constexpr, ACC: tl.constexpr, N: tl.constexpr, W: tl.constexpr,
):  # fmt: skip
    """Softmax over the keys of pairs begin .. end - 1: the weighted values [N, W], highest score and norm [N]."""
    column = tl.arange(0, W)
    highest = tl.full([N], LOWEST, ACC)
    norm = tl.zeros([N], ACC)
    attended = tl.zeros([N, W], ACC)
    for first in range(begin, end, N):
        pair = first + tl.arange(0, N)
        exists = pair < end
        key = _load_part(projected, pair, exists, lane, 1, column, L, C)
        value = _load_part(projected, pair, exists, lane, 2, column, L, C)
        scores = _scores(query, key, exists, SCALE, W)
        raised = tl.maximum(highest, tl.max(scores, 1))
        share = tl.exp(scores - raised[:, None])
        fade = tl.exp(highest - raised)
        norm = norm * fade + tl.sum(share, 1)
        attended = attended * fade[:, None] + product(share.to(value.dtype), value, N)
        highest = raised
    return attended / norm[:, None], highest, norm


@triton.jit
def _forward(
    out, projected, root, node_ptr, nodes,
    SCALE: tl.constexpr, L: tl.constexpr, C: tl.constexpr, ROOT: tl.constexpr, RELU: tl.constexpr, ACC: tl.constexpr,
    N: tl.constexpr, W: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0)
    lane = program % L
    node = tl.load(nodes + program // L).to(tl.int64)
    begin = tl.load(node_ptr + node)
    end = tl.load(node_ptr + node + 1)
    column = tl.arange(0, W)
    place = (node * L + lane) * C + column
    total = tl.zeros([W], ACC)
    for first in range(begin, end, N):
        pair = first + tl.arange(0, N)
        exists = pair < end
        query = _load_part(projected, pair, exists, lane, 0, column, L, C)
        attended, _, _ = _attend(projected, query, begin, end, lane, SCALE, L, C, ACC, N, W)
        if ROOT:
            attended += tl.load(root + place, mask=column < C, other=0.0).to(ACC)[None, :]
        if RELU:
            attended = tl.maximum(attended, 0.0)
        total += tl.sum(tl.where(exists[:, None], attended, 0.0), 0)
    tl.store(out + place, total.to(out.dtype.element_ty), mask=column < C)


@triton.jit
def _backward(
    grad_projected, grad_root, grad, projected, root, node_ptr, nodes,
    SCALE: tl.constexpr, L: tl.constexpr, C: tl.constexpr, ROOT: tl.constexpr, RELU: tl.constexpr, ACC: tl.constexpr,
    N: tl.constexpr, W: tl.constexpr,
):  # fmt: skip
    """With o = psi v (before root and activation) and its gradient do, ds = psi * (do v^T - <do, o>) * scale."""
    program = tl.program_id(0)
    lane = program % L
    node = tl.load(nodes + program // L).to(tl.int64)
    begin = tl.load(node_ptr + node)
    end = tl.load(node_ptr + node + 1)
    column = tl.arange(0, W)
    place = (node * L + lane) * C + column
    total = tl.zeros([W], ACC)
    for first in range(begin, end, N):
        pair = first + tl.arange(0, N)
        exists = pair < end
        query = _load_part(projected, pair, exists, lane, 0, column, L, C)
        attended, highest, norm = _attend(projected, query, begin, end, lane, SCALE, L, C, ACC, N, W)
        do = tl.load(grad + place, mask=column < C, other=0.0).to(ACC)[None, :]
        do = tl.where(exists[:, None], do, 0.0)
        if RELU:
            before = attended
            if ROOT:
                before = attended + tl.load(root + place, mask=column < C, other=0.0).to(ACC)[None, :]
            do = tl.where(before > 0, do, 0.0)
        if ROOT:
            total += tl.sum(do, 0)
        delta = tl.sum(do * attended, 1)
        do_low = do.to(query.dtype)
        dquery = tl.zeros([N, W], ACC)
        written = tl.where(first > begin, end, begin)  # pairs before it hold gradients of earlier queries
        for other in range(begin, end, N):
            pair_k = other + tl.arange(0, N)
            exists_k = pair_k < end
            again = pair_k < written
            key = _load_part(projected, pair_k, exists_k, lane, 1, column, L, C)
            value = _load_part(projected, pair_k, exists_k, lane, 2, column, L, C)
            scores = _scores(query, key, exists_k, SCALE, W)
            psi = tl.exp(scores - highest[:, None]) / norm[:, None]
            psi = tl.where(exists[:, None], psi, 0.0)
            ds = (psi * (product(do_low, tl.trans(value), W) - delta[:, None]) * SCALE).to(query.dtype)
            dquery += product(ds, key, N)
            dkey = product(tl.trans(ds), query, N)
            dkey += _load_part(grad_projected, pair_k, again, lane, 1, column, L, C).to(ACC)
            _store_rows(grad_projected + C, dkey, pair_k, exists_k, lane, column, L, C, 3 * C)
            dvalue = product(tl.trans(psi.to(query.dtype)), do_low, N)
            dvalue += _load_part(grad_projected, pair_k, again, lane, 2, column, L, C).to(ACC)
            _store_rows(grad_projected + 2 * C, dvalue, pair_k, exists_k, lane, column, L, C, 3 * C)
        _store_rows(grad_projected, dquery, pair, exists, lane, column, L, C, 3 * C)
        tl.debug_barrier()  # what was written is read again for the next block of queries
    if ROOT:
        tl.store(grad_root + place, total.to(grad_root.dtype.element_ty), mask=column < C)


def attend_large(
    out: Tensor, projected: Tensor, root: Tensor | None, tables: list[Tensor], relu: bool, scale: float
) -> None:
    """Write the rows of large nodes into out [T, L, C]."""
    _, lanes, channels = out.shape
    node_ptr, nodes = tables[0], tables[-1]
    if nodes.numel() == 0:
        return
    with on_device(out):
        _forward[(nodes.numel() * lanes,)](
            out, projected, projected if root is None else root, node_ptr, nodes, scale, lanes, channels,
            root is not None, relu, sums_in(projected.dtype), *_shape(channels), num_warps=8, num_stages=1,
        )  # fmt: skip


def attend_large_backward(
    grad_projected: Tensor,
    grad_root: Tensor,
    grad: Tensor,
    projected: Tensor,
    root: Tensor | None,
    tables: list[Tensor],
    relu: bool,
    scale: float,
) -> None:
    """Write the rows of large nodes into grad_root [T, L, C], and of their pairs into grad_projected."""
    _, lanes, channels = grad.shape
    node_ptr, nodes = tables[0], tables[-1]
    if nodes.numel() == 0:
        return
    with on_device(grad):
        _backward[(nodes.numel() * lanes,)](
            grad_projected, grad_root, grad, projected, projected if root is None else root, node_ptr, nodes,
            scale, lanes, channels, root is not None, relu, sums_in(projected.dtype),
            *_shape(channels), num_warps=8, num_stages=1,
        )  # fmt: skip


def _shape(channels: int) -> tuple[int, int]:
    """Pairs and columns of a block, small enough for shared memory."""
    width = max(power_of_2(channels), 16)
    return 32 if width <= 128 else 16, width
