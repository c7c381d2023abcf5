"""Rules of one atom, the baseline that knows nothing but redundancy: r2(h, t) => r1(h, t) and r2(t, h) => r1(h, t).

The confidence of a rule is the share of its body's training triples whose head is a training triple, too. A candidate's
score is the highest confidence among the rules that infer it. On data whose test triples are the inverses or duplicates
of training triples this beats most embeddings, so it stands beside them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from brgcn.graph import ptr_from_counts, ragged_range
from brgcn.tasks.known_triples import KnownTriples, check_triples
from brgcn.tasks.rank_metrics import summary
from brgcn.tasks.ranking import rank

CONFIDENCE = 0.1  # of a rule that is kept


class RuleTable:
    """Learned from training triples [n, 3]; scores all entities for a query, as ``ranking.rank`` asks."""

    def __init__(self, train: Tensor, num_entities: int, num_relations: int, confidence: float = CONFIDENCE) -> None:
        check_triples(train, num_entities, num_relations)
        self.num_entities, self.num_relations = num_entities, num_relations
        head, relation, tail = torch.unique(train.long(), dim=0).unbind(1)
        forward, backward = head * num_entities + tail, tail * num_entities + head
        body = torch.bincount(relation, minlength=num_relations).clamp(min=1).double()
        self.same = _confidences(forward, relation, forward, relation, num_relations) / body  # [r1, r2]
        self.same.fill_diagonal_(0)  # r => r says nothing
        self.inverse = _confidences(forward, relation, backward, relation, num_relations) / body
        for table in (self.same, self.inverse):
            table[table <= confidence] = 0
        self._out = _Edges(head, relation, tail, num_entities)
        self._in = _Edges(tail, relation, head, num_entities)

    @property
    def num_rules(self) -> int:
        return int((self.same > 0).sum() + (self.inverse > 0).sum())

    def score_tails(self, head: Tensor, relation: Tensor) -> Tensor:
        """[b, N]: from r2(head, e) and r2(e, head)."""
        return self._score(relation, (self._out, self.same, head), (self._in, self.inverse, head))

    def score_heads(self, tail: Tensor, relation: Tensor) -> Tensor:
        """[b, N]: from r2(e, tail) and r2(tail, e)."""
        return self._score(relation, (self._in, self.same, tail), (self._out, self.inverse, tail))

    def _score(self, relation: Tensor, *sources: tuple[_Edges, Tensor, Tensor]) -> Tensor:
        scores = torch.zeros(relation.numel() * self.num_entities)
        for edges, confidence, entity in sources:
            query, body, candidate = edges.of(entity)
            value = confidence[relation[query], body].float()
            scores.scatter_reduce_(0, query * self.num_entities + candidate, value, "amax")
        return scores.view(-1, self.num_entities)


def judge_rules(triples: Mapping[str, Tensor], known: KnownTriples) -> dict[str, Any]:
    """The number of rules in the training triples, and their raw and filtered measures on the others of ``triples``,
    split by split."""
    table = RuleTable(triples["train"], known.num_entities, known.num_relations)
    found = {
        split: summary(rank(held, table.score_tails, table.score_heads, known))
        for split, held in triples.items()
        if split != "train" and len(held)
    }
    return {"rules": table.num_rules, **found}


class _Edges:
    """Edges by the entity at one end."""

    def __init__(self, entity: Tensor, relation: Tensor, other: Tensor, num_entities: int) -> None:
        order = torch.argsort(entity, stable=True)
        self.ptr = ptr_from_counts(torch.bincount(entity, minlength=num_entities))
        self.relation, self.other = relation[order], other[order]

    def of(self, entity: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """For entities [b], edge by edge: whose it is (place in the batch), its relation, its other end."""
        begin, size = self.ptr[entity], self.ptr[entity + 1] - self.ptr[entity]
        place = ragged_range(begin, size)
        owner = torch.repeat_interleave(torch.arange(entity.numel()), size)
        return owner, self.relation[place], self.other[place]


def _confidences(keys: Tensor, relation: Tensor, body_keys: Tensor, body: Tensor, num_relations: int) -> Tensor:
    """[r1, r2] how many triples of r2 have the same key as a triple of r1."""
    ordered, order = torch.sort(keys, stable=True)
    begin = torch.searchsorted(ordered, body_keys)
    size = torch.searchsorted(ordered, body_keys, right=True) - begin
    implied = relation[order][ragged_range(begin, size)]
    implying = torch.repeat_interleave(body, size)
    pairs = torch.bincount(implied * num_relations + implying, minlength=num_relations**2)
    return pairs.view(num_relations, num_relations).double()
