"""The rule baseline against plain loops, and against published counts on real data."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from brgcn.data import load_dataset
from brgcn.tasks.known_triples import KnownTriples
from brgcn.tasks.rank_metrics import summary
from brgcn.tasks.ranking import rank
from brgcn.tasks.rules import RuleTable


def brute_force(train: set, entities: int, relations: int, threshold: float):
    """[h][r][t] the best confidence of a rule that infers (h, r, t)."""
    size = {r: sum(fact[1] == r for fact in train) for r in range(relations)}
    best = [[[0.0] * entities for _ in range(relations)] for _ in range(entities)]
    for r1 in range(relations):
        for r2 in range(relations):
            for swapped in (False, True):
                if r1 == r2 and not swapped:
                    continue
                bodies = [(h, t) for h, r, t in train if r == r2]
                inferred = [(t, h) if swapped else (h, t) for h, t in bodies]
                confidence = sum((h, r1, t) in train for h, t in inferred) / max(1, size[r2])
                if confidence <= threshold:
                    continue
                for h, t in inferred:
                    best[h][r1][t] = max(best[h][r1][t], confidence)
    return torch.tensor(best)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("threshold", [0.0, 0.3])
def test_confidences_and_what_they_infer(seed: int, threshold: float) -> None:
    entities, relations = 6, 4
    random = torch.Generator().manual_seed(seed)
    train = (torch.rand(40, 3, generator=random) * torch.tensor([entities, relations - 1, entities])).long()
    rules = RuleTable(train, entities, relations, threshold)
    expected = brute_force({tuple(row) for row in train.tolist()}, entities, relations, threshold)
    entity, relation = (grid.flatten() for grid in torch.meshgrid(torch.arange(6), torch.arange(4), indexing="ij"))
    torch.testing.assert_close(rules.score_tails(entity, relation), expected[entity, relation])
    torch.testing.assert_close(rules.score_heads(entity, relation), expected[:, relation, entity].T)
    assert rules.num_rules > 0


def test_nothing_to_learn_from() -> None:
    rules = RuleTable(torch.zeros(0, 3, dtype=torch.long), 3, 2)
    assert rules.num_rules == 0
    assert not rules.score_tails(torch.tensor([0, 2]), torch.tensor([1, 0])).any()


@pytest.mark.parametrize(
    ("name", "raw", "filtered"),
    [  # counted independently, by other code, when this project was planned
        ("wn18", 0.622, (0.937, 0.936, 0.938, 0.938)),
        ("fb15k", 0.270, (0.772, 0.759, 0.779, 0.787)),
        ("fb15k-237", 0.000, (0.000, 0.000, 0.000, 0.000)),
    ],
)
def test_what_is_known_of_real_data(shared_data: Path, name: str, raw: float, filtered: tuple[float, ...]) -> None:
    data = load_dataset(name, data_dir=shared_data)
    sizes = data.graph.num_nodes, data.graph.num_relations
    rules = RuleTable(data.triples["train"], *sizes)
    known = KnownTriples(data.triples.values(), *sizes)
    found = summary(rank(data.triples["test"], rules.score_tails, rules.score_heads, known))
    assert found["raw"]["mrr"] == pytest.approx(raw, abs=6e-4)
    measured = [found["filtered"][name] for name in ("mrr", "hits@1", "hits@3", "hits@10")]
    assert measured == pytest.approx(filtered, abs=6e-4)
