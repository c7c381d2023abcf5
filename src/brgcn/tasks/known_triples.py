"""All triples that are known to be true, to be asked: which tails does (h, r, ?) have, which heads (?, r, t)?"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from brgcn.data.named_graph import first_occurrences
from brgcn.errors import DataError


class Answers:
    """Sorted by query: one key per (entity, relation), the entities that answer it in a row."""

    def __init__(self, entity: Tensor, relation: Tensor, answer: Tensor, num_relations: int) -> None:
        self.num_relations = num_relations
        keys = entity * num_relations + relation
        self.order = order = torch.argsort(keys, stable=True)  # [n] the triple that each answer comes from
        self.keys, counts = torch.unique_consecutive(keys[order], return_counts=True)
        self.ptr = torch.cat([counts.new_zeros(1), counts.cumsum(0)])  # [keys + 1]
        self.answer = answer[order]

    def of(self, entity: Tensor, relation: Tensor) -> tuple[Tensor, Tensor]:
        """First and one past the last place in ``answer`` for each query [n]; both 0 for one that was never seen."""
        if not self.keys.numel():
            return torch.zeros_like(entity), torch.zeros_like(entity)
        wanted = entity * self.num_relations + relation
        place = torch.searchsorted(self.keys, wanted).clamp(max=self.keys.numel() - 1)
        found = self.keys[place] == wanted
        return torch.where(found, self.ptr[place], 0), torch.where(found, self.ptr[place + 1], 0)

    def to(self, device: torch.device | str) -> Answers:
        there = copy.copy(self)
        for name in ("order", "keys", "ptr", "answer"):
            setattr(there, name, getattr(self, name).to(device))
        return there


class KnownTriples:
    """Never changed after it was made, so that no order of questions matters.

    Args:
        splits: tables [n, 3] of head, relation, tail; a triple that is in several counts once.
    """

    def __init__(self, splits: Iterable[Tensor], num_entities: int, num_relations: int) -> None:
        tables = [table.long() for table in splits]
        triples = torch.cat(tables) if tables else torch.zeros(0, 3, dtype=torch.long)
        check_triples(triples, num_entities, num_relations)
        triples = triples[first_occurrences(triples)]
        head, relation, tail = triples.unbind(1)
        self.num_entities, self.num_relations = num_entities, num_relations
        self.by_side = {
            "tail": Answers(head, relation, tail, num_relations),
            "head": Answers(tail, relation, head, num_relations),
        }

    def to(self, device: torch.device | str) -> KnownTriples:
        there = copy.copy(self)
        there.by_side = {side: answers.to(device) for side, answers in self.by_side.items()}
        return there

    @property
    def device(self) -> torch.device:
        keys: Tensor = self.by_side["tail"].keys
        return keys.device


def ranking_facts(triples: Mapping[str, Tensor], num_entities: int) -> dict[str, Any]:
    """What must be said beside ranks: the splits whose triples are left out when they are filtered, the sizes of the
    splits, and how many triples have an entity that no training triple has (they are ranked like all others)."""
    seen = torch.zeros(num_entities, dtype=torch.bool)
    seen[triples["train"][:, [0, 2]].flatten()] = True
    return {
        "filter": list(triples),
        "splits": {split: len(table) for split, table in triples.items()},
        "with_unseen_entities": {
            split: int((~seen[table[:, [0, 2]]]).any(1).sum()) for split, table in triples.items()
        },
    }


def check_triples(triples: Tensor, num_entities: int, num_relations: int) -> None:
    if triples.dim() != 2 or triples.size(1) != 3:
        raise DataError(f"triples must have shape [n, 3], not {list(triples.shape)}")
    if not triples.numel():
        return
    low, high = triples.amin(0).tolist(), triples.amax(0).tolist()
    for column, name, size in ((0, "head", num_entities), (1, "relation", num_relations), (2, "tail", num_entities)):
        if low[column] < 0 or high[column] >= size:
            wrong = low[column] if low[column] < 0 else high[column]
            raise DataError(f"there is no {name} {wrong}: they run from 0 to {size - 1}")
