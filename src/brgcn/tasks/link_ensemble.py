"""Two link predictors as one: alpha = beta f(first) + (1 - beta) f(second).

Scores of different models are not on one scale. ``logits`` adds them as they are, ``sigmoid`` what they say of each
triple alone, ``z`` how far above the mean of their query they are, in standard deviations, ``reciprocal`` one over the
rank.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from brgcn.errors import RunError, SettingsError
from brgcn.tasks.known_triples import KnownTriples, ranking_facts
from brgcn.tasks.link_folder import LinkFolder
from brgcn.tasks.rank_metrics import summary
from brgcn.tasks.ranking import Ranks, Scorer, Scorers, rank_each
from brgcn.tasks.rules import judge_rules

KINDS = ("logits", "sigmoid", "z", "reciprocal")
PAPER_BETA = 0.4  # of the auto-encoder
BETAS = tuple(step / 20 for step in range(21))
CELLS = {"cpu": 1 << 19}  # scores of many mixtures are made and counted while they are in the cache
_CHOICE = "choice"  # the filter that a weight is chosen with


class Scores(Protocol):
    """What the ranking asks for."""

    def tails(self, head: Tensor, relation: Tensor) -> Tensor: ...
    def heads(self, tail: Tensor, relation: Tensor) -> Tensor: ...


def on_one_scale(scores: Tensor, kind: str) -> Tensor:
    """[b, N] of queries -> the same, comparable between models."""
    if kind == "logits":
        return scores
    if kind == "sigmoid":
        return scores.sigmoid()
    if kind == "z":
        return (scores - scores.mean(-1, keepdim=True)) / scores.std(-1, keepdim=True).clamp(min=1e-12)
    if kind == "reciprocal":
        falling, order = scores.sort(-1, descending=True)
        place = torch.arange(scores.size(-1), device=scores.device).expand_as(order).clone()  # how many score no lower
        place[:, 1:].masked_fill_(falling[:, 1:] == falling[:, :-1], 0)
        higher = place.cummax(-1).values  # equal scores have the place of the first of them
        return torch.empty_like(scores).scatter_(-1, order, 1 / (1 + higher).to(scores.dtype))
    raise SettingsError(f"there is no kind of ensemble {kind!r}", remedy=f"Known: {', '.join(KINDS)}.")


class Mixture(NamedTuple):
    """``beta`` is the weight of the first model."""

    kind: str
    beta: float


def rank_mixtures(
    first: Scores,
    second: Scores,
    mixtures: Sequence[Mixture],
    triples: Tensor,
    filters: Mapping[str, KnownTriples],
) -> list[Ranks]:
    """Ranks of the first model, of the second, of each mixture. Each query is scored once by each model, and brought on
    each scale once."""
    for kind, beta in mixtures:
        on_one_scale(torch.zeros(1, 2), kind)  # an unknown kind is said now
        if not 0 <= beta <= 1:
            raise SettingsError(f"beta must lie between 0 and 1, not {beta}")

    def together(one: Scorer, other: Scorer) -> Scorers:
        def scores(given: Tensor, relation: Tensor) -> Iterator[Tensor]:
            both = one(given, relation), other(given, relation)
            yield from both
            for kind, same in groupby(mixtures, key=lambda mixture: mixture.kind):
                a, b = (on_one_scale(alone, kind) for alone in both)
                for _, beta in same:
                    yield torch.lerp(b, a, beta)

        return scores

    cells = CELLS.get(next(iter(filters.values())).device.type)
    return rank_each(
        triples, together(first.tails, second.tails), together(first.heads, second.heads), filters, cells=cells
    )


def compare_ensembles(
    first: LinkFolder,
    second: LinkFolder,
    *,
    kinds: Sequence[str] = KINDS,
    beta: float = PAPER_BETA,
    run: int = 0,
    second_run: int | None = None,
    device: torch.device | str = "cpu",
) -> dict[str, Any]:
    """Both components and the baseline of rules; of each kind an ensemble with ``beta`` and one whose weight was
    chosen on validation triples. ``second_run``, if another one than ``run``, is the run of the second."""
    if first.facts["fingerprint"] != second.facts["fingerprint"]:
        raise RunError(
            f"the two were trained on different data: {first.facts['dataset']} and {second.facts['dataset']}",
            where=str(second.path),
            remedy="Train both on the same data set.",
        )
    models = first.scores(run, device), second.scores(run if second_run is None else second_run, device)
    known = {"filtered": first.known.to(device)}
    held = {split: first.triples[split] for split in ("valid", "test") if len(first.triples.get(split, ()))}
    components: list[dict[str, Any]] = [
        {"folder": str(folder.path), **{name: folder.facts[name] for name in ("encoder", "decoder")}}
        for folder in (first, second)
    ]
    fixed = [Mixture(kind, beta) for kind in kinds]
    rows: list[dict[str, Any]] = [{**mixture._asdict(), "tuned": False} for mixture in fixed]
    mixtures = fixed
    if "valid" in held:
        # the weight is chosen with the filter of train and valid, so that it has seen nothing of test
        filters = {**known, _CHOICE: _known_to_choice(first).to(device)}
        grid = [Mixture(kind, weight) for kind in kinds for weight in BETAS]
        valid = iter(rank_mixtures(*models, [*fixed, *grid], held["valid"], filters))
        for row in (*components, *rows):
            row["valid"] = summary(next(valid))
        found = dict(zip(grid, valid, strict=True))
        for kind in kinds:
            curve = {m.beta: summary(found[m], settings=[_CHOICE])[_CHOICE]["mrr"] for m in grid if m.kind == kind}
            best = Mixture(kind, max(curve, key=lambda weight: (curve[weight], -weight)))  # of equal ones the first
            mixtures = [*mixtures, best]
            rows.append({**best._asdict(), "tuned": True, "curve": curve, "valid": summary(found[best])})
    if "test" in held:
        test = rank_mixtures(*models, mixtures, held["test"], known)
        for row, ranks in zip((*components, *rows), test, strict=True):
            row["test"] = summary(ranks)
    rows.sort(key=lambda row: (kinds.index(row["kind"]), row["tuned"]))
    return {
        "dataset": first.facts["dataset"],
        "components": components,
        "rules": judge_rules(first.triples, first.known),
        "ensembles": rows,
        **ranking_facts(first.triples, first.named_graph.graph.num_nodes),
    }


def _known_to_choice(folder: LinkFolder) -> KnownTriples:
    graph = folder.named_graph.graph
    splits = [folder.triples[split] for split in ("train", "valid")]
    return KnownTriples(splits, graph.num_nodes, graph.num_relations)
