# mypy: ignore-errors
"""Counting on CUDA: a row is read once per item, and nothing is written in between."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from brgcn.ops.gpu.common import on_device, power_of_2


@triton.jit
def _count(higher, equal, scores, row, truth, width, W: tl.constexpr):
    """One program per item."""
    item = tl.program_id(0).to(tl.int64)
    mine = scores + tl.load(row + item).to(tl.int64) * width
    own = tl.load(truth + item)
    place = tl.arange(0, W)
    above = tl.zeros([W], tl.int32)
    same = tl.zeros([W], tl.int32)
    for first in range(0, width, W):
        exists = first + place < width
        score = tl.load(mine + first + place, mask=exists, other=0.0)
        above += (exists & (score > own)).to(tl.int32)
        same += (exists & (score == own)).to(tl.int32)
    tl.store(higher + item, tl.sum(above, 0).to(tl.int64))
    tl.store(equal + item, tl.sum(same, 0).to(tl.int64))


def count_scores(scores: Tensor, row: Tensor, truth: Tensor) -> tuple[Tensor, Tensor]:
    higher, equal = torch.empty_like(row), torch.empty_like(row)
    if row.numel():
        width = scores.size(1)
        with on_device(scores):
            _count[(row.numel(),)](
                higher, equal, scores.contiguous(), row.contiguous(), truth.contiguous(), width,
                min(1024, power_of_2(width)),
            )  # fmt: skip
    return higher, equal
