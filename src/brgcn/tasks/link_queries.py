"""Training triples as queries: (h, r, ?) and (?, r, t), each with all of its answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from brgcn.data.named_graph import first_occurrences
from brgcn.graph import inverse_relation, ptr_from_counts, ragged_range
from brgcn.tasks.known_triples import Answers

ROWS_AT_ONCE = 1 << 22  # whose answers are looked up together


class QueryBatch(NamedTuple):
    """Some queries; relations are directed (the inverse of r asks for heads)."""

    entity: Tensor  # [b] the given one
    relation: Tensor  # [b]
    answer_row: Tensor  # [n] ascending
    answer: Tensor  # [n]
    triple: Tensor  # [n] the training triple that each answer comes from
    share: Tensor  # [n] one over the number of answers that the query has in training; 0: not an answer

    def padded(self, answers: int) -> QueryBatch:
        """The same with as many answers: the last is repeated, and does not count."""
        place = torch.arange(answers, device=self.answer.device)
        real = place < self.answer.numel()
        place = place.clamp(max=self.answer.numel() - 1)
        rest = self.answer_row[place], self.answer[place], self.triple[place], self.share[place] * real
        return QueryBatch(self.entity, self.relation, *rest)


class TrainingQueries:
    """Answers that share a query share a row of scores, ``most`` at a time.

    Without a limit a query with a thousand answers would move its vectors once in an epoch, by one long step, and
    Adagrad makes of that as little as of a short one.

    ``triples`` [n, 3] are the distinct training triples.
    """

    def __init__(self, train: Tensor, num_entities: int, num_relations: int, most: int = 0) -> None:
        train = train.long()
        self.triples = train[first_occurrences(train)]
        self.num_entities, self.num_relations = num_entities, num_relations
        directed = both_directions(self.triples, num_relations)
        grouped = Answers(directed[:, 0], directed[:, 1], directed[:, 2], 2 * num_relations)
        sizes = grouped.ptr.diff()
        most = most or max(1, int(sizes.max()))
        rows = (sizes + most - 1) // most  # of each query
        key = torch.repeat_interleave(grouped.keys, rows)
        place = torch.arange(key.numel()) - torch.repeat_interleave(rows.cumsum(0) - rows, rows)  # among its rows
        first = torch.repeat_interleave(grouped.ptr[:-1], rows) + place * most
        self.entity, self.relation = key // (2 * num_relations), key % (2 * num_relations)
        self.ptr = torch.cat([first, grouped.ptr[-1:]])
        self.answer = grouped.answer
        self.share = torch.repeat_interleave(1 / sizes.float(), sizes)
        self.triple = grouped.order % max(1, len(self.triples))

    def __len__(self) -> int:
        return int(self.entity.numel())

    def most_answers(self, rows: int) -> int:
        """Answers that so many rows drawn at random practically never exceed."""
        sizes = self.ptr.diff().double()
        expected, spread = float(sizes.mean()) * rows, float(sizes.std(correction=0)) * rows**0.5
        return min(rows * int(sizes.max()), int(expected + 6 * spread) + 1)

    def to(self, device: torch.device | str) -> TrainingQueries:
        for name in ("triples", "entity", "relation", "ptr", "answer", "triple", "share"):
            setattr(self, name, getattr(self, name).to(device))
        return self

    def batches(self, order: Tensor, size: int = 0) -> Iterator[QueryBatch]:
        """The rows at these places [m], ``size`` at a time; 0: all. A device is not waited for between batches."""
        size = size or max(1, len(order))
        for some in order.split(size * max(1, ROWS_AT_ONCE // size)):
            begin = self.ptr[some]
            sizes = self.ptr[some + 1] - begin
            place = ragged_range(begin, sizes)
            row = torch.arange(len(some), device=some.device) % size
            row = torch.repeat_interleave(row, sizes, output_size=place.numel())
            bounds = [*ptr_from_counts(sizes)[:-1:size].tolist(), place.numel()]
            for number, chosen in enumerate(some.split(size)):
                mine = slice(bounds[number], bounds[number + 1])
                answers = self.answer[place[mine]], self.triple[place[mine]], self.share[place[mine]]
                yield QueryBatch(self.entity[chosen], self.relation[chosen], row[mine], *answers)


class Sampler:
    """A batch is scored against a sample of the entities: those that it mentions, and some drawn at random.

    ``correction`` [N] is -log of the probability that an entity is in the sample (``ops.answer_loss`` says why).
    """

    def __init__(self, queries: TrainingQueries, batch: int, drawn: int) -> None:
        self.num_entities, self.drawn = queries.num_entities, drawn
        share = min(1.0, (batch or len(queries)) / max(1, len(queries)))
        # queries that mention an entity; one that gives and answers the same is counted twice, which hardly matters
        mentions = torch.bincount(queries.answer, minlength=self.num_entities)
        mentions += torch.bincount(queries.entity, minlength=self.num_entities)
        absent = (1 - share) ** mentions.double() * (1 - min(1.0, drawn / max(1, self.num_entities)))
        self.correction = -(1 - absent).clamp(min=1e-12).log().float()

    def sample(self, batch: QueryBatch) -> tuple[Tensor, QueryBatch]:
        """Ids [M] of the entities, and the batch in terms of their places among them."""
        chosen = torch.zeros(self.num_entities, dtype=torch.bool, device=batch.entity.device)
        chosen[torch.randperm(self.num_entities, device=chosen.device)[: self.drawn]] = True
        chosen[batch.answer] = True
        chosen[batch.entity] = True
        place = chosen.long().cumsum(0) - 1
        local = batch._replace(entity=place[batch.entity], answer=place[batch.answer])
        return chosen.nonzero().squeeze(1), local


def both_directions(triples: Tensor, num_relations: int) -> Tensor:
    """[2n, 3]: the triples, then the same as (t, inverse of r, h)."""
    head, relation, tail = triples.unbind(1)
    inverse = torch.stack([tail, inverse_relation(relation, num_relations), head], dim=1)
    return torch.cat([triples, inverse])
