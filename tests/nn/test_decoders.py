"""Decoders against plain loops over numbers, and against themselves: one triple, all tails, all heads."""

from __future__ import annotations

import pytest
import torch

from brgcn.errors import SettingsError
from brgcn.nn.decoders import DECODERS, decoder

WIDTH, ENTITIES, BATCH = 6, 9, 4


def by_hand(name: str, h: list[float], r: list[float], t: list[float]) -> float:
    d = len(h)
    if name == "distmult":
        return sum(h[k] * r[k] * t[k] for k in range(d))
    if name == "complex":
        half = d // 2
        total = 0j
        for k in range(half):
            total += complex(h[k], h[k + half]) * complex(r[k], r[k + half]) * complex(t[k], t[k + half]).conjugate()
        return total.real
    if name == "hole":
        return sum(r[k] * h[i] * t[(k + i) % d] for k in range(d) for i in range(d))
    power = 2 if name.endswith("l2") else 1
    return -(sum(abs(h[k] + r[k] - t[k]) ** power for k in range(d)) ** (1 / power))


@pytest.mark.parametrize("name", DECODERS)
@pytest.mark.parametrize("width", [2, WIDTH])
def test_one_triple_all_tails_and_all_heads_agree(name: str, width: int) -> None:
    entities = torch.randn(ENTITIES, width, dtype=torch.double)
    relation = torch.randn(BATCH, width, dtype=torch.double)
    head, tail = torch.randint(ENTITIES, (2, BATCH))
    chosen = decoder(name, width)
    expected = torch.tensor(
        [
            [
                by_hand(name, *(v.tolist() for v in (entities[head[b]], relation[b], entities[e])))
                for e in range(ENTITIES)
            ]
            for b in range(BATCH)
        ],
        dtype=torch.double,
    )
    torch.testing.assert_close(chosen.score_tails(entities[head], relation, entities), expected)
    one = chosen.score(entities[head], relation, entities[tail])
    torch.testing.assert_close(one, expected[torch.arange(BATCH), tail])
    heads = chosen.score_heads(entities[tail], relation, entities)
    torch.testing.assert_close(heads[torch.arange(BATCH), head], one)
    for e in range(ENTITIES):
        alone = chosen.score(entities[e].expand(BATCH, -1), relation, entities[tail])
        torch.testing.assert_close(heads[:, e], alone)
    relations = chosen.match_all(chosen.relation_query(entities[head], entities[tail]), relation)  # [BATCH, BATCH]
    torch.testing.assert_close(relations.diagonal(), one)
    asked, candidate = torch.randint(BATCH, (20,)), torch.randint(ENTITIES, (20,))
    some = chosen.match_some(chosen.tail_query(entities[head], relation), asked, entities, candidate)
    torch.testing.assert_close(some, expected[asked, candidate])
    in_training = chosen.match_all_in_training(chosen.tail_query(entities[head], relation), entities)
    torch.testing.assert_close(in_training, expected)


@pytest.mark.parametrize("width", [1, 2, 5, 6])
def test_hole_is_complex_of_spectra_and_its_factors_are_theirs(width: int) -> None:
    hole = decoder("hole", width)
    vectors = torch.randn(3, 4, width, dtype=torch.double)  # heads, relations, tails
    spectra = torch.fft.rfft(vectors)
    once = torch.tensor([f == (-f) % width for f in range(spectra.size(-1))])
    spectra = spectra * (torch.where(once, 1.0, 2.0) / width).double() ** (1 / 3)
    pairs = torch.cat([spectra.real, spectra.imag], dim=-1)
    as_complex = decoder("complex", pairs.size(-1))
    torch.testing.assert_close(hole.score(*vectors), as_complex.score(*pairs))
    torch.testing.assert_close(hole.factors(vectors), as_complex.factors(pairs))
    assert hole.pairs
    assert as_complex.pairs


@pytest.mark.parametrize("name", DECODERS)
def test_gradients(name: str) -> None:
    chosen = decoder(name, 4)
    inputs = [torch.randn(n, 4, dtype=torch.double, requires_grad=True) for n in (3, 3, 5)]
    assert torch.autograd.gradcheck(chosen.score_tails, inputs)
    assert torch.autograd.gradcheck(chosen.score_heads, inputs)


def test_an_odd_width_is_fine_but_for_complex_numbers() -> None:
    for name in DECODERS:
        if name == "complex":
            with pytest.raises(SettingsError, match="even width, not 5"):
                decoder(name, 5)
            continue
        vectors = torch.randn(3, 5)
        assert decoder(name, 5).score_tails(vectors, vectors, vectors).shape == (3, 3)
    with pytest.raises(SettingsError, match="no decoder 'rotate'"):
        decoder("rotate", 4)
