"""How many scores of a row are higher than, and how many equal to, a given one: what a rank is made of."""

from __future__ import annotations

import torch
from torch import Tensor

from brgcn.ops.backend import backend_for
from brgcn.ops.registered import fused_module

CELLS = 1 << 25  # comparisons that plain torch holds at a time


def count_scores(scores: Tensor, row: Tensor, truth: Tensor, cells: int = CELLS) -> tuple[Tensor, Tensor]:
    """For scores [b, N] and items m: #(scores[row_m] > truth_m) and #(scores[row_m] == truth_m)."""
    backend = backend_for(scores)
    if backend != "torch":
        higher, equal = fused_module(backend, "count_scores").count_scores(scores, row, truth)
        return higher, equal
    parts = [torch.zeros(2, 0, dtype=torch.long, device=scores.device)]
    at_once = max(1, cells // max(1, scores.size(1)))
    for some, own in zip(row.split(at_once), truth.split(at_once), strict=True):
        compared = scores.index_select(0, some)
        parts.append(torch.stack([(compared > own.unsqueeze(1)).sum(1), (compared == own.unsqueeze(1)).sum(1)]))
    higher, equal = torch.cat(parts, dim=1)
    return higher, equal
