"""Against known values, and against simulations where there is no difference."""

import math

import pytest
import torch

from brgcn.experiments.statistics import items_p_value, resplits_p_value, shared_errors, student_p_value


@pytest.mark.parametrize(
    ("t", "degrees", "p"),
    [(12.7062, 1, 0.05), (2.2622, 9, 0.05), (2.7564, 29, 0.01), (0.0, 5, 1.0), (-1.9840, 99, 0.05), (40.0, 29, 0.0)],
)
def test_students_table(t: float, degrees: int, p: float) -> None:
    assert student_p_value(t, degrees) == pytest.approx(p, abs=1e-4)


def test_items() -> None:
    right, wrong = [True] * 20, [False] * 20
    assert items_p_value([right, right], [wrong, right]) < 0.001
    assert items_p_value([right], [right]) == 1.0
    # one item of many differs: both signs of it are equally extreme
    assert items_p_value([right], [[False, *right[1:]]]) == 1.0


def test_items_are_the_sample_and_not_runs() -> None:
    """Five items, always different: 2 of 32 sign patterns are as extreme, however many runs there were."""
    assert items_p_value([[True] * 5] * 100, [[False] * 5] * 100) == pytest.approx(2 / 32, abs=0.01)


def test_a_level_of_five_percent_is_one() -> None:
    generator = torch.Generator().manual_seed(0)
    found = 0
    for _ in range(200):
        first, second = (torch.rand(3, 40, generator=generator) < 0.7 for _ in range(2))
        found += items_p_value(first.tolist(), second.tolist()) < 0.05
    assert found <= 20


def test_resplits() -> None:
    second = [0.70, 0.74, 0.72, 0.71, 0.75, 0.69]
    better = [value + gain for value, gain in zip(second, [0.05, 0.04, 0.06, 0.05, 0.05, 0.04], strict=True)]
    plain = resplits_p_value(better, second, 0.0)
    corrected = resplits_p_value(better, second, 0.25)
    assert plain < corrected < 0.01
    assert resplits_p_value(second, second, 0.25) == 1.0
    assert resplits_p_value([0.8, 0.9], [0.7, 0.8], 0.25) < 1e-6
    assert math.isnan(resplits_p_value([0.8], [0.7], 0.25))


def test_shared_errors() -> None:
    always, never, often = [True, False, True], [True, False, False], [True, False, True]
    assert shared_errors([[always, always], [always, never]]) == (1, 1, 3)  # the third is right in half of the runs
    assert shared_errors([[often], [often]]) == (2, 1, 3)
