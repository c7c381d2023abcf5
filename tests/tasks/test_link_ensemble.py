"""Ensembles against plain loops."""

from __future__ import annotations

import math
import statistics

import pytest
import torch

from brgcn.errors import SettingsError
from brgcn.tasks.known_triples import KnownTriples
from brgcn.tasks.link_ensemble import KINDS, Ensemble, on_one_scale, tune_beta
from brgcn.tasks.rank_metrics import summary
from brgcn.tasks.ranking import rank

ENTITIES, RELATIONS = 8, 2


class Table:
    """Scores [N, R, N] of all triples."""

    def __init__(self, scores: torch.Tensor) -> None:
        self.scores = scores

    def tails(self, head: torch.Tensor, relation: torch.Tensor) -> torch.Tensor:
        return self.scores[head, relation]

    def heads(self, tail: torch.Tensor, relation: torch.Tensor) -> torch.Tensor:
        return self.scores[:, relation, tail].T


def by_hand(row: list[float], kind: str) -> list[float]:
    if kind == "logits":
        return row
    if kind == "sigmoid":
        return [1 / (1 + math.exp(-x)) for x in row]
    if kind == "z":
        return [(x - statistics.fmean(row)) / statistics.stdev(row) for x in row]
    return [1 / (1 + sum(y > x for y in row)) for x in row]


def tables() -> tuple[Table, Table]:
    generator = torch.Generator().manual_seed(0)
    shape = (ENTITIES, RELATIONS, ENTITIES)
    rough = torch.randint(4, shape, generator=generator).double()  # with ties
    return Table(rough), Table(torch.randn(shape, generator=generator, dtype=torch.double) * 10)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("beta", [0.0, 0.4, 1.0])
def test_by_hand(kind: str, beta: float) -> None:
    first, second = tables()
    mixed = Ensemble(first, second, beta, kind)
    given, relation = torch.arange(ENTITIES), torch.arange(ENTITIES) % RELATIONS
    for side in ("tails", "heads"):
        found = getattr(mixed, side)(given, relation)
        parts = [getattr(model, side)(given, relation).tolist() for model in (first, second)]
        for row in range(ENTITIES):
            one, other = (by_hand(part[row], kind) for part in parts)
            expected = [beta * a + (1 - beta) * b for a, b in zip(one, other, strict=True)]
            torch.testing.assert_close(found[row], torch.tensor(expected, dtype=torch.double))


def test_scales_do_not_matter_for_z_and_ranks() -> None:
    _, table = tables()
    rows = table.scores[0]
    for kind in ("z", "reciprocal"):
        torch.testing.assert_close(on_one_scale(rows, kind), on_one_scale(7 * rows + 3, kind))
    assert bool(on_one_scale(torch.zeros(2, 3), "z").isfinite().all())


def test_the_chosen_weight_is_the_best_on_valid_and_at_least_as_good_as_either_alone() -> None:
    generator = torch.Generator().manual_seed(3)
    valid = torch.stack(
        [torch.randint(high, (12,), generator=generator) for high in (ENTITIES, RELATIONS, ENTITIES)], 1
    )
    known = KnownTriples([valid], ENTITIES, RELATIONS)
    first, second = tables()
    best, curve = tune_beta(first, second, "z", valid, known, (0.0, 0.25, 0.5, 0.75, 1.0))
    alone = [summary(rank(valid, t.tails, t.heads, known))["filtered"]["mrr"] for t in (second, first)]
    assert curve[0.0] == pytest.approx(alone[0])
    assert curve[1.0] == pytest.approx(alone[1])
    assert curve[best] == max(curve.values())


def test_what_cannot_be() -> None:
    first, second = tables()
    with pytest.raises(SettingsError, match="logits, sigmoid, z, reciprocal"):
        Ensemble(first, second, 0.4, "mean")
    with pytest.raises(SettingsError, match="between 0 and 1"):
        Ensemble(first, second, 1.4)
