"""Softmax cross-entropy of queries over all candidates, with its gradient, never holding all scores at a time.

For a query q with answers A_q, weights w_qa of the answers and w_q = sum_a w_qa::

    loss_q = w_q log sum_c exp(s_qc + b_qc) - sum_a w_qa s_qa

where s are the scores. Queries with several answers cost one row, not one per answer. When candidates are a sample,
the ``correction`` b_c = -log(probability that c is in the sample) makes the sum inside the logarithm an unbiased
estimate of the sum over all; a query's own answers are always there, so b_qa = 0 for them.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from brgcn.ops.backend import backend_for
from brgcn.ops.products import aligned_rows
from brgcn.ops.registered import fused_module

Match = Callable[[Tensor, Tensor], Tensor]  # (queries [b, d], candidates [C, d]) -> scores [b, C]


def answer_loss(
    query: Tensor,
    candidates: Tensor,
    answer_row: Tensor,
    answer: Tensor,
    answer_weight: Tensor,
    match: Match,
    *,
    correction: Tensor | None = None,
    cells: int = 1 << 22,
) -> Tensor:
    """The sum of loss_q over the queries, a scalar.

    Args:
        query: [b, d].
        candidates: [C, d].
        answer_row, answer: [n] query and candidate of each answer, sorted by query; no answer twice.
        answer_weight: [n].
        match: must be differentiable.
        correction: [C] b_c.
        cells: scores that are held at a time; it changes speed and memory alone.
    """
    loss: Tensor = _AnswerLoss.apply(  # type: ignore[no-untyped-call]
        query, candidates, answer_row, answer, answer_weight, match, correction, cells
    )
    return loss


class _AnswerLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: torch.autograd.function.FunctionCtx,
        query: Tensor,
        candidates: Tensor,
        answer_row: Tensor,
        answer: Tensor,
        answer_weight: Tensor,
        match: Match,
        correction: Tensor | None,
        cells: int,
    ) -> Tensor:
        rows = max(1, cells // max(1, candidates.size(0)))
        if rows >= query.size(0):  # the usual case on a GPU: what is as large as the candidates is written once
            asked, wanted = query.detach().requires_grad_(), candidates.detach().requires_grad_()
            with torch.enable_grad():
                scores = match(asked, wanted)
            loss, slope = _loss_and_slope(scores.detach(), answer_row, answer, answer_weight, correction)
            ctx.in_one = (scores, asked, wanted, _like(slope, scores))  # type: ignore[attr-defined]
            return loss.to(query.dtype)
        wanted = candidates.detach().requires_grad_()
        query_gradient = torch.empty_like(query)
        # of all chunks together: in full precision
        candidate_gradient = torch.zeros_like(candidates, dtype=torch.promote_types(candidates.dtype, torch.float32))
        loss = query.new_zeros((), dtype=torch.double)
        first = _first_answers(answer_row, query.size(0), rows)
        for number, begin in enumerate(range(0, query.size(0), rows)):
            mine = slice(first[number], first[number + 1])
            asked = query[begin : begin + rows].detach().requires_grad_()
            with torch.enable_grad():
                scores = match(asked, wanted)
            row, place, weight = answer_row[mine] - begin, answer[mine], answer_weight[mine]
            part, slope = _loss_and_slope(scores.detach(), row, place, weight, correction)
            loss += part
            by_query, by_candidate = torch.autograd.grad(scores, (asked, wanted), _like(slope, scores))
            query_gradient[begin : begin + rows] = by_query
            candidate_gradient += by_candidate
        ctx.in_one = None  # type: ignore[attr-defined]
        ctx.save_for_backward(query_gradient, candidate_gradient.to(candidates.dtype))
        return loss.to(query.dtype)

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, slope: Tensor) -> tuple[Tensor | None, ...]:
        if ctx.in_one is not None:  # type: ignore[attr-defined]
            scores, asked, wanted, by_score = ctx.in_one  # type: ignore[attr-defined]
            ctx.in_one = None  # type: ignore[attr-defined]
            _flat(by_score).mul_(slope)
            gradients = torch.autograd.grad(scores, (asked, wanted), by_score)
            return *gradients, None, None, None, None, None, None
        query_gradient, candidate_gradient = ctx.saved_tensors  # type: ignore[attr-defined]
        return query_gradient * slope, candidate_gradient * slope, None, None, None, None, None, None


def _like(slope: Tensor, scores: Tensor) -> Tensor:
    """In the precision of the scores."""
    same = slope.dtype == scores.dtype
    return slope if same else aligned_rows(slope.size(0), slope.size(1), scores).copy_(slope)


def _first_answers(answer_row: Tensor, queries: int, rows: int) -> list[int]:
    """Place of the first answer of each chunk of ``rows`` queries, and the number of all."""
    bounds = torch.arange(0, queries + rows, rows, device=answer_row.device)
    return torch.searchsorted(answer_row, bounds).tolist()


@torch.no_grad()
def _loss_and_slope(
    scores: Tensor, row: Tensor, place: Tensor, weight: Tensor, correction: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The loss of some queries, and what each score [b, C] contributes to it."""
    ptr = torch.searchsorted(row, torch.arange(scores.size(0) + 1, device=scores.device))
    if backend_for(scores) == "triton":
        fused, slope = fused_module("triton", "answer_loss"), aligned_rows(scores.size(0), scores.size(1), scores)
        if correction is not None:
            corrected = scores + correction
            scores = _corrected(corrected, scores[row, place].to(corrected.dtype), row, place)
        return fused.loss_and_slope(scores, slope, ptr, place, weight).double().sum(), slope
    free = aligned_rows(scores.size(0), scores.size(1), scores, torch.promote_types(scores.dtype, torch.float32))
    free.copy_(scores)
    if backend_for(free) == "numba":
        fused = fused_module("numba", "answer_loss")
        return fused.loss_and_slope_(free, ptr, place, weight.to(free.dtype), correction).double().sum(), free
    own = free[row, place]
    if correction is not None:
        free = _corrected(free.add_(correction), own, row, place)
    row_weight = weight.new_zeros(scores.size(0)).index_add_(0, row, weight)
    top = torch.logsumexp(free, 1)
    loss = (row_weight * top).double().sum() - (weight * own).double().sum()
    slope = free.sub_(top.unsqueeze(1)).exp_().mul_(row_weight.unsqueeze(1))
    _flat(slope).index_add_(0, row * slope.stride(0) + place, -weight)
    return loss, slope


def _flat(scores: Tensor) -> Tensor:
    """In one piece, with the unused numbers between rows, which lie further apart than they are long."""
    return scores.as_strided((scores.size(0) * scores.stride(0),), (1,)) if scores.numel() else scores.flatten()


def _corrected(corrected: Tensor, own: Tensor, row: Tensor, place: Tensor) -> Tensor:
    """A query's own answers are always there, and are not corrected."""
    corrected[row, place] = own
    return corrected
