"""Several linear maps of each pair by the block-diagonal matrices of its relation: its queries, keys and values.

    out_p = [z_p W_r^1 | z_p W_r^2 | ..]    for the pair p of relation r

where each W_r has B blocks on its diagonal (B = 1: whole matrices). Blocks do not meet, so that they are to the product
what lanes are. On the CPU a fused version serves narrow blocks, for which a library's product spends more time on
laying out rows than on multiplying; elsewhere one ``typed_linear`` does it.
"""

from __future__ import annotations

import torch
from torch import Tensor

from brgcn.graph import RelationalGraph
from brgcn.ops.backend import backend_for
from brgcn.ops.registered import op_of_two
from brgcn.ops.tables import pair_rows
from brgcn.ops.typed_linear import typed_linear

NARROW = 1 << 10  # numbers of a block's matrix up to which the fused version is faster


def typed_blocks(z: Tensor, weight: Tensor, graph: RelationalGraph) -> Tensor:
    """z [P, L, B * in], weight [R, L, M, B, in, out] of M maps -> [P, L, M * B * out]."""
    relations, lanes, maps, blocks, ins, outs = weight.shape
    narrow = ins * outs <= NARROW and z.dtype == weight.dtype
    if backend_for(z) == "numba" and narrow and not torch.is_autocast_enabled("cpu"):
        order = pair_rows(graph).by_relation
        out: Tensor = _fused("numba", z, weight, [order.ptr, order.entry, graph.pair_relation])
        return out
    # the maps side by side, so that one typed product serves all
    beside = weight.permute(0, 1, 3, 4, 2, 5).reshape(relations, lanes * blocks, ins, maps * outs)
    parts = typed_linear(z.reshape(z.size(0), lanes * blocks, ins), beside, graph)
    return parts.view(z.size(0), lanes, blocks, maps, outs).transpose(2, 3).flatten(2)


def _like_output(z: Tensor, weight: Tensor, tables: list[Tensor]) -> Tensor:
    return z.new_empty(z.size(0), z.size(1), weight.size(2) * weight.size(3) * weight.size(5))


_fused = op_of_two("typed_blocks", _like_output, backends=("numba",))
