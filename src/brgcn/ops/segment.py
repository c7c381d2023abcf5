"""Sums and softmaxes over the segments of a ragged array, in plain torch."""

from __future__ import annotations

import torch
from torch import Tensor


def segment_sum(values: Tensor, segment: Tensor, num_segments: int) -> Tensor:
    """[M, ...] values and the segment [M] of each -> [num_segments, ...]; an empty segment sums to zero."""
    return values.new_zeros(num_segments, *values.shape[1:]).index_add(0, segment, values)


def sum_in_order(values: Tensor, segment: Tensor, ptr: Tensor) -> Tensor:
    """The same of segments that lie one after another, from ptr [num_segments + 1]; every time to the last digit, also
    on a GPU, where ``index_add`` adds in any order."""
    if not values.is_cuda:
        return segment_sum(values, segment, ptr.numel() - 1)
    summed: Tensor = torch.segment_reduce(values, "sum", offsets=ptr.long(), axis=0, unsafe=True, initial=0)
    return summed


def segment_softmax(scores: Tensor, segment: Tensor, num_segments: int) -> Tensor:
    """Softmax of scores [M, L] within each segment; every non-empty segment sums to one."""
    index = segment.unsqueeze(-1).expand_as(scores)
    with torch.no_grad():  # a shift does not change a softmax, so it needs no gradient
        highest = scores.new_full((num_segments, scores.size(-1)), -torch.inf).scatter_reduce(0, index, scores, "amax")
    weights = (scores - highest.index_select(0, segment)).exp()
    total = segment_sum(weights, segment, num_segments)
    return weights / total.index_select(0, segment)
