"""How much attention each relation receives.

Rows of psi sum to one, so the mean of a row says nothing. What counts is what a relation **receives**: the mean of
psi_i[r, r'] over all r in R_i and all nodes i that have r'; and beside it the same times |R_i|, which is 1 where
attention is uniform.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from brgcn.nn import RelationAttentionWeights


@dataclass(frozen=True)
class RelationImportance:
    """All [number of relation ids]; relations that occur at no node have count 0 and NaN elsewhere."""

    nodes: Tensor  # nodes that have the relation
    attention: Tensor  # mean attention received
    lift: Tensor  # mean of attention received * |R_i|


def relation_importance(psi: RelationAttentionWeights, num_ids: int) -> RelationImportance:
    """``num_ids``: relation ids that can occur (one more than the relations where nodes attend to themselves)."""
    weight = psi.weight.detach().double()
    weight = weight.mean(-1) if weight.dim() == 2 else weight  # the mean over heads
    # |R_i| of the node of each entry: a node has |R_i|^2 entries
    entries = torch.bincount(psi.node)
    size = entries[psi.node].double().sqrt().round()
    received = weight / size  # summed over r this is the mean over r
    nodes = torch.bincount(psi.attended_relation, (1 / size), minlength=num_ids).round()
    attention = torch.bincount(psi.attended_relation, received, minlength=num_ids) / nodes
    lift = torch.bincount(psi.attended_relation, received * size, minlength=num_ids) / nodes
    return RelationImportance(nodes.long(), attention, lift)
