"""The loss over all candidates against plain loops."""

from __future__ import annotations

import math
import sys

import pytest
import torch

from brgcn.nn.decoders import DECODERS, decoder
from brgcn.ops import answer_loss, backend, use_backend
from brgcn.ops.registered import fused_module

QUERIES, CANDIDATES, WIDTH = 7, 11, 6


def problem(device: str) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(0)
    query = torch.randn(QUERIES, WIDTH, dtype=torch.double, generator=generator)
    candidates = torch.randn(CANDIDATES, WIDTH, dtype=torch.double, generator=generator)
    answers = [(0, 3), (0, 7), (1, 0), (2, 10), (4, 1), (4, 2), (4, 3), (5, 5), (6, 5)]  # query 3 has none
    row, place = torch.tensor(answers).T.contiguous()
    weight = torch.rand(len(answers), dtype=torch.double, generator=generator) + 0.1
    correction = torch.rand(CANDIDATES, dtype=torch.double, generator=generator)
    return tuple(part.to(device) for part in (query, candidates, row, place, weight, correction))


def by_hand(query, candidates, row, place, weight, correction, match) -> torch.Tensor:
    scores = match(query, candidates)
    total = scores.new_zeros(())
    for q in range(QUERIES):
        mine = [(int(p), w) for r, p, w in zip(row, place, weight, strict=True) if int(r) == q]
        own = {p for p, _ in mine}
        summed = scores.new_zeros(())
        for c in range(CANDIDATES):
            shift = 0.0 if correction is None or c in own else float(correction[c])
            summed = summed + torch.exp(scores[q, c] + shift)
        for p, w in mine:
            total = total + w * (summed.log() - scores[q, p])
    return total


@pytest.mark.parametrize("name", DECODERS)
@pytest.mark.parametrize("cells", [1, 25, 1 << 20])
@pytest.mark.parametrize("corrected", [False, True])
def test_loss_and_gradient_are_those_of_the_loops(
    name: str, cells: int, corrected: bool, device: str, parts: int
) -> None:
    query, candidates, row, place, weight, correction = problem(device)
    match = decoder(name, WIDTH).match_all_in_training
    given = correction if corrected else None
    expected_inputs = [query.clone().requires_grad_(), candidates.clone().requires_grad_()]
    expected = by_hand(*expected_inputs, row, place, weight, given, match)
    (3 * expected).backward()
    inputs = [query.clone().requires_grad_(), candidates.clone().requires_grad_()]
    loss = answer_loss(*inputs, row, place, weight, match, correction=given, cells=cells)
    (3 * loss).backward()
    assert loss.item() == pytest.approx(expected.item(), rel=1e-9)
    for mine, theirs in zip(inputs, expected_inputs, strict=True):
        torch.testing.assert_close(mine.grad, theirs.grad)


@pytest.mark.parametrize("candidates", [1, 15, 16, 17, 100])
@pytest.mark.parametrize("corrected", [False, True])
def test_backends_agree_for_any_number_of_candidates(candidates: int, corrected: bool, device: str, parts: int) -> None:
    torch.manual_seed(candidates)
    query, table = 5 * torch.randn(9, 4), torch.randn(candidates, 4)
    row = torch.tensor([0, 1, 1, 8])
    answer = torch.tensor([0, 0, candidates - 1, candidates // 2]) if candidates > 1 else torch.zeros(4).long()
    if candidates == 1:
        row, answer = row[[0, 1, 3]], answer[:3]
    correction = torch.rand(candidates) if corrected else None
    weight, match = torch.rand(len(row)), decoder("complex", 4).match_all

    def measured(on: str) -> tuple[torch.Tensor | None, ...]:
        inputs = [query.to(on).requires_grad_(), table.to(on).requires_grad_()]
        there = None if correction is None else correction.to(on)
        loss = answer_loss(*inputs, row.to(on), answer.to(on), weight.to(on), match, correction=there)
        loss.backward()
        return loss, *(one.grad for one in inputs)

    mine = measured(device)
    with use_backend("torch"):
        expected = measured("cpu")
    for one, other in zip(mine, expected, strict=True):
        torch.testing.assert_close(one.cpu(), other, rtol=1e-4, atol=1e-5)


def loss_of(table: torch.Tensor, answer: int, device: str) -> float:
    """Of one query, whose scores the table holds."""
    given = torch.ones(1, 1), table.view(-1, 1), torch.tensor([0]), torch.tensor([answer]), torch.ones(1)
    return float(answer_loss(*(part.to(device) for part in given), lambda q, c: q @ c.T))


@pytest.mark.parametrize("strange", [math.nan, math.inf])
def test_a_score_that_is_no_number_shows_in_the_loss(device: str, strange: float) -> None:
    table = torch.randn(40)
    table[20] = strange
    assert not math.isfinite(loss_of(table, 1, device))


@pytest.mark.parametrize("height", [1000.0, -1000.0])
def test_the_highest_score_may_be_anywhere(height: float, device: str) -> None:
    for place in range(40):
        table = torch.randn(40)
        table[place] = height
        answer = (place + 1) % 40
        expected = table.double().logsumexp(0) - table[answer].double()
        assert loss_of(table, answer, device) == pytest.approx(expected.item(), rel=1e-5)


def test_an_answer_that_does_not_count_may_repeat_one_that_does(device: str) -> None:
    """As batches of one shape are filled up."""
    query, candidates, row, place, weight, _ = problem(device)
    found = []
    for more in (0, 40):
        inputs = [query.clone().requires_grad_(), candidates.clone().requires_grad_()]
        filled = [torch.cat([part, part[-1:].expand(more)]) for part in (row, place)]
        shares = torch.cat([weight, weight.new_zeros(more)])
        loss = answer_loss(*inputs, *filled, shares, decoder("complex", WIDTH).match_all)
        loss.backward()
        found.append((loss, *(one.grad for one in inputs)))
    for mine, theirs in zip(*found, strict=True):
        torch.testing.assert_close(mine, theirs)


@pytest.mark.skipif(sys.platform != "linux", reason="Triton exists for Linux only")
@pytest.mark.parametrize("corrected", [False, True])
def test_scores_in_bfloat16_on_cuda(corrected: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "_supported", lambda tensor: True)  # the interpreter can, as CUDA can
    on = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    query, table = torch.randn(9, 4).bfloat16(), torch.randn(40, 4).bfloat16()
    row, answer = torch.tensor([0, 1, 1, 8]), torch.tensor([0, 3, 39, 20])
    weight, correction = torch.rand(4), torch.rand(40) if corrected else None
    found = []
    for kind in (torch.bfloat16, torch.double):
        inputs = [one.to(on, kind, copy=True).requires_grad_() for one in (query, table)]
        there = None if correction is None else correction.to(on)
        with use_backend("triton" if kind == torch.bfloat16 else "torch"):
            places = row.to(on), answer.to(on), weight.to(on, kind)
            loss = answer_loss(*inputs, *places, lambda q, c: q @ c.T, correction=there)
        loss.backward()
        found.append((loss, *(one.grad for one in inputs)))
    for mine, exact in zip(*found, strict=True):
        torch.testing.assert_close(mine.double(), exact, rtol=0.05, atol=0.05)


def test_scores_may_lie_in_columns(device: str) -> None:
    query, candidates, row, place, weight, _ = problem(device)
    found = [
        answer_loss(query, candidates, row, place, weight, match)
        for match in (lambda q, c: q @ c.T, lambda q, c: (c @ q.T).T)
    ]
    torch.testing.assert_close(*found)


@pytest.mark.parametrize("answer", [-1, 11])
def test_answers_that_are_no_candidates_spoil_nothing_else_on_cuda(answer: int) -> None:
    if sys.platform != "linux":
        pytest.skip("Triton exists for Linux only")
    on = "cuda" if torch.cuda.is_available() else "cpu"
    with use_backend("triton"):
        fused = fused_module("triton", "answer_loss")
        scores, slopes = torch.randn(3, 11, device=on), torch.full((3, 11), 7.0, device=on)
        ptr, place = torch.tensor([0, 0, 1, 1], device=on), torch.tensor([answer], device=on)
        losses = fused.loss_and_slope(scores, slopes, ptr, place, torch.ones(1, device=on))
    assert losses.isnan().tolist() == [False, True, False]
    assert not slopes[[0, 2]].any()  # without answers


def test_answers_that_are_no_candidates_are_refused() -> None:
    rows = torch.tensor([0])
    with pytest.raises(IndexError):
        answer_loss(torch.ones(1, 1), torch.ones(5, 1), rows, torch.tensor([9]), torch.ones(1), lambda q, c: q @ c.T)


def test_far_apart_scores_do_not_overflow() -> None:
    query, candidates = torch.tensor([[1000.0]]), torch.tensor([[1.0], [-1.0]])
    loss = answer_loss(
        query, candidates, torch.tensor([0]), torch.tensor([1]), torch.ones(1), decoder("distmult", 1).match_all
    )
    assert float(loss) == pytest.approx(2000)


def test_a_corrected_sample_estimates_the_sum_over_all() -> None:
    """exp of the corrected log-sum, averaged over many samples, is the sum over all candidates."""
    generator = torch.Generator().manual_seed(1)
    scores = torch.randn(CANDIDATES, generator=generator)
    probability = torch.rand(CANDIDATES, generator=generator) * 0.8 + 0.2
    total, samples = 0.0, 4000
    for _ in range(samples):
        drawn = torch.rand(CANDIDATES, generator=generator) < probability
        total += float(torch.exp(scores[drawn] - probability[drawn].log()).sum())
    assert total / samples == pytest.approx(float(scores.exp().sum()), rel=0.05)
    assert math.isfinite(total)
