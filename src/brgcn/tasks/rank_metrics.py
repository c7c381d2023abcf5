"""What ranks say: means and hits, against chance, by side, by relation and by cardinality."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from brgcn.errors import DataError
from brgcn.tasks.ranking import Ranks

SETTINGS = ("raw", "filtered")
TIES = ("optimistic", "realistic", "pessimistic")
HITS = (1, 3, 10)
CARDINALITIES = ("1-1", "1-N", "N-1", "N-N")
MANY = 1.5  # a relation is "to many" if a head that it has leads to more tails than this, on average


def summary(
    ranks: Ranks, chosen: Tensor | None = None, settings: Sequence[str] = SETTINGS
) -> dict[str, dict[str, float]]:
    """Measures of the chosen rows (all), raw and filtered; ties are realistic unless the name says otherwise."""
    chosen = torch.ones_like(ranks.is_head) if chosen is None else chosen
    return {setting: _measures(ranks, setting, chosen) for setting in settings}


def breakdown(ranks: Ranks, train: Tensor, num_relations: int) -> dict[str, Any]:
    """By side, by cardinality of the relation in the training triples, by relation; what has no rows is absent."""
    cardinality = cardinalities(train, num_relations)
    kinds = cardinality[ranks.relation]
    parts: dict[str, Any] = {"side": {}, "cardinality": {}, "relation": {}}
    for name, mine in (("head", ranks.is_head), ("tail", ~ranks.is_head)):
        parts["side"][name] = summary(ranks, mine)
        for number, kind in enumerate(CARDINALITIES):
            both = mine & (kinds == number)
            if bool(both.any()):
                parts["cardinality"].setdefault(kind, {})[name] = summary(ranks, both)
    for relation in torch.unique(ranks.relation).tolist():
        parts["relation"][relation] = summary(ranks, ranks.relation == relation)
    return parts


def cardinalities(triples: Tensor, num_relations: int) -> Tensor:
    """[relations] places in ``CARDINALITIES``; a relation without triples is 1-1."""
    head, relation, tail = torch.unique(triples.long(), dim=0).unbind(1)
    edges = torch.bincount(relation, minlength=num_relations).double()

    def per(end: Tensor) -> Tensor:
        """[relations] triples for each distinct entity at this end."""
        distinct = torch.unique(torch.stack([relation, end], dim=1), dim=0)[:, 0]
        return edges / torch.bincount(distinct, minlength=num_relations).clamp(min=1)

    heads_many, tails_many = per(tail) >= MANY, per(head) >= MANY
    return 2 * heads_many.long() + tails_many.long()


def check_row(row: dict[str, float], num_candidates: float, rounding: float = 0.0, step: float = 1.0) -> None:
    """Refuse a row whose MRR cannot come with its hits: every rank in a bracket is at best its first, at worst its
    last. ``rounding``: how far printed figures may be from what they stand for; ``step``: from one rank to the next."""
    h1, h3, h10, mrr = row["hits@1"], row["hits@3"], row["hits@10"], row["mrr"]
    low = h1 + (h3 - h1) / 3 + (h10 - h3) / 10 + (1 - h10) / max(num_candidates, 1)
    high = h1 + (h3 - h1) / (1 + step) + (h10 - h3) / (3 + step) + (1 - h10) / (10 + step)
    slack = 1e-9 + 2 * rounding
    if not (h1 <= h3 <= h10 <= 1 and low - slack <= mrr <= high + slack):
        raise DataError(f"an MRR of {mrr:.4f} is impossible with hits of {h1:.4f}, {h3:.4f}, {h10:.4f}")


def _measures(ranks: Ranks, setting: str, chosen: Tensor) -> dict[str, float]:
    measures: dict[str, float] = {"n": int(chosen.sum())}
    if not measures["n"]:
        return measures
    for ties in TIES:
        of_ties, suffix = ranks.of(setting, ties)[chosen], _suffix(ties)
        measures[f"mrr{suffix}"] = float((1 / of_ties).mean())
        measures[f"mr{suffix}"] = float(of_ties.mean())
        for k in HITS:
            measures[f"hits@{k}{suffix}"] = float((of_ties <= k).double().mean())
    by_chance = float(((ranks.candidates[setting][chosen].double() + 1) / 2).mean())
    # 1: every rank is the first; 0: as good as chance
    measures["amri"] = 1 - (measures["mr"] - 1) / (by_chance - 1) if by_chance > 1 else 0.0
    check_measures(measures, int(ranks.candidates[setting].max()))
    return measures


def check_measures(measures: dict[str, float], num_candidates: float = float("inf")) -> None:
    """``check_row`` for each way to count ties."""
    for ties in TIES:
        row = {name: measures[f"{name}{_suffix(ties)}"] for name in ("mrr", *(f"hits@{k}" for k in HITS))}
        check_row(row, num_candidates, step=0.5 if ties == "realistic" else 1.0)  # realistic: between two places


def _suffix(ties: str) -> str:
    return "" if ties == "realistic" else f" {ties}"
