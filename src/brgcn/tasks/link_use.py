"""Queries of links as people write them, and vectors for use elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from brgcn.data.files import atomic_write
from brgcn.errors import DataError
from brgcn.tasks.link_folder import LinkFolder
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
