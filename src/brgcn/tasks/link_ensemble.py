"""Two link predictors as one: alpha = beta f(first) + (1 - beta) f(second).

Scores of different models are not on one scale. ``logits`` adds them as they are, ``sigmoid`` what they say of each
triple alone, ``z`` how far above the mean of their query they are, in standard deviations, ``reciprocal`` one over the
rank.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from brgcn.errors import RunError, SettingsError
from brgcn.tasks.known_triples import KnownTriples
from brgcn.tasks.link_folder import LinkFolder
from brgcn.tasks.rank_metrics import summary
from brgcn.tasks.ranking import Scorer, Scorers, rank, rank_each

KINDS = ("logits", "sigmoid", "z", "reciprocal")
PAPER_BETA = 0.4  # of the auto-encoder
BETAS = tuple(step / 20 for step in range(21))


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
        scores = scores.contiguous()
        ascending = scores.sort(-1).values.contiguous()
        at_most = torch.searchsorted(ascending, scores, right=True)  # candidates that score no higher
        return 1 / (scores.size(-1) - at_most + 1).to(scores.dtype)
    raise SettingsError(f"there is no kind of ensemble {kind!r}", remedy=f"Known: {', '.join(KINDS)}.")


class Ensemble:
    """``beta`` is the weight of ``first``."""

    def __init__(self, first: Scores, second: Scores, beta: float = PAPER_BETA, kind: str = "z") -> None:
        if not 0 <= beta <= 1:
            raise SettingsError(f"beta must lie between 0 and 1, not {beta}")
        on_one_scale(torch.zeros(1, 2), kind)  # an unknown kind is said now
        self.first, self.second, self.beta, self.kind = first, second, beta, kind

    def tails(self, head: Tensor, relation: Tensor) -> Tensor:
        return self._mixed(self.first.tails(head, relation), self.second.tails(head, relation))

    def heads(self, tail: Tensor, relation: Tensor) -> Tensor:
        return self._mixed(self.first.heads(tail, relation), self.second.heads(tail, relation))

    def _mixed(self, first: Tensor, second: Tensor) -> Tensor:
        return self.beta * on_one_scale(first, self.kind) + (1 - self.beta) * on_one_scale(second, self.kind)


def tune_beta(
    first: Scores,
    second: Scores,
    kind: str,
    valid: Tensor,
    known: KnownTriples,
    betas: Sequence[float] = BETAS,
) -> tuple[float, dict[float, float]]:
    """The weight with the highest filtered MRR on ``valid``, and the MRR of all; of equal ones the first."""

    def mixed(one: Scorer, other: Scorer) -> Scorers:
        def scores(given: Tensor, relation: Tensor) -> Iterator[Tensor]:
            a, b = on_one_scale(one(given, relation), kind), on_one_scale(other(given, relation), kind)
            return (beta * a + (1 - beta) * b for beta in betas)

        return scores

    ranks = rank_each(valid, mixed(first.tails, second.tails), mixed(first.heads, second.heads), known)
    found = {beta: summary(of_beta)["filtered"]["mrr"] for beta, of_beta in zip(betas, ranks, strict=True)}
    return max(found, key=lambda beta: (found[beta], -beta)), found


def compare_ensembles(
    first: LinkFolder,
    second: LinkFolder,
    *,
    kinds: Sequence[str] = KINDS,
    beta: float = PAPER_BETA,
    run: int = 0,
    device: torch.device | str = "cpu",
) -> dict[str, Any]:
    """Both components, and of each kind an ensemble with ``beta`` and one whose weight validation chose."""
    if first.facts["fingerprint"] != second.facts["fingerprint"]:
        raise RunError(
            f"the two were trained on different data: {first.facts['dataset']} and {second.facts['dataset']}",
            where=str(second.path),
            remedy="Train both on the same data set.",
        )
    one, other = first.scores(run, device), second.scores(run, device)
    graph = first.named_graph.graph
    held = {split: first.triples[split] for split in ("valid", "test") if len(first.triples.get(split, ()))}
    chosen_by = KnownTriples(
        [first.triples["train"], first.triples.get("valid", first.triples["train"][:0])],
        graph.num_nodes,
        graph.num_relations,
    ).to(device)
    known = first.known.to(device)

    def judged(model: Scores) -> dict[str, Any]:
        return {split: summary(rank(table, model.tails, model.heads, known)) for split, table in held.items()}

    components = [
        {"folder": str(folder.path), **{name: folder.facts[name] for name in ("encoder", "decoder")}, **judged(model)}
        for folder, model in ((first, one), (second, other))
    ]
    rows: list[dict[str, Any]] = []
    for kind in kinds:
        rows.append({"kind": kind, "beta": beta, "tuned": False, **judged(Ensemble(one, other, beta, kind))})
        if "valid" in held:
            best, curve = tune_beta(one, other, kind, held["valid"], chosen_by)
            mixed = judged(Ensemble(one, other, best, kind))
            rows.append({"kind": kind, "beta": best, "tuned": True, "curve": curve, **mixed})
    return {"dataset": first.facts["dataset"], "components": components, "ensembles": rows}
