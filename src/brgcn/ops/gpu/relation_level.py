# mypy: ignore-errors
"""Relation level: the pairs of a node attend to each other.

A program takes one lane of a tile: nodes of about the same number of pairs, whose keys and values [nodes, pairs,
channels] it holds in registers while it goes through the queries. Most nodes have few pairs, so that plain sums, mostly
inside one warp, beat matrix products of padded tiles. Only projections are read and only results written; the backward
pass computes the attention again. A node with more pairs than a tile holds is for the kernels in large_nodes.py.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from brgcn.ops.gpu.common import LOWEST, on_device, power_of_2, sums_in
from brgcn.ops.gpu.large_nodes import attend_large, attend_large_backward
from brgcn.ops.relation_level import NARROW


@triton.jit
def _nodes_of(node_ptr, tile_node, tile, ROWS: tl.constexpr, B: tl.constexpr):
    """The tile's nodes [B], which of them there are, their first pair and number of pairs."""
    node = tl.load(tile_node + tile * ROWS + tl.arange(0, B)).to(tl.int64)
    is_node = node >= 0
    begin = tl.load(node_ptr + node, mask=is_node, other=0).to(tl.int64)
    end = tl.load(node_ptr + node + 1, mask=is_node, other=0).to(tl.int64)
    return node, is_node, begin, end - begin


@triton.jit
def _attention(query, keys, exists, SCALE: tl.constexpr):
    """psi [B, N] of one query [B, W] per node to its keys [B, N, W]; zeros where a tile has no node."""
    score = tl.where(exists, tl.sum(query[:, None, :] * keys, 2) * SCALE, LOWEST)
    share = tl.where(exists, tl.exp(score - tl.max(score, 1)[:, None]), 0.0)
    total = tl.sum(share, 1)
    return share / tl.where(total == 0, 1.0, total)[:, None]


@triton.jit
def _forward_tile(
    out, projected, root, node_ptr, tile_node, tile, lane,
    SCALE: tl.constexpr, L: tl.constexpr, C: tl.constexpr, ROOT: tl.constexpr, RELU: tl.constexpr, ACC: tl.constexpr,
    ROWS: tl.constexpr, W: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    """Nodes of at most N pairs. A node without pairs has N = 1 and a value of zero: its self-connection is left."""
    B: tl.constexpr = ROWS // N
    node, is_node, begin, count = _nodes_of(node_ptr, tile_node, tile, ROWS, B)
    column = tl.arange(0, W)
    mask = is_node[:, None] & (column < C)[None, :]
    place = (node * L + lane)[:, None] * C + column[None, :]
    own = tl.zeros([B, W], ACC)
    if ROOT:
        own += tl.load(root + place, mask=mask, other=0.0).to(ACC)
    first = projected + (begin * L + lane)[:, None] * (3 * C) + column[None, :]
    if N == 1:
        total = own + tl.load(first + 2 * C, mask=mask & (count > 0)[:, None], other=0.0).to(ACC)
        if RELU:
            total = tl.maximum(total, 0.0, propagate_nan=tl.PropagateNan.ALL)
    else:
        member = tl.arange(0, N)
        exists = member[None, :] < count[:, None]
        there = exists[:, :, None] & (column < C)[None, None, :]
        members = first[:, None, :] + member[None, :, None] * (L * 3 * C)
        keys = tl.load(members + C, mask=there, other=0.0).to(ACC)
        values = tl.load(members + 2 * C, mask=there, other=0.0).to(ACC)
        total = tl.zeros([B, W], ACC)
        for i in range(0, tl.max(count, 0)):
            here = mask & (i < count)[:, None]
            query = tl.load(first + i * (L * 3 * C), mask=here, other=0.0).to(ACC)
            psi = _attention(query, keys, exists, SCALE)
            attended = tl.sum(psi[:, :, None] * values, 1) + own
            if RELU:
                attended = tl.maximum(attended, 0.0, propagate_nan=tl.PropagateNan.ALL)
            total += tl.where(here, attended, 0.0)
    tl.store(out + place, total.to(out.dtype.element_ty), mask=mask)


@triton.jit
def _backward_tile(
    grad_projected, grad_root, grad, projected, root, node_ptr, tile_node, tile, lane,
    SCALE: tl.constexpr, L: tl.constexpr, C: tl.constexpr, ROOT: tl.constexpr, RELU: tl.constexpr, ACC: tl.constexpr,
    ROWS: tl.constexpr, W: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    """With the gradient do of psi v (before root and activation), dpsi = do v^T and
    ds = psi * (dpsi - rowsum(psi * dpsi)) * scale."""
    B: tl.constexpr = ROWS // N
    node, is_node, begin, count = _nodes_of(node_ptr, tile_node, tile, ROWS, B)
    column = tl.arange(0, W)
    mask = is_node[:, None] & (column < C)[None, :]
    place = (node * L + lane)[:, None] * C + column[None, :]
    given = tl.load(grad + place, mask=mask, other=0.0).to(ACC)
    own = tl.zeros([B, W], ACC)
    if ROOT:
        own += tl.load(root + place, mask=mask, other=0.0).to(ACC)
    offset = (begin * L + lane)[:, None] * (3 * C) + column[None, :]
    first = projected + offset
    grad_first = grad_projected + offset
    kind = grad_projected.dtype.element_ty
    if N == 1:
        here = mask & (count > 0)[:, None]
        total = given
        if RELU:
            total = tl.where(own + tl.load(first + 2 * C, mask=here, other=0.0).to(ACC) > 0, given, 0.0)
        nothing = tl.zeros([B, W], kind)  # a softmax over one is constant
        tl.store(grad_first, nothing, mask=here)
        tl.store(grad_first + C, nothing, mask=here)
        tl.store(grad_first + 2 * C, total.to(kind), mask=here)
    else:
        member = tl.arange(0, N)
        exists = member[None, :] < count[:, None]
        there = exists[:, :, None] & (column < C)[None, None, :]
        members = member[None, :, None] * (L * 3 * C)
        keys = tl.load(first[:, None, :] + members + C, mask=there, other=0.0).to(ACC)
        values = tl.load(first[:, None, :] + members + 2 * C, mask=there, other=0.0).to(ACC)
        grad_keys = tl.zeros([B, N, W], ACC)
        grad_values = tl.zeros([B, N, W], ACC)
        total = tl.zeros([B, W], ACC)
        for i in range(0, tl.max(count, 0)):
            here = mask & (i < count)[:, None]
            query = tl.load(first + i * (L * 3 * C), mask=here, other=0.0).to(ACC)
            psi = _attention(query, keys, exists, SCALE)
            do = tl.where(here, given, 0.0)
            if RELU:
                do = tl.where(tl.sum(psi[:, :, None] * values, 1) + own > 0, do, 0.0)
            total += do
            dpsi = tl.sum(do[:, None, :] * values, 2)
            ds = psi * (dpsi - tl.sum(psi * dpsi, 1)[:, None]) * SCALE
            grad_query = tl.sum(ds[:, :, None] * keys, 1)
            tl.store(grad_first + i * (L * 3 * C), grad_query.to(kind), mask=here)
            grad_keys += ds[:, :, None] * query[:, None, :]
            grad_values += psi[:, :, None] * do[:, None, :]
        tl.store(grad_first[:, None, :] + members + C, grad_keys.to(kind), mask=there)
        tl.store(grad_first[:, None, :] + members + 2 * C, grad_values.to(kind), mask=there)
    if ROOT:
        tl.store(grad_root + place, total.to(grad_root.dtype.element_ty), mask=mask)


@triton.jit
def _forward(
    out, projected, root, node_ptr, tile_node, tile_size,
    SCALE: tl.constexpr, L: tl.constexpr, C: tl.constexpr, ROOT: tl.constexpr, RELU: tl.constexpr, ACC: tl.constexpr,
    ROWS: tl.constexpr, W: tl.constexpr, SMALLEST: tl.constexpr, SIZES: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0)
    lane = program % L
    tile = program // L
    size = tl.load(tile_size + tile)
    for step in tl.static_range(SIZES):
        if size == SMALLEST << step:
            _forward_tile(
                out, projected, root, node_ptr, tile_node, tile, lane,
                SCALE, L, C, ROOT, RELU, ACC, ROWS, W, SMALLEST << step,
            )  # fmt: skip


@triton.jit
def _backward(
    grad_projected, grad_root, grad, projected, root, node_ptr, tile_node, tile_size,
    SCALE: tl.constexpr, L: tl.constexpr, C: tl.constexpr, ROOT: tl.constexpr, RELU: tl.constexpr, ACC: tl.constexpr,
    ROWS: tl.constexpr, W: tl.constexpr, SMALLEST: tl.constexpr, SIZES: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0)
    lane = program % L
    tile = program // L
    size = tl.load(tile_size + tile)
    for step in tl.static_range(SIZES):
        if size == SMALLEST << step:
            _backward_tile(
                grad_projected, grad_root, grad, projected, root, node_ptr, tile_node, tile, lane,
                SCALE, L, C, ROOT, RELU, ACC, ROWS, W, SMALLEST << step,
            )  # fmt: skip


def attend_relations(projected: Tensor, root: Tensor | None, tables: list[Tensor], relu: bool, scale: float) -> Tensor:
    projected = projected.contiguous()
    root = root if root is None else root.contiguous()
    _, lanes, channels = projected.shape
    channels //= 3
    out = projected.new_empty(tables[0].numel() - 1, lanes, channels)
    if out.numel():
        _launch(_forward, (out, projected, projected if root is None else root), out, root, tables, relu, scale)
        attend_large(out, projected, root, tables, relu, scale)
    return out


def attend_relations_backward(
    grad: Tensor, projected: Tensor, root: Tensor | None, tables: list[Tensor], relu: bool, scale: float
) -> tuple[Tensor, Tensor]:
    grad, projected = grad.contiguous(), projected.contiguous()
    root = root if root is None else root.contiguous()
    grad_projected = torch.empty_like(projected)
    grad_root = grad.new_empty(0) if root is None else torch.empty_like(grad)
    if grad.numel():
        rows = (grad_projected, grad_root, grad, projected, projected if root is None else root)
        _launch(_backward, rows, grad, root, tables, relu, scale)
        attend_large_backward(grad_projected, grad_root, grad, projected, root, tables, relu, scale)
    return grad_projected, grad_root


def _launch(kernel, rows, out: Tensor, root: Tensor | None, tables: list[Tensor], relu: bool, scale: float) -> None:
    """The tiles that fit into a warp, then the wider ones."""
    node_ptr, *tiles, _ = tables
    _, lanes, channels = out.shape
    width = max(power_of_2(channels), 2)
    smallest = 1
    for node, size in (tiles[:2], tiles[2:]):
        height = node.size(1)
        sizes = (height // smallest).bit_length()  # the powers of 2 from smallest to height
        if size.numel():
            with on_device(out):
                kernel[(size.numel() * lanes,)](
                    *rows, node_ptr, node, size, scale, lanes, channels, root is not None, relu,
                    sums_in(out.dtype), height, width, smallest, sizes,
                    num_warps=min(max(height * width // NARROW, 1), 16), num_stages=1,
                )  # fmt: skip
        smallest = 2 * height
