"""Paired tests between two models, and what models have in common. A p-value is that of "no difference", two-sided."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

FLIPS = 20_000


def shared_errors(right: Sequence[Sequence[Sequence[bool]]]) -> tuple[int, int, int]:
    """Of test items that several models were asked about, ``right`` [models][runs][items]: how many are right in more
    than four of five runs of every model, how many wrong, and how many there are."""
    shares = torch.stack([torch.tensor(runs, dtype=torch.double).mean(0) for runs in right])  # [models, items]
    return int((shares > 0.8).all(0).sum()), int((shares < 0.2).all(0).sum()), shares.size(1)


def items_p_value(first: Sequence[Sequence[bool]], second: Sequence[Sequence[bool]], seed: int = 0) -> float:
    """On one test set: [runs][items] whether each run of two models was right on each item.

    The sample is the items: of each the difference between the models' shares of right runs is taken, and the signs of
    the differences are flipped at random. More runs do not make 36 items more than 36.
    """
    difference = _share_right(first) - _share_right(second)
    observed = difference.mean().abs()
    generator = torch.Generator().manual_seed(seed)
    signs = torch.randint(0, 2, (FLIPS, difference.numel()), generator=generator, dtype=torch.int8) * 2 - 1
    flipped = (signs.double() @ difference / difference.numel()).abs()
    return (1 + int((flipped >= observed - 1e-12).sum())) / (1 + FLIPS)


def resplits_p_value(first: Sequence[float], second: Sequence[float], test_share: float) -> float:
    """Accuracies of two models on the same random splits; ``test_share`` is the size of the test to the training part.

    Splits of the same items overlap, so the variance of their mean is larger than that of independent ones: Nadeau and
    Bengio's correction of the t-test (Inference for the Generalization Error, 2003).
    """
    difference = torch.tensor(first, dtype=torch.double) - torch.tensor(second, dtype=torch.double)
    n = difference.numel()
    if n < 2:
        return math.nan
    variance = float(difference.var())
    mean = float(difference.mean())
    if variance == 0:
        return 1.0 if mean == 0 else 0.0
    return student_p_value(mean / math.sqrt((1 / n + test_share) * variance), n - 1)


def student_p_value(t: float, degrees: int) -> float:
    """P(|T| >= |t|) of Student's distribution, by Simpson's rule."""
    t, steps = abs(t), 2000
    scale = math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2) - 0.5 * math.log(degrees * math.pi)

    def density(x: float) -> float:
        return math.exp(scale - (degrees + 1) / 2 * math.log1p(x * x / degrees))

    width = t / steps
    inner = sum((4 if k % 2 else 2) * density(k * width) for k in range(1, steps))
    return max(0.0, 1 - 2 * width / 3 * (density(0) + inner + density(t)))


def _share_right(right: Sequence[Sequence[bool]]) -> torch.Tensor:
    """[items]"""
    return torch.tensor(right, dtype=torch.double).mean(0)
