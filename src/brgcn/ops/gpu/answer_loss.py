# mypy: ignore-errors
"""What scores contribute to the loss over all candidates, on CUDA: a row of scores is read twice and its slopes are
written once, where separate operations pass over it sixteen times."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from brgcn.ops.gpu.common import LOWEST, on_device, power_of_2, sums_in, wide

ANSWERS = 16  # of a query that are looked at together


@triton.jit
def _answers(mine, place, weight, k, last, candidates, SUMS: tl.constexpr):
    """Place, whether it is a candidate's, weight and score of the answers k [n] that are before ``last``; what is no
    candidate scores NaN."""
    exists = k < last
    at = tl.load(place + k, mask=exists, other=0)
    inside = (at >= 0) & (at < candidates)
    score = tl.load(mine + at, mask=exists & inside, other=0.0).to(SUMS)
    score = tl.where(exists & ~inside, float("nan"), score)
    return at, inside, tl.load(weight + k, mask=exists, other=0.0).to(SUMS), score


@triton.jit
def _slopes(
    slopes, losses, scores, between_slopes, between_scores, candidates, ptr, place, weight,
    SUMS: tl.constexpr, W: tl.constexpr, ANSWERS: tl.constexpr,
):  # fmt: skip
    """One program per query."""
    row = tl.program_id(0).to(tl.int64)
    mine, out = scores + row * between_scores, slopes + row * between_slopes
    column = tl.arange(0, W)
    tops = tl.full([W], LOWEST, SUMS)
    sums = tl.zeros([W], SUMS)  # of exp(score - top), each column with a top of its own
    for begin in range(0, candidates, W):
        score = tl.load(mine + begin + column, mask=begin + column < candidates, other=-float("inf")).to(SUMS)
        raised = tl.maximum(tops, score)
        sums = sums * tl.exp(tops - raised) + tl.exp(score - raised)
        tops = raised
    top = tl.max(tops, 0)
    summed = tl.sum(sums * tl.exp(tops - top), 0)

    first, last = tl.load(ptr + row), tl.load(ptr + row + 1)
    weights = tl.zeros([ANSWERS], SUMS)
    of_answers = tl.zeros([ANSWERS], SUMS)
    for begin in range(first, last, ANSWERS):
        _, _, share, own = _answers(mine, place, weight, begin + tl.arange(0, ANSWERS), last, candidates, SUMS)
        weights += share
        of_answers += share * own
    total = tl.sum(weights, 0)
    tl.store(losses + row, total * (top + tl.log(summed)) - tl.sum(of_answers, 0))

    factor = total / summed
    for begin in range(0, candidates, W):
        exists = begin + column < candidates
        score = tl.load(mine + begin + column, mask=exists, other=0.0).to(SUMS)
        tl.store(out + begin + column, (tl.exp(score - top) * factor).to(out.dtype.element_ty), mask=exists)
    tl.debug_barrier()  # answers are among what was written
    for begin in range(first, last, ANSWERS):
        k = begin + tl.arange(0, ANSWERS)
        at, inside, share, own = _answers(mine, place, weight, k, last, candidates, SUMS)
        slope = tl.exp(own - top) * factor - share
        # an answer that does not count may repeat one that does
        tl.store(out + at, slope.to(out.dtype.element_ty), mask=(k < last) & (share != 0) & inside)


def loss_and_slope(scores: Tensor, slopes: Tensor, ptr: Tensor, place: Tensor, weight: Tensor) -> Tensor:
    """The loss of each query [b]; the slopes of their ``scores`` [b, C] are written to ``slopes``. In both, rows may
    lie further apart than they are long, but are in one piece. ``ptr`` [b + 1] says which answers are a query's;
    those of weight 0 may repeat others."""
    rows, candidates = scores.shape
    assert slopes.stride(1) == 1 or candidates == 1
    scores = scores if scores.stride(1) == 1 else scores.contiguous()
    losses = torch.full((rows,), torch.nan, dtype=wide(scores.dtype), device=scores.device)
    if scores.numel():
        with on_device(scores):
            _slopes[(rows,)](
                slopes, losses, scores, slopes.stride(0), scores.stride(0), candidates, ptr, place.contiguous(),
                weight.contiguous(), sums_in(scores.dtype), min(4096, power_of_2(candidates)), ANSWERS, num_warps=8,
            )  # fmt: skip
    return losses
