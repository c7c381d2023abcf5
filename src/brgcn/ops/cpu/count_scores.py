# mypy: ignore-errors
"""Counting on the CPU: a row is read once per item, and nothing is written in between."""

from __future__ import annotations

import numpy as np
import torch
from numba import prange
from torch import Tensor

from brgcn.ops.cpu.parallel import array, over_rows, parallel_compiled


def count_scores(scores: Tensor, row: Tensor, truth: Tensor) -> tuple[Tensor, Tensor]:
    higher, equal = torch.empty_like(row), torch.empty_like(row)
    work = row.numel() * scores.size(1)
    over_rows(
        _count, row.numel(), array(scores.contiguous()), *(array(t) for t in (row, truth, higher, equal)), work=work
    )
    return higher, equal


@parallel_compiled
def _count(bounds, scores, row, truth, higher, equal):
    for task in prange(len(bounds) - 1):
        for item in range(bounds[task], bounds[task + 1]):
            mine = scores[row[item]]
            own = truth[item]
            above, same = np.int32(0), np.int32(0)
            for entity in range(len(mine)):
                above += np.int32(mine[entity] > own)
                same += np.int32(mine[entity] == own)
            higher[item], equal[item] = above, same
