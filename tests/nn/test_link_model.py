"""Queries of a link model mean what they say, with and without reciprocal relations, with and without an encoder."""

from __future__ import annotations

import pytest
import torch

from brgcn.graph import RelationalGraph
from brgcn.nn.decoders import DECODERS
from brgcn.nn.frame import MODELS
from brgcn.nn.link_model import LinkModel
from brgcn.tasks.link_scores import EntityScores

ENTITIES, RELATIONS, WIDTH = 7, 3, 6


def graph() -> RelationalGraph:
    generator = torch.Generator().manual_seed(0)
    index = torch.randint(ENTITIES, (2, 20), generator=generator)
    edges = RelationalGraph.from_edges(index, torch.arange(20) % RELATIONS, ENTITIES, RELATIONS)
    return edges.with_inverse()


@pytest.mark.parametrize("name", DECODERS)
@pytest.mark.parametrize("encoder", ["none", *MODELS])
def test_both_sides_are_the_triples_score(name: str, encoder: str) -> None:
    model = LinkModel(
        ENTITIES, RELATIONS, encoder=encoder, decoder_name=name, width=WIDTH, reciprocal=False, initial_scale=1.0
    ).double()
    for parameter in model.layers.parameters():
        torch.nn.init.normal_(parameter)  # an encoder adds nothing before training
    scores = EntityScores(model, graph())
    everyone = torch.arange(ENTITIES)
    for relation in range(RELATIONS):
        rows = torch.full((ENTITIES,), relation)
        tails, heads = scores.tails(everyone, rows), scores.heads(everyone, rows)
        torch.testing.assert_close(tails, heads.T)
        vector = scores.relations[relation].expand(ENTITIES, -1)
        for head in range(ENTITIES):
            own = scores.entities[head].expand(ENTITIES, -1)
            torch.testing.assert_close(tails[head], model.decoder.score(own, vector, scores.entities))
        between = scores.relations_between(everyone, everyone.flip(0))
        torch.testing.assert_close(between[:, relation], tails[everyone, everyone.flip(0)])


def test_a_reciprocal_relation_has_a_vector_of_its_own() -> None:
    model = LinkModel(ENTITIES, RELATIONS, width=WIDTH, reciprocal=True, initial_scale=1.0)
    assert model.relation.shape == (2 * RELATIONS, WIDTH)
    scores = EntityScores(model, None)
    rows, tail = torch.tensor([1]), torch.tensor([4])
    by_hand = model.decoder.score_tails(model.entity[tail], model.relation[rows + RELATIONS], model.entity)
    torch.testing.assert_close(scores.heads(tail, rows), by_hand)


@pytest.mark.parametrize("bases", [0, 2])
@pytest.mark.parametrize("encoder", MODELS)
def test_with_a_residual_training_starts_from_the_table(encoder: str, bases: int) -> None:
    model = LinkModel(ENTITIES, RELATIONS, encoder=encoder, width=WIDTH, num_layers=2, num_bases=bases)
    vectors = model.entities(graph())
    assert torch.equal(vectors, model.entity)
    vectors.square().sum().backward()
    moved = {name for name, parameter in model.layers[-1].named_parameters() if parameter.grad.abs().max() > 0}
    assert {"root", "value_coefficients" if bases else "value"} <= moved


def test_the_residual_is_the_table() -> None:
    torch.manual_seed(0)
    with_it = LinkModel(ENTITIES, RELATIONS, encoder="brgcn", width=WIDTH, residual=True, initial_scale=1.0)
    without = LinkModel(ENTITIES, RELATIONS, encoder="brgcn", width=WIDTH, residual=False)
    with_it.load_state_dict(without.state_dict())
    torch.testing.assert_close(with_it.entities(graph()), without.entities(graph()) + with_it.entity)


def test_two_layers_with_bases_and_heads_pass_gradients_to_everything() -> None:
    model = LinkModel(
        ENTITIES, RELATIONS, encoder="brgcn", width=WIDTH, num_layers=2, num_bases=2, heads=2, initial_scale=1.0
    )
    model.entities(graph()).square().sum().backward()
    without = [name for name, p in model.named_parameters() if p.grad is None]
    assert without == ["relation"]
