"""Ranks of true triples among all candidates, raw and filtered, in one pass.

For a triple (h, r, t) the tail is ranked among the scores of (h, r, e) over all entities e, and the head among those of
(e, r, t). *Filtered* leaves out the other entities that are known to answer the query. A rank is counted, never read
off a sorted list: the optimistic one is 1 + the number of higher scores, the pessimistic one the number of scores that
are at least as high (the true one included), the realistic one their mean. The true score is taken from the same row as
all others, so that equal scores are ties. Each distinct query is scored once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from brgcn.errors import DataError
from brgcn.ops import count_scores
from brgcn.tasks.known_triples import KnownTriples, check_triples

CELLS = {"cpu": 1 << 23, "cuda": 1 << 28}  # scores that are held at a time
Scorer = Callable[[Tensor, Tensor], Tensor]  # (entity [b], relation [b]) -> scores of all entities [b, N]
Scorers = Callable[[Tensor, Tensor], Iterable[Tensor]]  # the same of several models


@dataclass(frozen=True)
class Ranks:
    """Two rows per triple: first the tails of all triples, then the heads. Candidates are those that are ranked, the
    true one included."""

    relation: Tensor  # [2n]
    is_head: Tensor  # [2n]
    higher: dict[str, Tensor]  # "raw", "filtered", the name of a filter: [2n] candidates with a higher score
    equal: dict[str, Tensor]  # [2n] candidates with the same score, the true one included
    candidates: dict[str, Tensor]  # [2n]

    def of(self, setting: str, ties: str = "realistic") -> Tensor:
        """[2n] in float64; ``setting`` raw, or a filter's name; ``ties`` optimistic, realistic or pessimistic."""
        optimistic = 1.0 + self.higher[setting].double()
        pessimistic = (self.higher[setting] + self.equal[setting]).double()
        if ties == "optimistic":
            return optimistic
        return pessimistic if ties == "pessimistic" else (optimistic + pessimistic) / 2


def rank(
    triples: Tensor, score_tails: Scorer, score_heads: Scorer, known: KnownTriples, *, cells: int | None = None
) -> Ranks:
    """Rank both sides of ``triples`` [n, 3].

    Args:
        score_tails: (heads, relations) -> [b, N] logits of all tails.
        score_heads: (tails, relations) -> [b, N] logits of all heads.
        known: what is left out when filtered; it must hold the ranked triples. The counting is done on its device.
        cells: scores that may be held at a time. It decides on speed, memory, and how many queries are scored
            together: where the scores come from a matrix product, that rounds differently for another number of rows,
            and candidates that are practically equal may change places.
    """
    (ranks,) = rank_each(
        triples,
        lambda head, relation: (score_tails(head, relation),),
        lambda tail, relation: (score_heads(tail, relation),),
        {"filtered": known},
        cells=cells,
    )
    return ranks


def rank_each(
    triples: Tensor,
    score_tails: Scorers,
    score_heads: Scorers,
    filters: Mapping[str, KnownTriples],
    *,
    cells: int | None = None,
) -> list[Ranks]:
    """``rank`` for several models that share work, filtered in one way or more: for a batch of queries each model gives
    its scores in turn."""
    any_known = next(iter(filters.values()))
    check_triples(triples, any_known.num_entities, any_known.num_relations)
    cells = CELLS[any_known.device.type] if cells is None else cells
    head, relation, tail = triples.long().to(any_known.device).unbind(1)
    of_tails = _one_side(head, relation, tail, score_tails, filters, "tail", cells)
    of_heads = _one_side(tail, relation, head, score_heads, filters, "head", cells)
    both = torch.cat([relation, relation]).cpu()
    is_head = torch.arange(2 * len(triples)) >= len(triples)
    found = []
    for counts in zip(of_tails, of_heads, strict=True):
        higher, equal, *of_filters = torch.cat(counts, dim=1).cpu()
        everything = torch.full_like(higher, any_known.num_entities)
        ranks = Ranks(both, is_head, {"raw": higher}, {"raw": equal}, {"raw": everything})
        for place, name in enumerate(filters):
            known_higher, known_equal, others = of_filters[3 * place : 3 * place + 3]
            ranks.higher[name] = higher - known_higher
            ranks.equal[name] = equal - known_equal
            ranks.candidates[name] = everything - others
        found.append(ranks)
    return found


def _one_side(
    given: Tensor,
    relation: Tensor,
    wanted: Tensor,
    score: Scorers,
    filters: Mapping[str, KnownTriples],
    side: str,
    cells: int,
) -> list[Tensor]:
    """[2 + 3 filters, n] for each model: of each triple higher and equal scores among all entities; for each filter the
    same among known other answers, and how many of these there are."""
    any_known = next(iter(filters.values()))
    num_entities, num_relations = any_known.num_entities, any_known.num_relations
    keys, query = torch.unique(given * num_relations + relation, return_inverse=True)
    order = torch.argsort(query, stable=True)  # triples of the same query beside each other
    first = torch.searchsorted(query[order], torch.arange(keys.numel() + 1, device=query.device))
    entity, of_relation = keys // num_relations, keys % num_relations
    answers = [known.by_side[side] for known in filters.values()]
    ranges = [table.of(entity, of_relation) for table in answers]
    found: list[Tensor] = []
    ends = first.tolist()
    for some in _batches(ends, max(1, cells // max(1, num_entities))):
        mine = order[ends[some.start] : ends[some.stop]]
        asked, answer = query[mine], wanted[mine]
        others = [
            _known_others(table.answer, begin[asked], end[asked], answer)
            for table, (begin, end) in zip(answers, ranges, strict=True)
        ]
        for model, any_kind in enumerate(score(entity[some], of_relation[some])):
            scores = any_kind.float()  # [b, N]
            _check(scores, entity[some], num_entities)
            row = (asked - some.start).to(scores.device)
            truth = scores[row, answer.to(scores.device)]
            counts = [*count_scores(scores, row, truth, cells)]
            for triple, other in others:
                counts += _count_known(scores, row, truth, triple.to(scores.device), other.to(scores.device))
            if model == len(found):
                found.append(torch.zeros(len(counts), given.numel(), dtype=torch.long, device=given.device))
            found[model][:, mine] = torch.stack(counts).to(given.device)
    return found or [torch.zeros(2 + 3 * len(filters), 0, dtype=torch.long)]


def _batches(ends: list[int], most: int) -> Iterator[slice]:
    """At most so many queries with at most so many triples, but at least one query; query q has the triples from
    ends[q] to ends[q + 1]."""
    begin = 0
    while begin < len(ends) - 1:
        end = min(bisect_right(ends, ends[begin] + most) - 1, begin + most)
        yield slice(begin, max(end, begin + 1))
        begin = max(end, begin + 1)


def _known_others(answer: Tensor, begin: Tensor, end: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
    """The known answers of each triple's query but its own: [o] the triple, [o] the answer."""
    sizes = end - begin
    triple = torch.repeat_interleave(torch.arange(sizes.numel(), device=sizes.device), sizes)
    within = torch.arange(triple.numel(), device=sizes.device) - (sizes.cumsum(0) - sizes)[triple]
    other = answer[begin[triple] + within]
    kept = other != wanted[triple]
    return triple[kept], other[kept]


def _count_known(scores: Tensor, row: Tensor, truth: Tensor, triple: Tensor, other: Tensor) -> list[Tensor]:
    """Of each triple: known other answers with a higher score, with an equal one, all of them."""
    theirs, own = scores[row[triple], other], truth[triple]
    flags = ((theirs > own).long(), (theirs == own).long(), torch.ones_like(triple))
    return [torch.zeros_like(row).index_add_(0, triple, flag) for flag in flags]


def _check(scores: Tensor, entity: Tensor, num_entities: int) -> None:
    if scores.shape != (entity.numel(), num_entities):
        raise DataError(f"a model gave scores of shape {list(scores.shape)}, not {[entity.numel(), num_entities]}")
    # a sum that is finite is of finite scores, and quicker than to look at each
    if not bool(scores.sum().isfinite()) and not bool(scores.isfinite().all()):
        bad = int((~scores.isfinite()).any(1).nonzero()[0])
        raise DataError(
            f"the scores of entity {int(entity[bad])} hold NaN or infinity",
            remedy="The model has diverged: train it again with a smaller learning_rate.",
        )
