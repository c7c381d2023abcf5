"""Fifteen ways in which published link predictors were measured or trained wrongly; each must stay impossible here."""

from __future__ import annotations

import inspect

import pytest
import torch
from ranking_twin import brute_force, example, scorers

from brgcn.data import load_dataset
from brgcn.errors import DataError
from brgcn.graph import RelationalGraph, inverse_relation
from brgcn.message_graph import message_graph
from brgcn.nn.link_model import LinkModel
from brgcn.ops import answer_loss
from brgcn.tasks.known_triples import KnownTriples
from brgcn.tasks.link_loss import LinkLoss
from brgcn.tasks.link_runs import summarise, train_link_runs
from brgcn.tasks.link_scores import EntityScores
from brgcn.tasks.link_settings import LinkSettings
from brgcn.tasks.link_trainer import LinkTrainer
from brgcn.tasks.rank_metrics import check_row, summary
from brgcn.tasks.ranking import rank

MODES = [(setting, ties) for setting in ("raw", "filtered") for ties in ("optimistic", "realistic", "pessimistic")]


def graph_of(triples: torch.Tensor, entities: int, relations: int) -> RelationalGraph:
    return RelationalGraph.from_edges(triples[:, [0, 2]].T, triples[:, 1], entities, relations)


def small_model(encoder: str = "none", **options) -> LinkModel:
    torch.manual_seed(0)
    return LinkModel(12, 3, encoder=encoder, width=6, initial_scale=1.0, **options)


@pytest.mark.parametrize("where", ["truth", "candidate"])
def test_01_nan_is_not_a_good_rank(where: str) -> None:
    """A true score of NaN is higher than none and lower than none: comparisons alone would call it the best."""
    triples, table = example(6, 1, 4, 0, 9)
    h, r, t = triples[0].tolist()
    table[h, r, t if where == "truth" else (t + 1) % 6] = torch.nan
    with pytest.raises(DataError, match="NaN or infinity"):
        rank(triples, *scorers(table), KnownTriples([triples], 6, 1))


def test_02_entities_with_the_same_vector_tie() -> None:
    """A true score from another kernel than the candidates' differs in the last digit, and ties are gone."""
    entity = torch.randn(2, 64).repeat_interleave(50, 0)  # two types, one vector each
    relation = torch.randn(1, 64)

    def score(given, of):
        return (entity[given] * relation[of]) @ entity.T

    triples = torch.tensor([[k, 0, (k + 1) % 100] for k in range(100)])
    ranks = rank(triples, score, score, KnownTriples([triples], 100, 1))
    assert bool((ranks.equal["raw"] == 50).all())


def test_03_ranks_are_of_logits_in_float32() -> None:
    """1,000 scores that a sigmoid, or bfloat16, makes equal."""
    logits = 17 + torch.arange(1000) / 1000
    assert len(torch.sigmoid(logits).unique()) == 1
    assert len(logits.bfloat16().unique()) < 20

    def score(given, of):
        return logits.expand(len(given), -1)

    triples = torch.tensor([[0, 0, 990]])
    ranks = rank(triples, score, score, KnownTriples([triples], 1000, 1))
    assert ranks.of("raw", "pessimistic")[0] == 10
    trained = small_model()
    assert EntityScores(trained, None).tails(torch.tensor([0]), torch.tensor([0])).dtype == torch.float32


def test_04_no_place_in_the_list_of_entities_is_favoured() -> None:
    """Sorted, equal scores come out in an order that depends on the ids."""
    everything = torch.tensor([[e, 0, (e + 3) % 40] for e in range(40)])
    ranks = rank(everything, *scorers(torch.zeros(40, 1, 40)), KnownTriples([everything], 40, 1))
    assert ranks.of("filtered").unique().tolist() == [20.5]


def test_05_validation_triples_are_filtered_and_the_filter_is_named(tmp_path) -> None:
    """Rank 3 raw, 2 without train, 1 without train and valid."""
    scores = torch.zeros(4, 1, 4)
    scores[0, 0] = torch.tensor([0.0, 3.0, 2.0, 1.0])
    train, valid, test = (torch.tensor([[0, 0, t]]) for t in (1, 2, 3))
    for known, expected in (([test], 3), ([train, test], 2), ([train, valid, test], 1)):
        ranks = rank(test, *scorers(scores), KnownTriples(known, 4, 1))
        assert int(ranks.of("filtered")[0]) == expected
    for name in ("train", "valid", "test"):
        (tmp_path / f"{name}.tsv").write_text("".join(f"{k}\tr\t{(3 * k + len(name)) % 9}\n" for k in range(9)))
    result = summarise(train_link_runs(load_dataset(tmp_path), LinkSettings(epochs=1, width=4), tmp_path / "run"))
    assert result["filter"] == ["train", "valid", "test"]


def test_06_negatives_may_be_true_outside_of_training() -> None:
    """A sampler that avoids validation and test triples tells the model which these are. Ours knows neither."""
    model = small_model(reciprocal=False)
    assert not {"valid", "test", "known"} & set(inspect.signature(LinkLoss.of_triples).parameters)
    drawn = []
    match_some = model.decoder.match_some

    def noticed(
        query: torch.Tensor, asked: torch.Tensor, entities: torch.Tensor, candidate: torch.Tensor
    ) -> torch.Tensor:
        drawn.append((asked[1:], candidate[1:]))  # the first is the true triple
        return match_some(query, asked, entities, candidate)

    model.decoder.match_some = noticed  # type: ignore[method-assign]
    loss = LinkLoss(model, LinkSettings(width=6, loss="negatives", reciprocal=False, negatives=400))
    loss.of_triples(torch.randn(12, 6), torch.tensor([[0, 0, 1]]))
    asked, candidate = drawn[0]
    for side in (0, 1):
        assert set(candidate[asked == side].tolist()) == set(range(12))  # every entity, the true one among them


def test_07_selection_sees_no_test_triple() -> None:
    """The trainer has no way to be given one; what it selects by is filtered by train and valid alone."""
    assert "test" not in inspect.signature(LinkTrainer.__init__).parameters
    triples, _ = example(12, 3, 40, 0, 2)
    trainer = LinkTrainer(graph_of(triples[:30], 12, 3), triples[:30], LinkSettings(width=4), 0, valid=triples[30:])
    known = trainer.known.by_side["tail"]
    assert int(known.ptr[-1]) == len(torch.unique(triples, dim=0))


def test_08_asking_twice_or_in_another_order_changes_nothing() -> None:
    triples, table = example(15, 2, 60, 2, 4)
    known = KnownTriples([triples], 15, 2)
    before = [(a.keys.clone(), a.ptr.clone(), a.answer.clone()) for a in known.by_side.values()]
    first = rank(triples, *scorers(table), known)
    backwards = rank(triples.flip(0), *scorers(table), known)
    for setting, ties in MODES:
        sides = backwards.of(setting, ties).view(2, -1).flip(1).flatten()
        assert first.of(setting, ties).equal(sides)
    for old, new in zip(before, known.by_side.values(), strict=True):
        assert all(torch.equal(a, b) for a, b in zip(old, (new.keys, new.ptr, new.answer), strict=True))


def test_09_one_numbering_of_inverse_relations() -> None:
    """r and r + R, everywhere: the graph, the queries and the model."""
    assert inverse_relation(torch.tensor([0, 2]), 3).tolist() == [3, 5]
    assert inverse_relation(inverse_relation(torch.arange(3), 3), 3).tolist() == [0, 1, 2]
    triples = torch.tensor([[0, 0, 1], [2, 1, 3], [4, 2, 5]])
    graph = message_graph(graph_of(triples, 12, 3), "true")
    edges = set(zip(graph.edge_source.tolist(), graph.edge_type.tolist(), graph.edge_target.tolist(), strict=True))
    model = small_model()
    scores = EntityScores(model, None)
    for h, r, t in triples.tolist():
        assert {(h, r, t), (t, r + 3, h)} <= edges
        asked = scores.heads(torch.tensor([t]), torch.tensor([r]))[0]
        by_hand = model.decoder.score_tails(model.entity[[t]], model.relation[[r + 3]], model.entity)[0]
        assert torch.equal(asked, by_hand)


def test_10_entities_unseen_in_training_are_ranked_and_counted(tmp_path) -> None:
    (tmp_path / "train.tsv").write_text("".join(f"{k}\tr\t{(k + 1) % 9}\n" for k in range(9)))
    (tmp_path / "valid.tsv").write_text("0\tr\t2\n")
    (tmp_path / "test.tsv").write_text("0\tr\t3\nstranger\tr\t1\n")
    data = load_dataset(tmp_path)
    assert data.graph.num_nodes == 10
    result = summarise(train_link_runs(data, LinkSettings(epochs=1, width=4), tmp_path / "run"))
    assert result["test"]["raw"]["n"] == 4
    assert result["with_unseen_entities"] == {"train": 0, "valid": 0, "test": 1}


@pytest.mark.parametrize("encoder", ["rgcn", "brgcn"])
def test_11_messages_are_passed_and_normalised_in_floating_point(encoder: str) -> None:
    """An integer division once made all normalisers 0, and for two years no message arrived."""
    triples = torch.tensor([[k, 0, 11] for k in range(7)])
    layer = small_model(encoder, residual=False, self_connection="none").layers[0]
    graph = message_graph(graph_of(triples, 12, 3), "true")
    same = layer(torch.ones(12, 6), graph)[11]  # the mean of equal messages is the message
    one = layer(torch.ones(12, 6), message_graph(graph_of(triples[:1], 12, 3), "true"))[11]
    assert torch.allclose(same, one, atol=1e-6)
    assert bool(same.abs().sum() > 0)
    inputs = torch.randn(12, 6)
    moved = message_graph(graph_of(torch.tensor([[k + 1, 0, 11] for k in range(7)]), 12, 3), "true")
    assert not torch.allclose(layer(inputs, graph)[11], layer(inputs, moved)[11])


def test_12_a_hidden_target_cannot_be_read_off_the_graph() -> None:
    """With ``mask_target_edges`` what is scored passes no message, so its removal from the graph changes nothing."""
    triples, _ = example(12, 3, 30, 5, 2)
    triples = torch.unique(triples, dim=0)
    chosen = torch.tensor([3, 8])
    without = torch.tensor([k for k in range(len(triples)) if k not in (3, 8)])
    settings = LinkSettings(encoder="rgcn", width=6, mask_target_edges=True, residual=False, initial_scale=1.0)
    masked = LinkTrainer(graph_of(triples, 12, 3), triples, settings, 0)
    cut = message_graph(graph_of(triples[without], 12, 3), "true")
    assert torch.allclose(masked._entities(chosen), masked.model.entities(cut), atol=1e-6)
    assert not torch.allclose(masked._entities(chosen), masked.model.entities(masked.graph), atol=1e-6)


def test_13_dropout_chunks_and_batches_leave_ranks_alone() -> None:
    triples, _ = example(12, 3, 40, 1, 2)
    known = KnownTriples([triples], 12, 3)
    graph = message_graph(graph_of(triples, 12, 3), "true")
    model = small_model("brgcn", entity_dropout=0.5, relation_dropout=0.5, dropout=0.5)
    model.train()  # whoever measures turns it off
    found = []
    for cells in (1, 12 * 7, 1 << 20):
        scores = EntityScores(model, graph)
        found.append(rank(triples, scores.tails, scores.heads, known, cells=cells))
    for setting, ties in MODES:
        assert found[0].of(setting, ties).equal(found[1].of(setting, ties))
        assert found[0].of(setting, ties).equal(found[2].of(setting, ties))


def test_14_a_row_that_no_ranks_can_give_is_refused() -> None:
    with pytest.raises(DataError, match=r"0\.2510 is impossible with hits of 0\.2550"):
        check_row({"mrr": 0.251, "hits@1": 0.255, "hits@3": 0.265, "hits@10": 0.419}, 14541, 0.0005)
    triples, table = example(20, 2, 50, 3, 3)
    summary(rank(triples, *scorers(table), KnownTriples([triples], 20, 2)))  # checks itself


def test_15_positives_are_where_two_implementations_say() -> None:
    """The loss over many answers at once against one triple at a time, the ranks against plain loops."""
    query, entities = torch.randn(4, 5), torch.randn(9, 5)
    row, answer = torch.tensor([0, 0, 0, 2, 3, 3]), torch.tensor([1, 4, 8, 4, 0, 4])
    together = answer_loss(query, entities, row, answer, torch.ones(6), lambda q, e: q @ e.T, cells=10)
    alone = torch.nn.functional.cross_entropy(query[row] @ entities.T, answer, reduction="sum")
    assert torch.allclose(together, alone, rtol=1e-5)
    triples, table = example(9, 2, 30, 8, 4)
    found = rank(triples, *scorers(table), KnownTriples([triples], 9, 2))
    facts = {tuple(row) for row in triples.tolist()}
    expected = brute_force([tuple(row) for row in triples.tolist()], table.tolist(), facts, 9)
    assert found.of("filtered").tolist() == [row[1] for row in expected["filtered"]]
