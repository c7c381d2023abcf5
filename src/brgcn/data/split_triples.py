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

HELD_BACK = ("valid", "test")
SHARES = (0.1, 0.1)  # of these


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


def holds_back(dataset: Dataset) -> bool:
    """Whether ``with_splits`` takes triples out of training: there are none to choose the epoch by."""
    return dataset.task != "links" or "valid" not in dataset.triples


def with_splits(dataset: Dataset, shares: Sequence[float] = SHARES, seed: int = 0) -> Dataset:
    """A data set for link prediction with validation and test triples held back from those it has: from the training
    triples where it has no others, from the edges of its graph where it was made for labelled nodes. Test triples of
    its own stay what they are; then only validation triples are held back."""
    if len(shares) != 2 or not all(0 <= share < 1 for share in shares) or sum(shares) >= 1:
        raise DataError(
            f"{', '.join(map(str, shares))} are not the shares of validation and test triples",
            remedy="Give two numbers that are together below 1, such as --split 0.1,0.1",
        )
    if not holds_back(dataset):
        return dataset
    own_test = dataset.triples.get("test")
    triples = dataset.triples["train"] if dataset.task == "links" else dataset.named_graph.triples()
    triples = triples[first_occurrences(triples)]
    graph = dataset.graph
    asked = dict(zip(HELD_BACK if own_test is None else HELD_BACK[:1], shares, strict=False))
    wanted = {split: round(share * len(triples)) for split, share in asked.items()}
    total = sum(wanted.values())
    held = hold_back(triples, total, graph.num_nodes, graph.num_relations, seed)
    spared = triples[held]
    spared = spared[torch.randperm(len(spared), generator=torch.Generator().manual_seed(seed + 1))]
    cut = round(len(spared) * wanted["valid"] / max(1, total))
    parts = {
        "train": triples[~held],
        "valid": spared[:cut],
        "test": spared[cut:] if own_test is None else own_test,
    }
    head, relation, tail = parts["train"].unbind(1)
    kept = RelationalGraph.from_edges(torch.stack([head, tail]), relation, graph.num_nodes, graph.num_relations)
    how = f"split-{shares[0]}-{shares[1]}" if own_test is None else f"valid-{shares[0]}"
    return replace(
        dataset,
        task="links",
        splits={},
        label_names=(),
        named_graph=replace(dataset.named_graph, graph=kept),
        triples={split: table for split, table in parts.items() if len(table) or split == "train"},
        fingerprint=f"{dataset.fingerprint}-{how}-{seed}",
        warnings=(*dataset.warnings, *_warnings(parts, asked, total, len(spared))),
    )


def _warnings(parts: dict[str, Tensor], asked: dict[str, float], wanted: int, spared: int) -> list[str]:
    warnings = []
    if spared < wanted:
        warnings.append(
            f"{spared:,} triples could be held back, not {wanted:,}: the others are the last of an entity or a relation"
        )
    if "test" not in asked and len(parts["valid"]):
        warnings.append(
            f"the data have no validation triples: {spared:,} of {len(parts['train']) + spared:,} training triples "
            "are held back as such"
        )
    for split, share in asked.items():
        if share and not len(parts[split]):
            without = "the last epoch is kept, whatever its worth" if split == "valid" else "nothing tells the quality"
            warnings.append(f"there are too few triples to hold back any for {split}: {without}")
    return warnings
