"""Use a trained link predictor: answer queries, export vectors, find neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from brgcn.data.files import atomic_write
from brgcn.data.triples import Columns, open_triples
from brgcn.errors import DataError
from brgcn.tasks.link_folder import LinkFolder
from brgcn.tasks.link_scores import EntityScores
from brgcn.tasks.run_files import write_table, write_text

UNKNOWN = ("", "?")  # what stands for the part of a query that is asked for


@dataclass(frozen=True)
class Query:
    """Names of what is given; the one part that is None is asked for."""

    head: str | None
    relation: str | None
    tail: str | None

    @classmethod
    def of(cls, head: str | None, relation: str | None, tail: str | None) -> Query:
        parts = [None if part is None or part.strip() in UNKNOWN else part.strip() for part in (head, relation, tail)]
        if parts.count(None) != 1:
            said = "nothing is asked for" if None not in parts else "two of head, relation and tail must be given"
            remedy = "Give two, and the third is predicted: --head H --relation R, --relation R --tail T, or both ends."
            raise DataError(said, remedy=remedy)
        return cls(*parts)

    @property
    def asked(self) -> str:
        return next(part for part in ("head", "relation", "tail") if getattr(self, part) is None)


def read_queries(path: Path, columns: Columns | None = None) -> list[Query]:
    """A table of head, relation and tail, one of the three empty or ``?`` in each line."""
    rows, (head, relation, tail) = open_triples(path, columns)
    found = []
    for number, cells in rows:
        try:
            found.append(Query.of(cells[head], cells[relation], cells[tail]))
        except DataError as error:
            where = f"{path}, line {number}"
            raise DataError(error.message, where=where, remedy="Write ? for the one that is asked for.") from None
    if not found:
        raise DataError("the table holds no query", where=str(path), remedy="Write head, relation and tail, one as ?.")
    return found


class LinkPredictor:
    """The finished runs of a folder, or one of them. A candidate's probability is the softmax of its score among all
    candidates, the mean over the runs."""

    def __init__(self, folder: LinkFolder, run: int | None = None) -> None:
        self.folder, self.named = folder, folder.named_graph
        runs = folder.usable_runs() if run is None else [run]
        self.scores: list[EntityScores] = [folder.scores(number) for number in runs]
        self._relations = {name: number for number, name in enumerate(self.named.relation_names)}

    def answer(self, query: Query, top: int = 10) -> list[dict[str, Any]]:
        """The ``top`` most probable candidates, the best first; ``known`` names the split that holds the triple."""
        head, tail = (None if name is None else self._entity(name) for name in (query.head, query.tail))
        relation = None if query.relation is None else self._relation(query.relation)
        probability = self._probability(head, relation, tail)
        best = probability.topk(min(top, probability.numel()))
        rows: list[dict[str, Any]] = []
        for value, found in zip(best.values.tolist(), best.indices.tolist(), strict=True):
            triple = (
                found if head is None else head,
                found if relation is None else relation,
                found if tail is None else tail,
            )
            names = (
                self.named.node_names[triple[0]],
                self.named.relation_names[triple[1]],
                self.named.node_names[triple[2]],
            )
            rows.append(
                {
                    "rank": len(rows) + 1,
                    "head": names[0],
                    "relation": names[1],
                    "tail": names[2],
                    "probability": value,
                    "known": self._known(triple),
                    **self._label(triple[0], "head_label"),
                    **self._label(triple[2], "tail_label"),
                }
            )
        return rows

    def _probability(self, head: int | None, relation: int | None, tail: int | None) -> Tensor:
        """[candidates]"""

        def one(number: int) -> Tensor:
            return torch.tensor([number])

        parts = []
        for scores in self.scores:
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
        return torch.stack(parts).mean(0)

    def _known(self, triple: tuple[int, int, int]) -> str | None:
        wanted = torch.tensor(triple)
        for split, triples in self.folder.triples.items():
            if bool((triples == wanted).all(1).any()):
                return split
        return None

    def _entity(self, name: str) -> int:
        found = int(self.named.find_nodes([name])[0])
        if found < 0:
            near = _near(name, (self.named.node_names[node] for node in range(len(self.named.node_names))))
            raise DataError(f"there is no entity {name!r}{near}", remedy="Names are as in the training triples.")
        return found

    def _relation(self, name: str) -> int:
        name = name.removeprefix("<").removesuffix(">") if name not in self._relations else name
        if name not in self._relations:
            near = _near(name, self._relations)
            raise DataError(
                f"there is no relation {name!r}{near}",
                remedy="Names are as in the training triples (brgcn data inspect lists them).",
            )
        return self._relations[name]

    def neighbours(self, entity: str, top: int = 10) -> list[dict[str, Any]]:
        """Entities whose vectors point the same way, by cosine (the mean over the runs)."""
        node = self._entity(entity)
        total = torch.zeros(len(self.named.node_names), dtype=torch.double)
        for scores in self.scores:
            unit = torch.nn.functional.normalize(scores.entities.double(), dim=-1)
            total += unit @ unit[node] / len(self.scores)
        total[node] = -2  # itself
        best = total.topk(min(top, total.numel() - 1))
        pairs = zip(best.values.tolist(), best.indices.tolist(), strict=True)
        return [
            {"rank": rank, "entity": self.named.node_names[found], **self._label(found), "cosine": value}
            for rank, (value, found) in enumerate(pairs, 1)
        ]

    def _label(self, entity: int, key: str = "label") -> dict[str, str]:
        """The readable name, where the data have any."""
        readable = self.folder.display_names
        return {key: readable.get(entity, "")} if readable else {}


def export_vectors(folder: LinkFolder, out: Path, run: int = 0, kind: str = "tsv") -> list[Path]:
    """Vectors of entities (as the decoder sees them) and relations, by name: ``tsv`` (name, numbers), or ``npy`` with
    the names in a text file beside it. A reciprocal relation is named "inverse of" its relation."""
    if kind not in ("tsv", "npy"):
        raise DataError(f"there is no format {kind!r}", remedy="Known: tsv, npy.")
    scores, named = folder.scores(run), folder.named_graph
    relations = list(named.relation_names)
    if folder.settings.reciprocal:
        relations += [f"inverse of {name}" for name in named.relation_names]
    entities = [named.node_names[node] for node in range(len(named.node_names))]
    out.mkdir(parents=True, exist_ok=True)
    written = []
    for what, names, vectors in (("entities", entities, scores.entities), ("relations", relations, scores.relations)):
        matrix = vectors.detach().cpu().numpy()
        path = out / f"{what}.{kind}"
        if kind == "tsv":
            header = ["name", *(f"v{place}" for place in range(matrix.shape[1]))]
            write_table(
                path, header, ([name, *map(repr, row)] for name, row in zip(names, matrix.tolist(), strict=True))
            )
        else:
            with atomic_write(path) as beside, beside.open("wb") as stream:
                np.save(stream, matrix, allow_pickle=False)
            written.append(out / f"{what}.txt")
            write_text(written[-1], "".join(f"{' '.join(name.splitlines())}\n" for name in names))
        written.append(path)
    return written


def _near(name: str, known: Any) -> str:
    import difflib

    near: Sequence[str] = difflib.get_close_matches(name, list(known)[:100_000], n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else ""
