"""Ranks against a brute force of plain loops, in all modes, whatever the batches, the order and the ties."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from ranking_twin import brute_force, example, scorers

from brgcn.errors import DataError
from brgcn.tasks.known_triples import KnownTriples
from brgcn.tasks.rank_metrics import HITS, breakdown, cardinalities, check_row, summary
from brgcn.tasks.ranking import rank


@settings(max_examples=40, deadline=None)
@given(
    entities=st.integers(1, 9),
    relations=st.integers(1, 3),
    edges=st.integers(1, 25),
    seed=st.integers(0, 10**6),
    levels=st.sampled_from([1, 3, 1000]),
    cells=st.sampled_from([1, 10, 1 << 20]),
)
def test_equal_to_the_brute_force(entities, relations, edges, seed, levels, cells) -> None:
    triples, table = example(entities, relations, edges, seed, levels)
    test = triples[: max(1, edges // 3)]
    known = KnownTriples([triples[edges // 2 :], test], entities, relations)
    found = rank(test, *scorers(table), known, cells=cells)
    facts = {tuple(row) for row in torch.cat([triples[edges // 2 :], test]).tolist()}
    expected = brute_force([tuple(row) for row in test.tolist()], table.tolist(), facts, entities)
    for setting, rows in expected.items():
        for column, ties in enumerate(("optimistic", "realistic", "pessimistic")):
            assert found.of(setting, ties).tolist() == [row[column] for row in rows]
        assert found.candidates[setting].tolist() == [row[3] for row in rows]


def test_order_repetition_and_batches_change_nothing() -> None:
    triples, table = example(30, 4, 200, 1, 5)
    known = KnownTriples([triples], 30, 4)
    whole = rank(triples, *scorers(table), known)
    again = rank(triples, *scorers(table), known, cells=37)
    order = torch.randperm(len(triples))
    shuffled = rank(triples[order], *scorers(table), known)
    both = torch.cat([order, order + len(triples)])
    for setting in ("raw", "filtered"):
        for ties in ("optimistic", "realistic", "pessimistic"):
            assert whole.of(setting, ties).equal(again.of(setting, ties))
            assert whole.of(setting, ties)[both].equal(shuffled.of(setting, ties))


def test_each_query_is_scored_once() -> None:
    triples = torch.tensor([[0, 0, 1], [0, 0, 2], [0, 0, 3], [1, 0, 3]])
    asked: list[int] = []

    def score(entity, relation):
        asked.extend(entity.tolist())
        return torch.rand(len(entity), 4)

    rank(triples, score, score, KnownTriples([triples], 4, 1))
    assert sorted(asked) == sorted([0, 1, 1, 2, 3])  # two distinct (h, r, ?), three (?, r, t)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_scores_that_are_no_numbers_fail_loudly(bad: float) -> None:
    triples, table = example(5, 2, 6, 0, 9)
    table[int(triples[3, 0]), int(triples[3, 1]), 4] = bad
    with pytest.raises(DataError, match="hold NaN or infinity"):
        rank(triples, *scorers(table), KnownTriples([triples], 5, 2))


def test_constant_scores_are_no_achievement() -> None:
    triples, _ = example(50, 1, 40, 0, 1)
    known = KnownTriples([triples], 50, 1)
    constant = rank(triples, *scorers(torch.zeros(50, 1, 50)), known)
    measures = summary(constant)
    for setting in ("raw", "filtered"):
        assert measures[setting]["amri"] == pytest.approx(0)
        assert measures[setting]["hits@10 optimistic"] == 1
        assert measures[setting]["hits@10 pessimistic"] == 0
    assert measures["raw"]["mr"] == 25.5


def test_measures_and_their_breakdown() -> None:
    triples, table = example(12, 3, 60, 4, 1000)
    known = KnownTriples([triples], 12, 3)
    ranks = rank(triples, *scorers(table), known)
    whole = summary(ranks)
    filtered = ranks.of("filtered")
    assert whole["filtered"]["mrr"] == pytest.approx(sum(1 / r for r in filtered.tolist()) / len(filtered))
    for k in HITS:
        assert whole["filtered"][f"hits@{k}"] == pytest.approx(sum(r <= k for r in filtered.tolist()) / len(filtered))
    chance = sum((c + 1) / 2 for c in ranks.candidates["filtered"].tolist()) / len(filtered)
    assert whole["filtered"]["amri"] == pytest.approx(1 - (float(filtered.mean()) - 1) / (chance - 1))
    parts = breakdown(ranks, triples, 3)
    for of in (parts["side"], parts["relation"]):
        total = sum(part["raw"]["mrr"] * part["raw"]["n"] for part in of.values())
        assert total / len(filtered) == pytest.approx(whole["raw"]["mrr"])
    assert sum(side["raw"]["n"] for kind in parts["cardinality"].values() for side in kind.values()) == len(filtered)


def test_cardinalities() -> None:
    one_to_many = [[0, 1, t] for t in (1, 2, 3)]
    many_to_one = [[h, 2, 0] for h in (1, 2, 3)]
    many_to_many = [[h, 3, t] for h in (0, 1) for t in (2, 3)]
    triples = torch.tensor([[0, 0, 1], [1, 0, 2], *one_to_many, *many_to_one, *many_to_many, many_to_many[0]])
    assert cardinalities(triples, 5).tolist() == [0, 1, 2, 3, 0]


def test_rows_of_tied_ranks_lie_within_wider_bounds() -> None:
    between = {"mrr": 1 / 1.5, "hits@1": 0.0, "hits@3": 1.0, "hits@10": 1.0}  # every rank is 1.5
    check_row(between, 14541, step=0.5)
    with pytest.raises(DataError, match="is impossible"):
        check_row(between, 14541)
    with pytest.raises(DataError, match="is impossible"):
        check_row({**between, "mrr": 0.68}, 14541, step=0.5)


@pytest.mark.parametrize(
    ("row", "possible"),
    [
        ((0.251, 0.255, 0.265, 0.419), False),  # a row of the paper
        ((0.36, 0.38, 0.40, 0.45), False),
        ((0.248, 0.153, 0.258, 0.414), True),
        ((1.0, 1.0, 1.0, 1.0), True),
        ((0.5, 0.4, 0.3, 0.6), False),
    ],
)
def test_impossible_rows_are_refused(row: tuple[float, ...], possible: bool) -> None:
    measures = dict(zip(("mrr", "hits@1", "hits@3", "hits@10"), row, strict=True))
    if possible:
        check_row(measures, 14541)
        return
    with pytest.raises(DataError, match="is impossible"):
        check_row(measures, 14541)


@pytest.mark.parametrize(
    ("triples", "message"),
    [
        (torch.tensor([[0, 0, 9]]), "there is no tail 9"),
        (torch.tensor([[-1, 0, 0]]), "there is no head -1"),
        (torch.tensor([[0, 2, 0]]), "there is no relation 2"),
        (torch.tensor([0, 0, 0]), r"shape \[n, 3\]"),
    ],
)
def test_ids_out_of_range(triples: torch.Tensor, message: str) -> None:
    with pytest.raises(DataError, match=message):
        KnownTriples([triples], 5, 2)
    with pytest.raises(DataError, match=message):
        rank(triples, *scorers(torch.zeros(5, 2, 5)), KnownTriples([], 5, 2))


def test_a_model_that_scores_other_entities_is_refused() -> None:
    triples = torch.tensor([[0, 0, 1]])
    with pytest.raises(DataError, match="not \\[1, 3\\]"):
        rank(triples, lambda h, r: torch.zeros(1, 2), lambda t, r: torch.zeros(1, 2), KnownTriples([triples], 3, 1))
