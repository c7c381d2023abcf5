"""The same scores, ranked by us and by PyKEEN: pip install '.[pykeen]' to run it."""

from __future__ import annotations

import pytest
import torch

from brgcn.tasks.known_triples import KnownTriples
from brgcn.tasks.rank_metrics import summary
from brgcn.tasks.ranking import rank

pytest.importorskip("pykeen", reason="PyKEEN is not installed: pip install '.[pykeen]'")

ENTITIES, RELATIONS = 40, 5
NAMES = {
    "mrr": "inverse_harmonic_mean_rank",
    "mr": "arithmetic_mean_rank",
    "hits@1": "hits_at_1",
    "hits@3": "hits_at_3",
    "hits@10": "hits_at_10",
}


@pytest.mark.parametrize("levels", [0, 2])  # 2: vectors of few values, so that many scores are equal
def test_equal_measures(levels: int) -> None:
    from pykeen.evaluation import RankBasedEvaluator
    from pykeen.models import DistMult
    from pykeen.triples import CoreTriplesFactory

    generator = torch.Generator().manual_seed(levels)
    columns = [torch.randint(high, (400,), generator=generator) for high in (ENTITIES, RELATIONS, ENTITIES)]
    triples = torch.unique(torch.stack(columns, 1), dim=0)
    triples = triples[torch.randperm(len(triples), generator=generator)]
    train, valid, test = triples[60:], triples[:30], triples[30:60]
    factory = CoreTriplesFactory(train, num_entities=ENTITIES, num_relations=RELATIONS)
    model = DistMult(triples_factory=factory, embedding_dim=6, random_seed=0).eval()
    if levels:
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.copy_((parameter * 3).round())
    entity = model.entity_representations[0]().detach()
    relation = model.relation_representations[0]().detach()
    theirs = RankBasedEvaluator(filtered=True).evaluate(
        model, test, additional_filter_triples=[train, valid, test], batch_size=16, use_tqdm=False
    )
    known = KnownTriples([train, valid, test], ENTITIES, RELATIONS)

    def scores(given: torch.Tensor, of: torch.Tensor) -> torch.Tensor:
        return (entity[given] * relation[of]) @ entity.T  # DistMult is symmetric

    ours = summary(rank(test, scores, scores, known))["filtered"]
    for ties in ("realistic", "optimistic", "pessimistic"):
        for name, their_name in NAMES.items():
            own = ours[name if ties == "realistic" else f"{name} {ties}"]
            assert own == pytest.approx(theirs.get_metric(f"both.{ties}.{their_name}"), rel=1e-5), (ties, name)
    adjusted = theirs.get_metric("both.realistic.adjusted_arithmetic_mean_rank_index")
    assert ours["amri"] == pytest.approx(adjusted, rel=1e-4)


@pytest.mark.parametrize("levels", [0, 3])  # 3: scores of three values
def test_equal_ranks_of_the_same_scores(levels: int) -> None:
    from pykeen.evaluation.evaluator import create_sparse_positive_filter_, filter_scores_
    from pykeen.evaluation.ranks import Ranks

    generator = torch.Generator().manual_seed(levels)
    scores = torch.rand(RELATIONS, ENTITIES, ENTITIES, generator=generator)  # of relation, head, tail
    scores = (scores * levels).round() if levels else scores
    columns = [torch.randint(high, (400,), generator=generator) for high in (ENTITIES, RELATIONS, ENTITIES)]
    triples = torch.unique(torch.stack(columns, 1), dim=0)
    test = triples[torch.randperm(len(triples), generator=generator)[:80]]
    head, relation, tail = test.unbind(1)
    known = KnownTriples([triples], ENTITIES, RELATIONS)
    ours = rank(test, lambda h, r: scores[r, h], lambda t, r: scores[r, :, t], known)
    sides = ((2, tail, scores[relation, head]), (0, head, scores[relation, :, tail]))
    for place, (column, answer, rows) in enumerate(sides):  # ours has the tails first, too
        true = rows.gather(1, answer.unsqueeze(1))
        others, _ = create_sparse_positive_filter_(test, triples, filter_col=column)
        filtered = filter_scores_(rows.clone(), others)
        filtered.scatter_(1, answer.unsqueeze(1), true)
        mine = slice(place * len(test), (place + 1) * len(test))
        for setting, given in (("raw", rows), ("filtered", filtered)):
            theirs = Ranks.from_scores(true, given)
            for ties, expected in theirs.items():
                assert ours.of(setting, ties)[mine].tolist() == expected.double().tolist(), (setting, ties)
            assert ours.candidates[setting][mine].tolist() == theirs.number_of_options.tolist()
