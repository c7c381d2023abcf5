"""Ensembles against plain loops."""

from __future__ import annotations

import math
import operator
import statistics
from pathlib import Path

import pytest
import torch

from brgcn import load_dataset
from brgcn.errors import SettingsError
from brgcn.tasks.known_triples import KnownTriples
from brgcn.tasks.link_ensemble import KINDS, Mixture, compare_ensembles, on_one_scale, rank_mixtures
from brgcn.tasks.link_runs import train_link_runs
from brgcn.tasks.link_settings import LinkSettings
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


def some_triples(seed: int, n: int = 12) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.stack([torch.randint(high, (n,), generator=generator) for high in (ENTITIES, RELATIONS, ENTITIES)], 1)


def rank_by_hand(scores: list[float], truth: int, others: set[int]) -> float:
    """Realistic rank; scores are compared in float32, as everywhere."""
    rounded = torch.tensor(scores).tolist()
    kept = [rounded[e] for e in range(ENTITIES) if e == truth or e not in others]
    higher, equal = (sum(compare(x, rounded[truth]) for x in kept) for compare in (operator.gt, operator.eq))
    return 1 + higher + (equal - 1) / 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("beta", [0.0, 0.4, 1.0])
def test_by_hand(kind: str, beta: float) -> None:
    models = tables()
    triples, more = some_triples(3), some_triples(4, 20)
    splits = {"narrow": [triples], "wide": [triples, more]}
    filters = {name: KnownTriples(tables, ENTITIES, RELATIONS) for name, tables in splits.items()}
    *alone, mixed = rank_mixtures(*models, [Mixture(kind, beta)], triples, filters)
    for name in ("raw", *splits):
        known = {tuple(triple) for table in splits.get(name, []) for triple in table.tolist()}
        for row, (head, relation, tail) in enumerate([*triples.tolist(), *triples.tolist()]):
            is_head = row >= len(triples)
            given, truth = (tail, head) if is_head else (head, tail)
            others = {h if is_head else t for h, r, t in known if r == relation and (t if is_head else h) == given}
            asked = torch.tensor([given]), torch.tensor([relation])
            one, other = ((m.heads if is_head else m.tails)(*asked)[0].tolist() for m in models)
            scaled = zip(by_hand(one, kind), by_hand(other, kind), strict=True)
            expected = [beta * a + (1 - beta) * b for a, b in scaled]
            for ranks, scores in ((alone[0], one), (alone[1], other), (mixed, expected)):
                assert ranks.of(name)[row] == rank_by_hand(scores, truth, others)


@pytest.mark.parametrize("kind", KINDS)
def test_scales_by_hand(kind: str) -> None:
    for table in tables():
        rows = table.scores[:, 0]
        expected = [by_hand(row, kind) for row in rows.tolist()]
        torch.testing.assert_close(on_one_scale(rows, kind), torch.tensor(expected, dtype=torch.double))


def test_scales_do_not_matter_for_z_and_ranks() -> None:
    _, table = tables()
    rows = table.scores[0]
    for kind in ("z", "reciprocal"):
        torch.testing.assert_close(on_one_scale(rows, kind), on_one_scale(7 * rows + 3, kind))
    assert bool(on_one_scale(torch.zeros(2, 3), "z").isfinite().all())


def test_each_query_is_scored_once() -> None:
    asked: list[tuple[str, int, int]] = []

    class Watched(Table):
        def tails(self, head: torch.Tensor, relation: torch.Tensor) -> torch.Tensor:
            asked.extend(("tails", h, r) for h, r in zip(head.tolist(), relation.tolist(), strict=True))
            return super().tails(head, relation)

    first, second = tables()
    triples = some_triples(3, 40)
    mixtures = [Mixture(kind, beta) for kind in KINDS for beta in (0.2, 0.4)]
    known = KnownTriples([triples], ENTITIES, RELATIONS)
    rank_mixtures(Watched(first.scores), second, mixtures, triples, {"filtered": known})
    assert len(asked) == len(set(asked)) == len(torch.unique(triples[:, :2], dim=0))


def test_the_chosen_weight_is_the_best_on_valid_and_at_least_as_good_as_either_alone(tmp_path: Path) -> None:
    for seed, (split, n) in enumerate((("train", 60), ("valid", 12), ("test", 12))):
        (tmp_path / f"{split}.tsv").write_text("".join(f"e{h}\tr{r}\te{t}\n" for h, r, t in some_triples(seed, n)))
    data = load_dataset(tmp_path)
    folders = [
        train_link_runs(data, LinkSettings(decoder=decoder, width=8, epochs=2), tmp_path / decoder)
        for decoder in ("complex", "distmult")
    ]
    splits = folders[0].triples
    found = compare_ensembles(*folders, kinds=("z", "logits"))
    choice = KnownTriples(
        [splits["train"], splits["valid"]], data.graph.num_nodes, data.graph.num_relations
    )  # nothing of test
    models = [folder.scores(0) for folder in folders]
    alone = [summary(rank(splits["valid"], m.tails, m.heads, choice))["filtered"]["mrr"] for m in models]
    assert [(row["kind"], row["tuned"]) for row in found["ensembles"]] == [
        ("z", False), ("z", True), ("logits", False), ("logits", True)
    ]  # fmt: skip
    for fixed, tuned in zip(found["ensembles"][::2], found["ensembles"][1::2], strict=True):
        curve = tuned["curve"]
        assert fixed["beta"] == 0.4
        assert curve[1.0] == pytest.approx(alone[0])
        assert curve[0.0] == pytest.approx(alone[1])
        assert curve[tuned["beta"]] == max(curve.values())
        for row in (fixed, tuned):
            for split in ("valid", "test"):
                mixture = Mixture(row["kind"], row["beta"])
                *_, ranks = rank_mixtures(*models, [mixture], splits[split], {"filtered": folders[0].known})
                assert row[split] == summary(ranks)
    for component, model in zip(found["components"], models, strict=True):
        for split in ("valid", "test"):
            assert component[split] == summary(rank(splits[split], model.tails, model.heads, folders[0].known))


def test_what_cannot_be() -> None:
    triples = some_triples(0)
    filters = {"filtered": KnownTriples([triples], ENTITIES, RELATIONS)}
    with pytest.raises(SettingsError, match="logits, sigmoid, z, reciprocal"):
        rank_mixtures(*tables(), [Mixture("mean", 0.4)], triples, filters)
    with pytest.raises(SettingsError, match="between 0 and 1"):
        rank_mixtures(*tables(), [Mixture("z", 1.4)], triples, filters)
