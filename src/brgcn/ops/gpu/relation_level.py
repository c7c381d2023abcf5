# mypy: ignore-errors
"""Relation level: the pairs of a node attend to each other.

A program takes a tile of whole nodes with together at most TILE pairs, and one lane: scores of all pairs with all
pairs of the tile are one small matrix product, those of different nodes are masked. The attention stays in registers,
channels are taken some columns at a time; only projections are read and only results written. A node with more pairs
is a tile of its own, for the kernels in large_nodes.py.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from brgcn.ops.gpu.common import on_device, power_of_2, product, sums_in
from brgcn.ops.gpu.large_nodes import attend_large, attend_large_backward
from brgcn.ops.gpu.tiles import LOWEST, is_lonely, load_part, load_rows, store_rows
from brgcn.ops.relation_level import TILE

COLUMNS = 32  # that are taken at a time


@triton.jit
def _attention(
    projected, pair, exists, of_pair, lane,
    SCALE: tl.constexpr, L: tl.constexpr, C: tl.constexpr, ACC: tl.constexpr, N: tl.constexpr, W: tl.constexpr,
):  # fmt: skip
    """psi [N, N] of the pairs [N] of a tile; zero between pairs of different nodes."""
    scores = tl.zeros([N, N], ACC)
    for first in range(0, C, W):
        column = first + tl.arange(0, W)
        query = load_part(projected, pair, exists, lane, 0, column, L, C)
        key = load_part(projected, pair, exists, lane, 1, column, L, C)
        scores += product(query, tl.trans(key), W)
    same = (of_pair[:, None] == of_pair[None, :]) & exists[None, :]
    scores = tl.where(same, scores * SCALE, LOWEST)
    share = tl.where(same, tl.exp(scores - tl.max(scores, 1)[:, None]), 0.0)
    total = tl.sum(share, 1)
    return share / tl.where(total > 0, total, 1.0)[:, None]


@triton.jit
def _forward(
    out, projected, root, node_ptr, pair_node, tile_node,
    SCALE: tl.constexpr, L: tl.constexpr, C: tl.constexpr, ROOT: tl.constexpr, RELU: tl.constexpr, ACC: tl.constexpr,
    N: tl.constexpr, W: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0)
    lane = program % L
    tile = program // L
    first_node = tl.load(tile_node + tile)
    end_node = tl.load(tile_node + tile + 1)
    begin = tl.load(node_ptr + first_node)
    end = tl.load(node_ptr + end_node)
    if end - begin <= N:
        pair = begin + tl.arange(0, N)
        exists = pair < end
        of_pair = tl.load(pair_node + pair, mask=exists, other=-1)
        node = first_node + tl.arange(0, N)
        is_node = node < end_node
        lonely = is_lonely(node_ptr, node, is_node)
        belongs = (node[:, None] == of_pair[None, :]).to(ACC)
        psi = _attention(projected, pair, exists, of_pair, lane, SCALE, L, C, ACC, N, W)
        for first in range(0, C, W):
            column = first + tl.arange(0, W)
            value = load_part(projected, pair, exists, lane, 2, column, L, C)
            attended = product(psi.to(value.dtype), value, N)
            if ROOT:
                attended += load_rows(root, of_pair, exists, lane, column, L, C).to(ACC)
            if RELU:
                attended = tl.maximum(attended, 0.0)
            total = product(belongs, attended, N)
            if ROOT:  # a node without pairs is left with its self-connection
                alone = load_rows(root, node, lonely, lane, column, L, C).to(ACC)
                if RELU:
                    alone = tl.maximum(alone, 0.0)
                total += alone
            store_rows(out, total, node, is_node, lane, column, L, C, C)


@triton.jit
def _backward(
    grad_projected, grad_root, grad, projected, root, node_ptr, pair_node, tile_node,
    SCALE: tl.constexpr, L: tl.constexpr, C: tl.constexpr, ROOT: tl.constexpr, RELU: tl.constexpr, ACC: tl.constexpr,
    N: tl.constexpr, W: tl.constexpr,
):  # fmt: skip
    """The attention is computed again. With the gradient do of psi v (before root and activation),
    dpsi = do v^T and ds = psi * (dpsi - rowsum(psi * dpsi)) * scale."""
    program = tl.program_id(0)
    lane = program % L
    tile = program // L
    first_node = tl.load(tile_node + tile)
    end_node = tl.load(tile_node + tile + 1)
    begin = tl.load(node_ptr + first_node)
    end = tl.load(node_ptr + end_node)
    if end - begin <= N:
        pair = begin + tl.arange(0, N)
        exists = pair < end
        of_pair = tl.load(pair_node + pair, mask=exists, other=-1)
        node = first_node + tl.arange(0, N)
        is_node = node < end_node
        lonely = is_lonely(node_ptr, node, is_node)
        belongs = (node[:, None] == of_pair[None, :]).to(ACC)
        psi = _attention(projected, pair, exists, of_pair, lane, SCALE, L, C, ACC, N, W)
        dpsi = tl.zeros([N, N], ACC)
        for first in range(0, C, W):
            column = first + tl.arange(0, W)
            value = load_part(projected, pair, exists, lane, 2, column, L, C)
            do = load_rows(grad, of_pair, exists, lane, column, L, C)
            if RELU:
                before = product(psi.to(value.dtype), value, N)
                if ROOT:
                    before += load_rows(root, of_pair, exists, lane, column, L, C).to(ACC)
                do = tl.where(before > 0, do, 0.0)
            dpsi += product(do, tl.trans(value), W)
            dvalue = product(tl.trans(psi.to(value.dtype)), do, N)
            store_rows(grad_projected + 2 * C, dvalue, pair, exists, lane, column, L, C, 3 * C)
            if ROOT:
                alone = load_rows(grad, node, lonely, lane, column, L, C).to(ACC)
                if RELU:
                    alone = tl.where(load_rows(root, node, lonely, lane, column, L, C) > 0, alone, 0.0)
                total = alone + product(belongs, do.to(ACC), N)
                store_rows(grad_root, total, node, is_node, lane, column, L, C, C)
        ds = psi * (dpsi - tl.sum(psi * dpsi, 1)[:, None]) * SCALE
        for first in range(0, C, W):
            column = first + tl.arange(0, W)
            query = load_part(projected, pair, exists, lane, 0, column, L, C)
            key = load_part(projected, pair, exists, lane, 1, column, L, C)
            low = ds.to(query.dtype)
            dquery = product(low, key, N)
            dkey = product(tl.trans(low), query, N)
            store_rows(grad_projected, dquery, pair, exists, lane, column, L, C, 3 * C)
            store_rows(grad_projected + C, dkey, pair, exists, lane, column, L, C, 3 * C)


def attend_relations(projected: Tensor, root: Tensor | None, tables: list[Tensor], relu: bool, scale: float) -> Tensor:
    projected = projected.contiguous()
    root = root if root is None else root.contiguous()
    _, lanes, channels = projected.shape
    channels //= 3
    out = projected.new_empty(tables[0].numel() - 1, lanes, channels)
    if out.numel():
        width, warps = _shape(channels)
        with on_device(projected):
            _forward[((tables[2].numel() - 1) * lanes,)](
                out, projected, projected if root is None else root, *tables[:3], scale, lanes, channels,
                root is not None, relu, sums_in(projected.dtype), TILE, width, num_warps=warps, num_stages=1,
            )  # fmt: skip
        attend_large(out, projected, root, tables, relu, scale)
    return out


def attend_relations_backward(
    grad: Tensor, projected: Tensor, root: Tensor | None, tables: list[Tensor], relu: bool, scale: float
) -> tuple[Tensor, Tensor]:
    grad, projected = grad.contiguous(), projected.contiguous()
    root = root if root is None else root.contiguous()
    _, lanes, channels = grad.shape
    grad_projected = torch.empty_like(projected)
    grad_root = grad.new_empty(0) if root is None else torch.empty_like(grad)
    if grad.numel():
        width, warps = _shape(channels)
        with on_device(projected):
            _backward[((tables[2].numel() - 1) * lanes,)](
                grad_projected, grad_root, grad, projected, projected if root is None else root, *tables[:3], scale,
                lanes, channels, root is not None, relu, sums_in(projected.dtype), TILE, width, num_warps=warps,
                num_stages=1,
            )  # fmt: skip
        attend_large_backward(grad_projected, grad_root, grad, projected, root, tables, relu, scale)
    return grad_projected, grad_root


def _shape(channels: int) -> tuple[int, int]:
    """Columns of a tile, and warps that share it."""
    return min(max(power_of_2(channels), 16), COLUMNS), 2 if channels <= COLUMNS else 4
