"""Do training triples give the test triples away? Inverse and duplicate relations, overlap, unseen entities."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from brgcn.data.dataset import Dataset
from brgcn.graph import ragged_range

SUSPICIOUS_SHARE = 0.05  # of the test triples whose entities are linked in training already
RELATED = 0.8  # of the pairs of entities that two relations must have in common, on both sides
_FEWEST_TRIPLES = 10  # below this, two relations agree by chance
_SHOWN = 3


def link_facts(dataset: Dataset) -> tuple[dict[str, Any], list[str]]:
    """Facts for the report and the warnings that follow from them."""
    train = dataset.triples["train"]
    num_nodes = dataset.graph.num_nodes
    facts: dict[str, Any] = {}
    warnings: list[str] = []
    seen = torch.zeros(num_nodes, dtype=torch.bool)
    seen[train[:, 0]] = True
    seen[train[:, 2]] = True
    facts["entities_unseen_in_training"] = int((~seen).sum())
    if facts["entities_unseen_in_training"]:
        warnings.append(
            f"{facts['entities_unseen_in_training']:,} of {num_nodes:,} entities occur in no training triple"
        )
    for split, triples in dataset.triples.items():
        if split == "train" or not len(triples):
            continue
        facts[split] = _split_facts(triples, train, seen, num_nodes, dataset.graph.num_relations)
        warnings += _split_warnings(split, facts[split], len(triples))
    related = related_relations(train, num_nodes, dataset.graph.num_relations)
    for kind, pairs in related.items():
        facts[kind] = [[dataset.relation_names[a], dataset.relation_names[b], round(share, 4)] for a, b, share in pairs]
    warnings += _relation_warnings(facts)
    return facts, warnings


def related_relations(train: Tensor, num_nodes: int, num_relations: int) -> dict[str, list[tuple[int, int, float]]]:
    """(relation, relation, share of common pairs of entities) of relations that say nearly the same.

    ``inverse_relations``: a(h, t) goes with b(t, h); a relation that is its own inverse is symmetric.
    ``duplicate_relations``: a(h, t) goes with b(h, t). The share is the smaller one of the two sides.
    """
    head, relation, tail = torch.unique(train, dim=0).T
    sizes = torch.bincount(relation, minlength=num_relations)
    keys, order = (head * num_nodes + tail).sort()
    relation_at = relation[order]
    found: dict[str, list[tuple[int, int, float]]] = {}
    for kind, wanted in (
        ("inverse_relations", tail * num_nodes + head),
        ("duplicate_relations", head * num_nodes + tail),
    ):
        first = torch.searchsorted(keys, wanted)
        count = torch.searchsorted(keys, wanted, right=True) - first
        one = relation.repeat_interleave(count)
        other = relation_at[ragged_range(first, count)]
        combination, together = (one * num_relations + other).unique(return_counts=True)
        one, other = combination // num_relations, combination % num_relations
        share = together / torch.maximum(sizes[one], sizes[other])
        keep = (share >= RELATED) & (torch.minimum(sizes[one], sizes[other]) >= _FEWEST_TRIPLES)
        keep &= one <= other if kind == "inverse_relations" else one < other
        rows = zip(one[keep].tolist(), other[keep].tolist(), share[keep].tolist(), strict=True)
        found[kind] = sorted(rows, key=lambda row: -row[2])
    return found


def is_among(triples: Tensor, train: Tensor, num_nodes: int, num_relations: int) -> Tensor:
    """[n] bool, True for rows of ``triples`` [n, 3] that are rows of ``train``."""
    if not len(train):
        return torch.zeros(len(triples), dtype=torch.bool)
    # (pair, relation) as one number would overflow on large graphs, so pairs are numbered first.
    key = triples[:, 0] * num_nodes + triples[:, 2]
    linked, number = (train[:, 0] * num_nodes + train[:, 2]).unique(return_inverse=True)
    place = torch.searchsorted(linked, key).clamp(max=len(linked) - 1)
    known: Tensor = torch.isin(place * num_relations + triples[:, 1], number * num_relations + train[:, 1])
    return known.logical_and_(linked[place] == key)


def _split_facts(triples: Tensor, train: Tensor, seen: Tensor, num_nodes: int, num_relations: int) -> dict[str, Any]:
    head, _, tail = triples.T
    linked = (train[:, 0] * num_nodes + train[:, 2]).unique()
    return {
        "reversed_in_training": round(float(torch.isin(tail * num_nodes + head, linked).double().mean()), 4),
        "linked_in_training": round(float(torch.isin(head * num_nodes + tail, linked).double().mean()), 4),
        "repeated_from_training": int(is_among(triples, train, num_nodes, num_relations).sum()),
        "with_unseen_entity": int((~seen[head] | ~seen[tail]).sum()),
    }


def _split_warnings(split: str, facts: dict[str, Any], size: int) -> list[str]:
    warnings = []
    if facts["repeated_from_training"]:
        warnings.append(f"{facts['repeated_from_training']:,} of {size:,} {split} triples are training triples too")
    if facts["reversed_in_training"] >= SUSPICIOUS_SHARE:
        warnings.append(
            f"inverse-relation leakage: for {facts['reversed_in_training']:.1%} of the {split} triples (h, r, t) some "
            "training triple links t to h"
        )
    if facts["with_unseen_entity"]:
        warnings.append(
            f"{facts['with_unseen_entity']:,} of {size:,} {split} triples have an entity unseen in training"
        )
    return warnings


def _relation_warnings(facts: dict[str, Any]) -> list[str]:
    warnings = []
    for kind, what in (("inverse_relations", "inverses of each other"), ("duplicate_relations", "duplicates")):
        if pairs := facts[kind]:
            shown = "; ".join(f"{a} and {b}" if a != b else f"{a} (symmetric)" for a, b, _ in pairs[:_SHOWN])
            more = f" and {len(pairs) - _SHOWN:,} more" if len(pairs) > _SHOWN else ""
            warnings.append(f"relations that are {what} on {RELATED:.0%} or more of their triples: {shown}{more}")
    return warnings
