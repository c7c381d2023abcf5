"""A linear map of each pair by the matrix of its relation.

Pairs are grouped by relation into blocks of equal height, the last of each relation padded with zeros, and all blocks
are multiplied in one batched product. The number of launches does not depend on the number of relations, and no weight
is gathered per row: a block of 32 pairs shares one.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from brgcn.graph import RelationalGraph

BLOCK = 32


class Blocks(NamedTuple):
    slot: Tensor  # [P] place of each pair among the rows of all blocks
    relation: Tensor  # [B] relation of each block


def typed_linear(z: Tensor, weight: Tensor, graph: RelationalGraph) -> Tensor:
    """z [P, L, in], weight [R, L, in, out] -> [P, L, out]."""
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
