# mypy: ignore-errors
"""What scores contribute to the loss over all candidates, on the CPU: a row of scores stays in the cache until it is
done."""

from __future__ import annotations

import math

import numpy as np
from numba import prange
from torch import Tensor

from brgcn.ops.cpu.exponential import exp_of
from brgcn.ops.cpu.parallel import array, numbers, over_rows, parallel_compiled
from brgcn.ops.cpu.vector import greatest, load, maximum, width_of

LANES = 16


def loss_and_slope_(scores: Tensor, ptr: Tensor, place: Tensor, weight: Tensor, correction: Tensor | None) -> Tensor:
    """The loss of each query [b]; ``scores`` [b, C], whose rows may lie further apart than they are long, become their
    slopes. ``ptr`` [b + 1] says which answers are a query's."""
    rows, candidates = scores.shape
    if place.numel() and int(place.max()) >= candidates:
        raise IndexError(f"an answer is candidate {int(place.max())} of {candidates}")
    losses = scores.new_full((rows,), math.nan)  # of queries without any candidate
    if scores.numel():
        over_rows(
            _slopes,
            rows,
            array(scores.as_strided(((rows - 1) * scores.stride(0) + candidates,), (1,))),
            scores.stride(0),
            candidates,
            width_of(LANES),
            *(array(t) for t in (ptr, place, weight)),
            array(scores.new_empty(0) if correction is None else correction),
            array(losses),
            work=scores.numel(),
        )
    return losses


@parallel_compiled
def _slopes(bounds, scores, stride, candidates, w, ptr, place, weight, correction, losses):
    nothing, _ = numbers(scores)
    whole = candidates - candidates % len(w)
    for task in prange(len(bounds) - 1):
        own = np.empty(0, scores.dtype)
        for row in range(bounds[task], bounds[task + 1]):
            mine = scores[row * stride : row * stride + candidates]
            first, last = ptr[row], ptr[row + 1]
            total_weight, of_answers = nothing, nothing
            if len(own) < last - first:
                own = np.empty(last - first, scores.dtype)
            for k in range(first, last):
                own[k - first] = mine[place[k]]
                total_weight += weight[k]
                of_answers += weight[k] * own[k - first]
            if len(correction):
                for c in range(candidates):
                    mine[c] += correction[c]
                for k in range(first, last):  # a query's own answers are always there
                    mine[place[k]] = own[k - first]
            top = mine[0]
            if whole:
                tops = load(mine, 0, w)
                for c in range(len(w), whole, len(w)):
                    tops = maximum(tops, load(mine, c, w))
                top = greatest(tops)
            for c in range(whole, candidates):
                top = max(top, mine[c])
            summed = nothing
            for c in range(candidates):
                raised = exp_of(mine[c] - top)
                mine[c] = raised
                summed += raised
            losses[row] = total_weight * (top + math.log(summed)) - of_answers
            factor = total_weight / summed
            for c in range(candidates):
                mine[c] *= factor
            for k in range(first, last):
                mine[place[k]] -= weight[k]
