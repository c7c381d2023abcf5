"""Link prediction in Python: fit, predict, score, neighbours."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from brgcn.config import update
from brgcn.data import Dataset, NamedGraph
from brgcn.data.display_names import display_names
from brgcn.errors import BrgcnError, DataError, did_you_mean
from brgcn.tasks.device import pick_device
from brgcn.tasks.known_triples import KnownTriples
from brgcn.tasks.link_folder import LinkFolder
from brgcn.tasks.link_presets import link_settings
from brgcn.tasks.link_runs import check_links, mean_measures
from brgcn.tasks.link_scores import EntityScores
from brgcn.tasks.link_settings import LinkSettings, without_effect
from brgcn.tasks.link_trainer import LinkTrainer
from brgcn.tasks.link_use import Query
from brgcn.tasks.rank_metrics import summary
from brgcn.tasks.ranking import rank


class LinkPredictor:
    """Predicts the missing part of a triple.

    >>> predictor = LinkPredictor(encoder="brgcn", decoder="complex", seed=0)
    >>> predictor.fit(data)                                        # a Dataset with training triples
    >>> predictor.predict(head="berlin", relation="capital_of", top=3)
    >>> predictor.score(data.triples["test"])["filtered"]["mrr"]
    >>> LinkPredictor.load("runs/fb15k-237")                       # what ``brgcn train`` wrote

    All settings of ``LinkSettings`` are keyword arguments. What they leave open is as in ``brgcn train``: ``regime``
    (``modern``, ``paper``, ``rgcn-reference``) has settings for the encoder, the decoder, the data set by its name and
    the machine; None: the defaults of ``LinkSettings``, which nobody has tuned.

    ``settings`` are those for a data set that the regime has not heard of, and after ``fit`` those that were trained
    with. Also after ``fit``: ``history_`` (a record per epoch) and ``scores_`` (one for each run that it speaks for).
    """

    def __init__(self, *, regime: str | None = "modern", seed: int = 0, device: str = "auto", **settings: Any) -> None:
        self.regime, self.seed, self.device = regime, seed, device
        self._given = settings
        self._base = LinkSettings()  # of no regime
        self.settings = self._settings_for("data of your own", "cpu")
        self.scores_: list[EntityScores] = []
        self.history_: list[dict[str, Any]] = []

    def fit(self, data: Dataset, on_epoch: Callable[[dict[str, Any]], None] | None = None) -> LinkPredictor:
        """Train on the triples of its split ``train``; those of ``valid``, if any, choose the epoch. ``on_epoch``, such
        as ``print``, is called with a record of each."""
        check_links(data)
        device = pick_device(self.device)
        self.settings = self._settings_for(data.name, device.type)
        for text in without_effect(self.settings, self._given):
            warnings.warn(text, stacklevel=2)
        self._speak_of(data.named_graph, data.triples, display_names(data.named_graph, data.folder))
        trainer = LinkTrainer(
            data.graph,
            data.triples["train"],
            self.settings,
            self.seed,
            valid=data.triples.get("valid"),
            device=device,
        )
        self.history_ = []
        for record in trainer.epochs():
            self.history_.append(record)
            if on_epoch is not None:
                on_epoch(record)
        self.scores_ = [EntityScores(trainer.trained(), trainer.graph)]
        return self

    def _settings_for(self, dataset: str, device: str) -> LinkSettings:
        """Those of the regime, with what was given put in."""
        base = self._base
        if self.regime is not None:
            model = {name: self._given.get(name, getattr(base, name)) for name in ("encoder", "decoder")}
            base = link_settings(**model, dataset=dataset, regime=self.regime, device=device)
        return update(base, self._given, "LinkPredictor")

    @classmethod
    def load(cls, folder: str | Path, run: int | None = None, device: str = "cpu") -> LinkPredictor:
        """The finished runs of a folder, or one of them."""
        opened = LinkFolder.open(Path(folder))
        predictor = cls(regime=None, device=device)
        predictor.settings = predictor._base = opened.settings
        predictor._speak_of(opened.named_graph, opened.triples, opened.display_names)
        place = pick_device(device)
        runs = opened.usable_runs() if run is None else [run]
        predictor.scores_ = [opened.scores(number, place) for number in runs]
        return predictor

    def _speak_of(self, named: NamedGraph, triples: dict[str, Tensor], readable: dict[int, str]) -> None:
        self._named, self._triples, self._readable = named, triples, readable
        self._relations = {name: number for number, name in enumerate(named.relation_names)}
        self.__dict__.pop("_split_of", None)  # of the data before

    def _fitted(self) -> list[EntityScores]:
        if not self.scores_:
            raise BrgcnError("this LinkPredictor has not been fitted", remedy="Call fit(data) first.")
        return self.scores_

    def score(self, triples: Tensor) -> dict[str, dict[str, float]]:
        """Measures of both sides of ``triples`` [n, 3], raw and filtered by these and all triples of the data; the
        mean over the runs."""
        fitted = self._fitted()
        graph = self._named.graph
        known = KnownTriples([*self._triples.values(), triples], graph.num_nodes, graph.num_relations)
        known = known.to(fitted[0].entities.device)
        return mean_measures([summary(rank(triples, scores.tails, scores.heads, known)) for scores in fitted])

    def predict(
        self, *, head: str | None = None, relation: str | None = None, tail: str | None = None, top: int = 10
    ) -> list[dict[str, Any]]:
        """The ``top`` most probable candidates for the part that is not given, the best first.

        A candidate's probability is the softmax of its score among all candidates, the mean over the runs; ``known``
        names the split that holds the triple.
        """
        query, fitted = Query.of(head, relation, tail), self._fitted()
        given = (
            None if query.head is None else self._entity(query.head),
            None if query.relation is None else self._relation(query.relation),
            None if query.tail is None else self._entity(query.tail),
        )
        probability = _probability(fitted, *given)
        best = probability.topk(min(top, probability.numel()))
        rows: list[dict[str, Any]] = []
        for value, found in zip(best.values.tolist(), best.indices.tolist(), strict=True):
            h, r, t = (found if part is None else part for part in given)
            rows.append(
                {
                    "rank": len(rows) + 1,
                    "head": self._named.node_names[h],
                    "relation": self._named.relation_names[r],
                    "tail": self._named.node_names[t],
                    "probability": value,
                    "known": self._split_of.get((h, r, t)),
                    **self._label(h, "head_label"),
                    **self._label(t, "tail_label"),
                }
            )
        return rows

    @cached_property
    def _split_of(self) -> dict[tuple[int, ...], str]:
        """Known triple -> the first split that holds it."""
        return {tuple(row): split for split, table in reversed(self._triples.items()) for row in table.tolist()}

    def _entity(self, name: str) -> int:
        found = int(self._named.find_nodes([name])[0])
        if found < 0:
            near = did_you_mean(name, self._named.node_names)
            raise DataError(f"there is no entity {name!r}{near}", remedy="Names are as in the training triples.")
        return found

    def _relation(self, name: str) -> int:
        name = name.removeprefix("<").removesuffix(">") if name not in self._relations else name
        if name not in self._relations:
            near = did_you_mean(name, self._relations)
            raise DataError(
                f"there is no relation {name!r}{near}",
                remedy="Names are as in the training triples (brgcn data inspect lists them).",
            )
        return self._relations[name]

    def neighbours(self, entity: str, top: int = 10) -> list[dict[str, Any]]:
        """Entities whose vectors point the same way, by cosine (the mean over the runs)."""
        fitted, node = self._fitted(), self._entity(entity)
        total = torch.zeros(len(self._named.node_names), dtype=torch.double)
        for scores in fitted:
            unit = torch.nn.functional.normalize(scores.entities.double(), dim=-1)
            total += (unit @ unit[node]).cpu() / len(fitted)
        total[node] = -2  # itself
        best = total.topk(min(top, total.numel() - 1))
        pairs = zip(best.values.tolist(), best.indices.tolist(), strict=True)
        return [
            {"rank": rank, "entity": self._named.node_names[found], **self._label(found), "cosine": value}
            for rank, (value, found) in enumerate(pairs, 1)
        ]

    def _label(self, entity: int, key: str = "label") -> dict[str, str]:
        """The readable name, where the data have any."""
        return {key: self._readable.get(entity, "")} if self._readable else {}


def _probability(fitted: list[EntityScores], head: int | None, relation: int | None, tail: int | None) -> Tensor:
    """[candidates]"""

    def one(number: int) -> Tensor:
        return torch.tensor([number])

    parts = []
    for scores in fitted:
        if tail is None:
            assert head is not None
            assert relation is not None
            logits = scores.tails(one(head), one(relation))
        elif head is None:
            assert relation is not None
            logits = scores.heads(one(tail), one(relation))
        else:
            logits = scores.relations_between(one(head), one(tail))
        parts.append(logits[0].double().softmax(-1))
    return torch.stack(parts).mean(0).cpu()
