"""Holding back triples without losing an entity or a relation from training."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from toys import toy_folder

from brgcn.data import load_dataset
from brgcn.data.split_triples import hold_back, with_splits
from brgcn.errors import DataError


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 8), st.integers(1, 3), st.integers(1, 40), st.integers(0, 9), st.integers(0, 5))
def test_every_entity_and_relation_keeps_a_triple(entities, relations, edges, count, seed) -> None:
    generator = torch.Generator().manual_seed(seed)
    columns = [torch.randint(high, (edges,), generator=generator) for high in (entities, relations, entities)]
    triples = torch.unique(torch.stack(columns, 1), dim=0)
    held = hold_back(triples, count, entities, relations, seed)
    rest = triples[~held]
    assert int(held.sum()) <= count
    assert set(rest[:, [0, 2]].flatten().tolist()) == set(triples[:, [0, 2]].flatten().tolist())
    assert set(rest[:, 1].tolist()) == set(triples[:, 1].tolist())
    assert torch.equal(held, hold_back(triples, count, entities, relations, seed))


def test_a_loop_is_the_last_triple_of_its_entity() -> None:
    triples = torch.tensor([[0, 0, 0], [1, 0, 2], [1, 0, 3], [2, 0, 3]])
    for seed in range(20):
        assert not hold_back(triples, 4, 4, 1, seed)[0]


def table(tmp_path, lines: int = 200):
    path = tmp_path / "triples.tsv"
    path.write_text("".join(f"a{k % 20}\tr{k % 3}\tb{k % 17}\n" for k in range(lines)))
    return path


def test_one_table_becomes_three_parts(tmp_path) -> None:
    data = load_dataset(table(tmp_path))
    split = with_splits(data, (0.1, 0.2), seed=1)
    sizes = {name: len(part) for name, part in split.triples.items()}
    assert sizes == {"train": 140, "valid": 20, "test": 40}
    together = torch.cat(list(split.triples.values()))
    assert len(torch.unique(together, dim=0)) == 200
    assert split.graph.num_edges == 140
    assert split.graph.num_nodes == data.graph.num_nodes
    assert split.fingerprint != data.fingerprint != with_splits(data, (0.1, 0.1)).fingerprint
    assert split.fingerprint == with_splits(data, (0.1, 0.2), seed=1).fingerprint


def test_a_data_set_with_its_own_splits_is_left_alone(tmp_path) -> None:
    for name in ("train", "valid", "test"):
        (tmp_path / f"{name}.tsv").write_text("a\tr\tb\nb\tr\tc\n" if name == "train" else "a\tr\tc\n")
    data = load_dataset(tmp_path)
    assert with_splits(data) is data


def test_a_graph_with_labelled_nodes_becomes_triples(tmp_path) -> None:
    data = load_dataset(toy_folder(tmp_path))
    split = with_splits(data, (0.05, 0.05))
    assert split.task == "links"
    assert not split.splits
    assert sum(len(part) for part in split.triples.values()) == data.graph.num_edges


def test_what_cannot_be_spared_is_said(tmp_path) -> None:
    path = tmp_path / "chain.tsv"
    path.write_text("".join(f"n{k}\tr\tn{k + 1}\n" for k in range(10)))
    split = with_splits(load_dataset(path), (0.3, 0.3))
    assert any("last of an entity" in warning for warning in split.warnings)
    with pytest.raises(DataError, match="not the shares"):
        with_splits(load_dataset(path), (0.7, 0.7))


def test_validation_triples_are_held_back_where_only_test_triples_are_given(tmp_path) -> None:
    table(tmp_path).rename(tmp_path / "train.tsv")
    (tmp_path / "test.tsv").write_text("a0\tr0\tb5\nnew\tr1\tb1\n")
    data = load_dataset(tmp_path)
    split = with_splits(data, (0.1, 0.4))
    assert list(split.triples) == ["train", "valid", "test"]
    assert torch.equal(split.triples["test"], data.triples["test"])
    assert (len(split.triples["train"]), len(split.triples["valid"])) == (180, 20)
    assert split.graph.num_edges == 180
    assert set(split.triples["train"][:, [0, 2]].flatten().tolist()) == set(
        data.triples["train"][:, [0, 2]].flatten().tolist()
    )
    assert split.fingerprint not in (data.fingerprint, with_splits(data, (0.2, 0.4)).fingerprint)
    assert any("20 of 200 training triples are held back" in warning for warning in split.warnings)
    assert not with_splits(data, (0, 0)).warnings


@pytest.mark.parametrize(("shares", "said"), [((0.1, 0.1), ["valid", "test"]), ((0, 0.1), ["test"]), ((0, 0), [])])
def test_a_split_that_stays_empty_is_said(tmp_path, shares, said) -> None:
    path = tmp_path / "few.tsv"
    path.write_text("a\tr\tb\nb\tr\tc\nc\tr\ta\n")
    split = with_splits(load_dataset(path), shares)
    assert list(split.triples) == ["train"]
    assert [text.split(":")[0].split()[-1] for text in split.warnings if "too few triples" in text] == said
