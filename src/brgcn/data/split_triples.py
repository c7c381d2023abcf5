"""Hold back triples for validation and test, without taking an entity or a relation out of training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from brgcn.data.dataset import Dataset
from brgcn.data.named_graph import first_occurrences
from brgcn.errors import DataError
from brgcn.graph import RelationalGraph

SHARES = (0.1, 0.1)  # of valid and test


def hold_back(triples: Tensor, count: int, num_entities: int, num_relations: int, seed: int = 0) -> Tensor:
    """[n] true for ``count`` triples, or fewer if there are not so many that can be spared: every entity and every
    relation keeps a triple. The choice follows from ``seed`` alone."""
    order = torch.randperm(len(triples), generator=torch.Generator().manual_seed(seed))
    uses = torch.bincount(triples[:, [0, 2]].flatten(), minlength=num_entities).tolist()
    of_relation = torch.bincount(triples[:, 1], minlength=num_relations).tolist()
    held = torch.zeros(len(triples), dtype=torch.bool)
    taken = 0
    rows = triples.tolist()
    for place in order.tolist():
        if taken == count:
            break
        head, relation, tail = rows[place]
        ends = (head, tail) if head != tail else (head,)
        weight = 2 if head == tail else 1  # a loop uses its entity twice
        if of_relation[relation] < 2 or any(uses[entity] <= weight for entity in ends):
            continue
        of_relation[relation] -= 1
        for entity in ends:
            uses[entity] -= weight
        held[place] = True
        taken += 1
    return held


def with_splits(dataset: Dataset, shares: Sequence[float] = SHARES, seed: int = 0) -> Dataset:
    """A data set for link prediction with validation and test triples held back from those it has: from the training
    triples where it has no others, from the edges of its graph where it was made for labelled nodes."""
    if len(shares) != 2 or not all(0 <= share < 1 for share in shares) or sum(shares) >= 1:
        raise DataError(
            f"{', '.join(map(str, shares))} are not the shares of validation and test triples",
            remedy="Give two numbers that are together below 1, such as --split 0.1,0.1",
        )
    if dataset.task == "links" and set(dataset.triples) - {"train"}:
        return dataset
    triples = dataset.triples["train"] if dataset.task == "links" else dataset.named_graph.triples()
    triples = triples[first_occurrences(triples)]
    graph = dataset.graph
    wanted = [round(share * len(triples)) for share in shares]
    held = hold_back(triples, sum(wanted), graph.num_nodes, graph.num_relations, seed)
    spared = triples[held]
    order = torch.randperm(len(spared), generator=torch.Generator().manual_seed(seed + 1))
    cut = round(len(spared) * wanted[0] / max(1, sum(wanted)))
    parts = {"train": triples[~held], "valid": spared[order[:cut]], "test": spared[order[cut:]]}
    warnings = list(dataset.warnings)
    if len(spared) < sum(wanted):
        warnings.append(
            f"{len(spared):,} triples could be held back, not {sum(wanted):,}: the others are the last of an entity or "
            "a relation"
        )
    head, relation, tail = parts["train"].unbind(1)
    kept = RelationalGraph.from_edges(torch.stack([head, tail]), relation, graph.num_nodes, graph.num_relations)
    return replace(
        dataset,
        task="links",
        splits={},
        label_names=(),
        named_graph=replace(dataset.named_graph, graph=kept),
        triples={split: table for split, table in parts.items() if len(table) or split == "train"},
        fingerprint=f"{dataset.fingerprint}-split-{shares[0]}-{shares[1]}-{seed}",
        warnings=tuple(warnings),
    )
