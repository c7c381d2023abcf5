from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from brgcn.data import Dataset, load_dataset
from brgcn.data.leakage import given_away, leakage_warnings
from brgcn.data.named_graph import NamedGraph
from brgcn.data.split_triples import with_splits

PARENT, CHILD, MOTHER, NEAR = range(4)


def data(**splits: list[tuple[int, int, int]]) -> Dataset:
    triples = {split: torch.tensor(rows) for split, rows in splits.items()}
    graph = NamedGraph.from_triples(
        map(str, range(60)), ["parent", "child", "mother", "near"], triples["train"], rdf=False
    )
    return Dataset("people", "links", graph, {}, (), triples, "", "")


FAMILY = [(k, PARENT, k + 20) for k in range(20)]
NEIGHBOURS = [(k, NEAR, k + 1) for k in range(40)]


@pytest.mark.parametrize(("relation", "turned"), [(CHILD, True), (MOTHER, False)])
def test_an_inverse_or_a_duplicate_gives_triples_away(relation: int, turned: bool) -> None:
    others = [(t, relation, h) if turned else (h, relation, t) for h, _, t in FAMILY]
    found = data(train=FAMILY[3:] + others + NEIGHBOURS[2:], valid=NEIGHBOURS[:1], test=[*FAMILY[:3], NEIGHBOURS[1]])
    assert given_away(found) == {"valid": 0, "test": 0.75}
    (warning,) = leakage_warnings(found)
    assert "75.0% of the test triples" in warning
    assert "brgcn data inspect" in warning
    # the counterpart must be in training, too
    kept = [row for row in others if not {0, 1, 2} & {row[0], row[2]}]
    found = data(train=FAMILY[3:] + kept + NEIGHBOURS, test=FAMILY[:3])
    assert given_away(found) == {"test": 0}


def test_a_symmetric_relation_gives_triples_away_and_a_one_way_relation_does_not() -> None:
    both_ways = NEIGHBOURS + [(t, r, h) for h, r, t in NEIGHBOURS]
    assert given_away(data(train=both_ways[4:], test=both_ways[:4])) == {"test": 1}
    clean = data(train=FAMILY + NEIGHBOURS[4:], test=NEIGHBOURS[:4])
    assert given_away(clean) == {"test": 0}
    assert leakage_warnings(clean) == []
    assert leakage_warnings(replace(clean, triples={"train": clean.triples["train"]})) == []


def test_holding_back_does_not_hide_that_relations_are_inverses(tmp_path: Path) -> None:
    rows = [f"a{k}\tparent\ta{k // 2}\na{k // 2}\tchild\ta{k}\na{k}\tnear\ta{k + 1}\n" for k in range(200)]
    (tmp_path / "t.tsv").write_text("".join(rows))
    split = with_splits(load_dataset(tmp_path / "t.tsv", use_cache=False), (0.2, 0.2))
    assert all(share > 0.3 for share in given_away(split).values())


@pytest.mark.parametrize(("name", "low", "high"), [("fb15k-237", 0, 0), ("wn18", 0.9, 1), ("fb15k", 0.6, 0.9)])
def test_the_benchmarks(name: str, low: float, high: float, shared_data: Path) -> None:
    found = load_dataset(name, data_dir=shared_data)
    shares = given_away(found)
    assert set(shares) == {"valid", "test"}
    assert all(low <= share <= high for share in shares.values())
    assert bool(leakage_warnings(found)) == (low > 0)
