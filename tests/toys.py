"""A small labelled RDF graph that can be learned: people like things of one of three kinds, and work in places."""

from __future__ import annotations

import random
from pathlib import Path

EX = "http://example.org/"
KINDS = ("red", "green", "blue")


def toy_triples(people: int = 60, seed: int = 0) -> list[str]:
    rng = random.Random(seed)
    lines = []
    for person in range(people):
        kind = KINDS[person % 3]
        for _ in range(3):
            lines.append(f"<{EX}p{person}> <{EX}likes> <{EX}{kind}{rng.randrange(4)}> .")
        lines.append(f"<{EX}p{person}> <{EX}worksAt> <{EX}place{rng.randrange(5)}> .")
        lines.append(
            f'<{EX}p{person}> <{EX}age> "{20 + rng.randrange(40)}"^^<http://www.w3.org/2001/XMLSchema#integer> .'
        )
        lines.append(f"<{EX}p{person}> <{EX}favourite> <{EX}{kind}> .")
    return sorted(set(lines))


def toy_folder(folder: Path, people: int = 60) -> Path:
    """graph.nt, trainingSet.tsv and testSet.tsv; the relation ``favourite`` gives the label away."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "graph.nt").write_text("\n".join(toy_triples(people)) + "\n")
    rows = [f"{EX}p{person}\t{KINDS[person % 3]}" for person in range(people)]
    cut = people * 2 // 3
    (folder / "trainingSet.tsv").write_text("\n".join(["person\tlabel_kind", *rows[:cut]]) + "\n")
    (folder / "testSet.tsv").write_text("\n".join(["person\tlabel_kind", *rows[cut:]]) + "\n")
    return folder
