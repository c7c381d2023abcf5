"""Does training give the held-back triples away? What is worth a line before a training begins."""

from __future__ import annotations

import torch
from torch import Tensor

from brgcn.data.dataset import Dataset
from brgcn.data.inspect_links import SUSPICIOUS_SHARE, is_among, related_relations
from brgcn.graph import ragged_range


def leakage_warnings(dataset: Dataset) -> list[str]:
    """One line when rules of one atom answer a suspicious share of the held-back triples."""
    shares = given_away(dataset)
    worst = max(shares, key=lambda split: shares[split], default="")
    if not worst or shares[worst] < SUSPICIOUS_SHARE:
        return []
    return [
        f"for {shares[worst]:.1%} of the {worst} triples an inverse or duplicate relation links the same entities in "
        "training, so a simple rule answers them: brgcn data inspect names such relations, and brgcn reproduce links "
        "--rows rules says what rules alone reach"
    ]


def given_away(dataset: Dataset) -> dict[str, float]:
    """Split -> share of its triples (h, r, t) with a training triple (t, s, h) where s is an inverse of r, or (h, s, t)
    where s is a duplicate."""
    num_nodes, num_relations = dataset.graph.num_nodes, dataset.graph.num_relations
    held_back = {split: triples for split, triples in dataset.triples.items() if split != "train" and len(triples)}
    if not held_back:
        return {}
    # Of all triples: what is held back makes relations look less alike.
    related = related_relations(torch.cat(list(dataset.triples.values())), num_nodes, num_relations)
    train = dataset.triples["train"]
    shares = {}
    for split, triples in held_back.items():
        found = torch.zeros(len(triples), dtype=torch.bool)
        for kind, pairs in related.items():
            row, partner = _partners(triples[:, 1], pairs, num_relations)
            head, _, tail = triples[row].T
            ends = (tail, head) if kind == "inverse_relations" else (head, tail)
            counterparts = torch.stack([ends[0], partner, ends[1]], dim=1)
            found[row[is_among(counterparts, train, num_nodes, num_relations)]] = True
        shares[split] = float(found.double().mean())
    return shares


def _partners(relation: Tensor, pairs: list[tuple[int, int, float]], num_relations: int) -> tuple[Tensor, Tensor]:
    """Each row of ``relation`` [n] with each relation that its own is paired with: rows [m] and partners [m]."""
    both = {(a, b) for one, other, _ in pairs for a, b in ((one, other), (other, one))}
    table = torch.tensor(sorted(both), dtype=torch.int64).view(-1, 2)
    count = torch.bincount(table[:, 0], minlength=num_relations)
    first = count.cumsum(0) - count
    row = torch.arange(len(relation)).repeat_interleave(count[relation])
    return row, table[ragged_range(first[relation], count[relation]), 1]
