"""Losses of link prediction against plain loops over triples."""

from __future__ import annotations

import cmath
import math

import pytest
import torch

from brgcn.nn.link_model import LinkModel
from brgcn.ops import precision
from brgcn.tasks.link_loss import LinkLoss
from brgcn.tasks.link_queries import Sampler, TrainingQueries, both_directions
from brgcn.tasks.link_settings import LinkSettings

ENTITIES, RELATIONS, WIDTH = 9, 3, 4


def triples() -> torch.Tensor:
    generator = torch.Generator().manual_seed(4)
    columns = [torch.randint(high, (25,), generator=generator) for high in (ENTITIES, RELATIONS, ENTITIES)]
    return torch.unique(torch.stack(columns, 1), dim=0)


def model_of(settings: LinkSettings) -> LinkModel:
    torch.manual_seed(0)
    model = LinkModel(
        ENTITIES,
        RELATIONS,
        decoder_name=settings.decoder,
        width=WIDTH,
        reciprocal=settings.reciprocal,
        initial_scale=0.7,
    )
    return model.double()


def score(model: LinkModel, h: int, r: int, t: int) -> float:
    """Of a directed triple: (t, r + R, h) is (h, r, t) asked from its tail."""
    table = model.relation
    if r >= RELATIONS and not model.reciprocal:
        h, r, t = t, r - RELATIONS, h
    return model.decoder.score(model.entity[h], table[r], model.entity[t]).item()


def sizes(vector: torch.Tensor, name: str) -> list[float]:
    numbers, width = vector.tolist(), vector.numel()
    if name == "hole":  # the moduli of the frequencies that are not each other's negative
        once = [f for f in range(width) if f <= (-f) % width]
        waves = {f: [cmath.exp(-2j * math.pi * f * k / width) for k in range(width)] for f in once}
        heard = {f: abs(sum(x * w for x, w in zip(numbers, waves[f], strict=True))) for f in once}
        return [size * ((1 if f == (-f) % width else 2) / width) ** (1 / 3) for f, size in heard.items()]
    if name != "complex":
        return [abs(x) for x in numbers]
    half = width // 2
    return [math.hypot(numbers[k], numbers[k + half]) for k in range(half)]


@pytest.mark.parametrize("name", ["complex", "distmult", "hole", "transe-l2"])
@pytest.mark.parametrize("reciprocal", [True, False])
@pytest.mark.parametrize("loss", ["1vsall", "kvsall"])
def test_queries_by_hand(name: str, reciprocal: bool, loss: str) -> None:
    settings = LinkSettings(
        decoder=name, width=WIDTH, reciprocal=reciprocal, loss=loss, n3=0.3, relation_prediction=0.7, l2=0.2
    )
    model, table = model_of(settings), triples()
    queries = TrainingQueries(table, ENTITIES, RELATIONS)
    directed = [tuple(row) for row in both_directions(table, RELATIONS).tolist()]
    answers: dict[tuple[int, int], list[int]] = {}
    for h, r, t in directed:
        answers.setdefault((h, r), []).append(t)
    cross, cubes, total = 0.0, 0.0, 0.0
    for (h, r), tails in answers.items():
        weight = 1.0 if loss == "1vsall" else 1 / len(tails)
        bottom = math.log(sum(math.exp(score(model, h, r, e)) for e in range(ENTITIES)))
        relation = model.relation[r if reciprocal else r % RELATIONS]
        for t in tails:
            cross += weight * (bottom - score(model, h, r, t))
            vectors = (model.entity[h], relation, model.entity[t])
            cubes += weight * sum(size**3 for vector in vectors for size in sizes(vector, name))
            total += weight
    of_relation = 0.0
    for h, r, t in directed:
        among = range(2 * RELATIONS) if reciprocal else range(RELATIONS)
        if r >= RELATIONS and not reciprocal:
            h, r, t = t, r - RELATIONS, h
        of_relation += math.log(sum(math.exp(score(model, h, x, t)) for x in among)) - score(model, h, r, t)
    squares = (model.entity.square().mean() + model.relation.square().mean()).item()
    expected = cross / total + 0.3 * cubes / total + 0.7 * of_relation / len(directed) + 0.2 * squares
    batch = next(queries.batches(torch.arange(len(queries))))
    found = LinkLoss(model, settings).of_queries(model.entity, batch, cells=20)
    assert found.item() == pytest.approx(expected, rel=1e-9)


def test_each_query_once_with_all_of_its_answers() -> None:
    table = triples()
    queries = TrainingQueries(torch.cat([table, table[:5]]), ENTITIES, RELATIONS)
    batch = next(queries.batches(torch.randperm(len(queries))))
    found = torch.stack([batch.entity[batch.answer_row], batch.relation[batch.answer_row], batch.answer], 1).tolist()
    assert sorted(map(tuple, found)) == sorted(map(tuple, both_directions(table, RELATIONS).tolist()))
    assert len({tuple(pair) for pair in torch.stack([batch.entity, batch.relation], 1).tolist()}) == len(queries)
    for triple, (given, relation, answer) in zip(batch.triple.tolist(), found, strict=True):
        h, r, t = queries.triples[triple].tolist()
        assert (given, relation, answer) in ((h, r, t), (t, r + RELATIONS, h))


def test_batches_are_parts_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    queries = TrainingQueries(triples(), ENTITIES, RELATIONS)
    order = torch.randperm(len(queries))
    whole = next(queries.batches(order))
    for size, at_once in ((1, 4), (3, 7), (4, 1), (len(order), 2), (1000, 1000)):
        monkeypatch.setattr("brgcn.tasks.link_queries.ROWS_AT_ONCE", at_once)
        parts = list(queries.batches(order, size))
        assert [len(part.entity) for part in parts[:-1]] == [size] * (len(parts) - 1)
        for name in ("entity", "relation", "answer", "triple", "share"):
            assert torch.equal(torch.cat([getattr(part, name) for part in parts]), getattr(whole, name))
        rows = torch.cat([part.answer_row + number * size for number, part in enumerate(parts)])
        assert torch.equal(rows, whole.answer_row)


@pytest.mark.parametrize("loss", ["1vsall", "kvsall"])
def test_answers_that_fill_up_a_batch_do_not_count(loss: str) -> None:
    settings = LinkSettings(width=WIDTH, loss=loss, n3=0.1, relation_prediction=0.5)
    model, queries = model_of(settings), TrainingQueries(triples(), ENTITIES, RELATIONS)
    batch = next(queries.batches(torch.randperm(len(queries))[:6]))
    plain = LinkLoss(model, settings).of_queries(model.entity, batch, cells=1 << 20)
    filled = LinkLoss(model, settings).of_queries(model.entity, batch.padded(40), cells=1 << 20)
    assert filled.item() == pytest.approx(plain.item(), rel=1e-12)
    wanted = (model.entity, model.relation)
    for mine, theirs in zip(torch.autograd.grad(filled, wanted), torch.autograd.grad(plain, wanted), strict=True):
        torch.testing.assert_close(mine, theirs)


def test_a_sample_of_all_entities_is_the_loss_over_all() -> None:
    settings = LinkSettings(width=WIDTH)
    model, queries = model_of(settings), TrainingQueries(triples(), ENTITIES, RELATIONS)
    batch = next(queries.batches(torch.arange(5)))
    sampler = Sampler(queries, 5, ENTITIES)
    ids, local = sampler.sample(batch)
    assert ids.tolist() == list(range(ENTITIES))
    assert sampler.correction.abs().max() < 1e-6
    loss = LinkLoss(model, settings)
    all_of_them = loss.of_queries(model.entity, batch, 1 << 20)
    sampled = loss.of_queries(model.some_entities(ids), local, 1 << 20, sampler.correction[ids].double())
    torch.testing.assert_close(sampled, all_of_them)
    sampled.backward()
    assert model.entity.grad is not None
    assert model.entity.grad.is_sparse


def test_probability_of_being_in_a_sample() -> None:
    queries = TrainingQueries(triples(), ENTITIES, RELATIONS)
    sampler = Sampler(queries, 4, 2)
    torch.manual_seed(0)
    seen, draws = torch.zeros(ENTITIES), 3000
    for _ in range(draws):
        ids, local = sampler.sample(next(queries.batches(torch.randperm(len(queries))[:4])))
        seen[ids] += 1
        assert torch.equal(ids[local.answer].sort().values, ids[local.answer.sort().values])
    torch.testing.assert_close(seen / draws, (-sampler.correction).exp(), rtol=0.06, atol=0.03)


@pytest.mark.parametrize("reciprocal", [True, False])
def test_negatives_corrupt_what_is_asked_for(reciprocal: bool) -> None:
    """With scores that tell true from false by the relation alone, the loss is known whatever is drawn."""
    settings = LinkSettings(decoder="distmult", width=1, reciprocal=reciprocal, loss="negatives", negatives=3)
    torch.manual_seed(1)
    model = LinkModel(ENTITIES, RELATIONS, decoder_name="distmult", width=1, reciprocal=reciprocal)
    with torch.no_grad():
        model.entity.fill_(1)
        model.relation.fill_(2)
    table = triples()
    loss = LinkLoss(model, settings).of_triples(model.entity, table)
    true, false = math.log(1 + math.exp(-2)), math.log(1 + math.exp(2))
    assert loss.item() == pytest.approx((true + 3 * false) / 4, rel=1e-5)
    with torch.no_grad():  # a triple with the head 0 scores 0, whatever its tail
        model.entity.fill_(5)
        model.entity[0] = 0
    of_zero = torch.tensor([[0, 1, t] for t in range(ENTITIES)]).repeat(20, 1)
    loss = LinkLoss(model, settings).of_triples(model.entity, of_zero)
    assert (loss.item() == pytest.approx(math.log(2))) is reciprocal


@pytest.mark.parametrize("name", ["complex", "hole", "transe"])
@pytest.mark.parametrize("reciprocal", [True, False])
def test_negatives_in_parts_are_those_of_the_whole(name: str, reciprocal: bool) -> None:
    """The same drawn entities and the same gradients, while what is kept for the backward pass does not grow."""
    settings = LinkSettings(
        decoder=name, width=WIDTH, reciprocal=reciprocal, loss="negatives", negatives=40, l2=0.2, relation_dropout=0.3
    )
    model, table = model_of(settings).train(), triples()
    model.relation_dropout = settings.relation_dropout
    loss = LinkLoss(model, settings)

    def taken(cells: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, int]:
        kept: list[torch.Tensor] = []
        torch.manual_seed(5)
        with torch.autograd.graph.saved_tensors_hooks(lambda x: kept.append(x) or x, lambda x: x):
            found = loss.of_triples(model.entity, table, cells)
        stored = {x.untyped_storage().data_ptr(): x.untyped_storage().nbytes() for x in kept}
        return found.detach(), *torch.autograd.grad(found, (model.entity, model.relation)), sum(stored.values())

    *expected, all_kept = taken(0)
    rows = len(table) // 2 - 1  # with a shorter part at the end
    for cells in (1, loss.numbers_of_triples(rows), loss.numbers_of_triples(len(table))):
        *found, kept = taken(cells)
        for mine, theirs in zip(found, expected, strict=True):
            torch.testing.assert_close(mine, theirs, rtol=1e-12, atol=1e-14)
        whole = cells == loss.numbers_of_triples(len(table))
        assert kept == all_kept if whole else kept < all_kept / 4


def test_relations_are_predicted_in_full_precision_from_narrow_products(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "cpu_has_bfloat16", lambda: True)
    settings = LinkSettings(width=WIDTH, relation_prediction=1.0)
    model = model_of(settings).float()
    queries = TrainingQueries(triples(), ENTITIES, RELATIONS)
    batch = next(queries.batches(torch.arange(len(queries))))
    wanted = LinkLoss(model, settings).of_queries(model.entity, batch, cells=1000)
    with precision.training_precision("bfloat16", torch.device("cpu")):
        found = LinkLoss(model, settings).of_queries(model.entity, batch, cells=1000)
    assert found.dtype == torch.float32
    assert found.item() == pytest.approx(wanted.item(), rel=0.01)
    assert found.bfloat16().item() != found.item()  # not a rounded number
