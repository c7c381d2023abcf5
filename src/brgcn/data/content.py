"""What a data set says, whatever file says it: counts and an order-independent digest of its content.

Two folders with the same digest hold the same graph and the same splits, be they N-Triples or RDF/XML, plain or
compressed, in any order of lines, with any labels of blank nodes. So a download from a place whose files have no known
sha256 can still be proven right before it is used.
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from brgcn.data.catalogue import Entry
from brgcn.data.files import kind_of, open_binary
from brgcn.errors import DataError

Triple = tuple[str, str, str]

_TRAILING_ZEROS = re.compile(
    r'^("[+-]?\d+\.\d+?)0+("\^\^<http://www\.w3\.org/2001/XMLSchema#(?:double|decimal|float)>)$'
)
# A compressed file could unfold into anything; no source of a known data set has reason to be this much larger.
_MOST_TIMES_EXPECTED = 4
_REFINEMENT_ROUNDS = 4


@dataclass(frozen=True)
class Content:
    """``digest`` is None when it was not asked for."""

    counts: dict[str, int]
    digest: str | None


def read_content(entry: Entry, folder: Path, *, with_digest: bool = True) -> Content:
    """Read the entry's files in ``folder`` completely, count, and digest."""
    lines: list[str] = []
    if entry.task == "links":
        counts = _read_triple_splits(entry, folder, lines)
    else:
        counts = _read_graph(entry, folder, lines, keep_lines=with_digest)
        counts |= _read_labels(entry, folder, lines)
    return Content(counts, digest_of_lines(lines) if with_digest else None)


def digest_of_lines(lines: Iterable[str]) -> str:
    """sha256 over the sorted lines."""
    digest = hashlib.sha256()
    for line in sorted(lines):
        digest.update(line.encode() + b"\n")
    return digest.hexdigest()


def rdf_triples(path: Path, drop_relations: Iterable[str] = ()) -> Iterator[Triple]:
    """The statements of an RDF file as N-Triples terms, doubles written canonically (no zeros at the end).

    The format is taken from the file's name (``.owl`` and ``.rdf`` are RDF/XML); gzip is recognised by its first bytes.
    """
    from pyoxigraph import RdfFormat, parse

    drop = {f"<{relation}>" for relation in drop_relations}
    kind = kind_of(path)
    rdf_format = RdfFormat.RDF_XML if kind == ".owl" else RdfFormat.from_extension(kind.lstrip("."))
    with open_binary(path) as file:
        try:
            for statement in parse(file, rdf_format, lenient=True):
                relation = str(statement.predicate)
                if relation not in drop:
                    yield str(statement.subject), relation, canonical_number(str(statement.object))
        except SyntaxError as error:
            raise DataError(f"not readable as RDF ({error})", where=str(path)) from error


def canonical_number(term: str) -> str:
    """``"-0.0060"^^xsd:double`` is ``"-0.006"^^xsd:double``; every other term is itself."""
    if term[0] != '"':
        return term
    return _TRAILING_ZEROS.sub(r"\1\2", term)


def split_triples(path: Path) -> Iterator[Triple]:
    """The rows ``head<TAB>relation<TAB>tail`` of a table without header."""
    for number, line in enumerate(_text_lines(path), start=1):
        parts = line.rstrip("\r\n").split("\t")
        if parts == [""]:
            continue
        if len(parts) != 3:
            raise DataError(f"{len(parts)} columns instead of head, relation, tail", where=f"{path}, line {number}")
        yield parts[0], parts[1], parts[2]


def _read_triple_splits(entry: Entry, folder: Path, lines: list[str]) -> dict[str, int]:
    entities: set[str] = set()
    relations: set[str] = set()
    counts: dict[str, int] = {}
    for split, file in entry.split_files.items():
        count = 0
        for head, relation, tail in split_triples(folder / file):
            entities.update((head, tail))
            relations.add(relation)
            lines.append(f"{split}\t{head}\t{relation}\t{tail}")
            count += 1
            _stop_if_too_many(count, entry.expected.get(split), folder / file)
        counts[split] = count
    return {"entities": len(entities), "relations": len(relations), **counts}


def _read_graph(entry: Entry, folder: Path, lines: list[str], *, keep_lines: bool) -> dict[str, int]:
    assert entry.graph_file is not None
    path = folder / entry.graph_file
    triples: set[Triple] = set()
    nodes: set[str] = set()
    relations: set[str] = set()
    for triple in rdf_triples(path, entry.drop_relations):
        triples.add(triple)
        nodes.update((triple[0], triple[2]))
        relations.add(triple[1])
        _stop_if_too_many(len(triples), entry.expected.get("edges"), path)
    if keep_lines:
        lines.extend(f"graph\t{s} {p} {o} ." for s, p, o in _with_canonical_blank_nodes(triples))
    return {
        "nodes": len(nodes),
        "relations": len(relations),
        "edges": len(triples),
        "literals": sum(node[0] == '"' for node in nodes),
    }


def _read_labels(entry: Entry, folder: Path, lines: list[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    classes: set[str] = set()
    files = entry.split_files or {"labelled": entry.labels_file or ""}
    for split, file in files.items():
        table = csv.DictReader(_text_lines(folder / file), delimiter="\t")
        rows = [(row.get(entry.node_column or ""), row.get(entry.label_column or "")) for row in table]
        if any(node is None or label is None for node, label in rows):
            raise DataError(
                f"no columns {entry.node_column!r} and {entry.label_column!r} in every row", where=str(folder / file)
            )
        lines.extend(f"{split}\t{node}\t{label}" for node, label in rows)
        classes.update(str(label) for _, label in rows)
        counts[split] = len(rows)
    return counts | {"classes": len(classes)}


def _with_canonical_blank_nodes(triples: set[Triple]) -> Iterator[Triple]:
    """Name each blank node by what is said about it, so that its label in the file does not matter.

    A few rounds of colour refinement: the name of a blank node is a hash of its statements, in which other blank nodes
    stand with their names of the round before. Nodes that remain alike keep equal names; the digest is then of the
    graph up to these rounds, which is enough to notice any loss or damage.
    """
    touching = [t for t in triples if t[0].startswith("_:") or t[2].startswith("_:")]
    if not touching:
        yield from triples
        return
    colour = {term: "_:" for s, _, o in touching for term in (s, o) if term.startswith("_:")}
    for _ in range(_REFINEMENT_ROUNDS):
        said: dict[str, list[str]] = {blank: [] for blank in colour}
        for s, p, o in touching:
            if s in said:
                said[s].append(f"> {p} {colour.get(o, o)}")
            if o in said:
                said[o].append(f"< {p} {colour.get(s, s)}")
        colour = {
            blank: "_:" + hashlib.sha256("\n".join(sorted(facts)).encode()).hexdigest()[:32]
            for blank, facts in said.items()
        }
    for s, p, o in triples:
        yield colour.get(s, s), p, colour.get(o, o)


def _text_lines(path: Path) -> Iterator[str]:
    with open_binary(path) as file:
        for number, line in enumerate(file, start=1):
            try:
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise DataError("this is not UTF-8 text", where=f"{path}, line {number}") from error


def _stop_if_too_many(count: int, expected: int | None, path: Path) -> None:
    if expected is not None and count > _MOST_TIMES_EXPECTED * expected:
        raise DataError(f"more than {_MOST_TIMES_EXPECTED} times the {expected:,} rows expected", where=str(path))
