"""A linear map of each pair by the matrix of its relation.

No weight is gathered per row, and the number of launches does not depend on the number of relations. The torch version
groups pairs by relation into blocks of equal height, the last of each relation padded with zeros, and multiplies all
blocks in one batched product; on the CPU this is also the fast version for wide matrices, since a library's product is
hard to beat (``typed_blocks`` has one for narrow ones). The Triton version reads and writes the rows where they are.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from brgcn.graph import RelationalGraph
from brgcn.ops.backend import backend_for
from brgcn.ops.precision import autocast_features
from brgcn.ops.registered import op_of_two
from brgcn.ops.tables import Chunks, Grouping, cut, pair_rows

BLOCK = 32  # rows of a block in the torch version
TILE = 64  # pairs of a relation that one Triton program multiplies
SUM_CHUNK = 1024  # pairs of a relation over which one Triton program sums up the gradient of its matrix


class Blocks(NamedTuple):
    slot: Tensor  # [P] place of each pair among the rows of all blocks
    relation: Tensor  # [B] relation of each block


def typed_linear(z: Tensor, weight: Tensor, graph: RelationalGraph) -> Tensor:
    """z [P, L, in], weight [R, L, in, out] -> [P, L, out]."""
    z, weight = autocast_features(z), autocast_features(weight)
    if backend_for(z) != "triton":
        return _typed_linear(z, weight, graph)
    order = pair_rows(graph).by_relation
    tiles = graph.derived("relation_tiles", lambda g: _chunks(order, TILE))
    sums = graph.derived("relation_sums", lambda g: _chunks(order, SUM_CHUNK))
    out: Tensor = _fused("triton", z, weight, [order.ptr, order.entry, *tiles, *sums])
    return out


def _typed_linear(z: Tensor, weight: Tensor, graph: RelationalGraph) -> Tensor:
    slot, block_relation = graph.derived("relation_blocks", relation_blocks)
    _, lanes, in_channels = z.shape
    padded = z.new_zeros(block_relation.numel() * BLOCK, lanes, in_channels).index_copy(0, slot, z)
    blocks = padded.view(-1, BLOCK, lanes, in_channels).transpose(1, 2)  # [B, L, BLOCK, in]
    product = blocks @ weight.index_select(0, block_relation)  # [B, L, BLOCK, out]
    return product.transpose(1, 2).reshape(-1, lanes, weight.size(-1)).index_select(0, slot)


def relation_blocks(graph: RelationalGraph) -> Blocks:
    relation = graph.pair_relation
    order = torch.argsort(relation, stable=True)
    size = torch.bincount(relation, minlength=graph.num_relations)
    num_blocks = (size + BLOCK - 1) // BLOCK
    rank = torch.empty_like(order)  # place of each pair among those of its relation
    rank[order] = torch.arange(relation.numel(), device=relation.device) - (size.cumsum(0) - size)[relation[order]]
    first_row = (num_blocks.cumsum(0) - num_blocks) * BLOCK
    block_relation = torch.repeat_interleave(torch.arange(graph.num_relations, device=relation.device), num_blocks)
    return Blocks(first_row[relation] + rank, block_relation)


# ---------------------------------------------------------------------- the fused operator


def _chunks(order: Grouping, size: int) -> Chunks:
    every = torch.arange(order.num_segments, device=order.ptr.device)
    return cut(order.ptr, every, torch.full_like(every, size))


_fused = op_of_two("typed_linear", lambda z, weight, tables: z.new_empty(z.size(0), z.size(1), weight.size(3)))
