"""RDF files: N-Triples, N-Quads, Turtle and RDF/XML, plain or gzip, read as a stream."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.parsers import expat

import torch
from torch import Tensor

from brgcn.data.files import kind_of, open_binary
from brgcn.data.named_graph import NamedGraph, first_occurrences
from brgcn.errors import DataError

# Extension -> name of the format in pyoxigraph.RdfFormat.
RDF_FORMATS = {
    ".nt": "N_TRIPLES",
    ".nq": "N_QUADS",
    ".ttl": "TURTLE",
    ".rdf": "RDF_XML",
    ".owl": "RDF_XML",
    ".xml": "RDF_XML",
}
_MAY_HAVE_RELATIVE_IRIS = ("TURTLE", "RDF_XML")
# The parser gives nodes without a label random ones of this form; they are numbered instead, so that two readings
# agree. Labels of the file that look like either form are numbered too, so the two cannot be confused.
_UNNAMED_BLANK = re.compile(r"[a-f][0-9a-f]{15,31}|unnamed-\d+")
_POSITION = re.compile(r"^Parser error at line \d+ (between columns \d+ and \d+|column \d+): ")


@dataclass(frozen=True, eq=False)
class RdfContent:
    """The distinct triples of a file. Nodes and relations are numbered by first appearance."""

    node_names: list[str]
    relation_names: list[str]
    triples: Tensor  # [n, 3] head, relation, tail
    dropped: frozenset[str]  # those of the relations to be dropped that occurred
    warnings: tuple[str, ...]

    def named_graph(self) -> NamedGraph:
        return NamedGraph.from_triples(self.node_names, self.relation_names, self.triples, rdf=True)


def is_rdf(path: Path) -> bool:
    """Whether the name ends like that of an RDF file."""
    return kind_of(path) in RDF_FORMATS


def read_rdf(path: Path, drop_relations: Sequence[str] = (), *, progress: bool = False) -> RdfContent:
    """Read a file without the triples of ``drop_relations`` (IRIs).

    A node that occurs in dropped triples alone does not exist. RDF is a set: a repeated triple counts once, and the
    graph names of N-Quads are left aside.
    """
    where = str(path)
    format_name = _format_of(path)
    if format_name == "RDF_XML":
        _check_xml(path)
    nodes: dict[Any, int] = {}
    relations: dict[Any, int] = {}
    dropped: set[str] = set()
    wanted_away = {relation.strip("<>") for relation in drop_relations}
    numbers = array("q")
    for head, predicate, tail in _terms(path, format_name, progress):
        relation = relations.get(predicate)
        if relation is None:
            if predicate.value in wanted_away:
                dropped.add(predicate.value)
                continue
            relation = relations[predicate] = len(relations)
        numbers.extend((nodes.setdefault(head, len(nodes)), relation, nodes.setdefault(tail, len(nodes))))
    if not numbers:
        remedy = "All of them belong to dropped relations." if dropped else "Check that this is the right file."
        raise DataError("the file holds no triples", where=where, remedy=remedy)

    triples = torch.frombuffer(numbers, dtype=torch.int64).view(-1, 3)
    repeated = ~first_occurrences(triples)
    names, node_number = _numbered_by_name(_names(nodes, where, rename_unnamed=format_name in _MAY_HAVE_RELATIVE_IRIS))
    relation_names, relation_number = _numbered_by_name([relation.value for relation in relations])
    heads, types, tails = triples[~repeated].unbind(1)
    return RdfContent(
        node_names=names,
        relation_names=relation_names,
        triples=torch.stack([node_number[heads], relation_number[types], node_number[tails]], dim=1),
        dropped=frozenset(dropped),
        warnings=_relative_iri_warning(path, format_name, names),
    )


def _terms(path: Path, format_name: str, progress: bool) -> Iterator[tuple[Any, Any, Any]]:
    """Subject, predicate and object of each statement; what the parser dislikes becomes an error with its line."""
    try:
        import pyoxigraph
    except ImportError as error:
        raise DataError("reading RDF needs the package pyoxigraph", remedy="pip install pyoxigraph") from error

    base = _base_iri(path) if format_name in _MAY_HAVE_RELATIVE_IRIS else None
    with open_binary(path, progress=progress) as stream:
        try:
            parser = pyoxigraph.parse(stream, format=getattr(pyoxigraph.RdfFormat, format_name), base_iri=base)
            for head, predicate, tail, _ in parser:
                yield head, predicate, tail
        except SyntaxError as error:
            line = f", line {error.lineno}" if error.lineno else ""
            remedy = f"The name ends in {kind_of(path)}; check that the content is what the name says."
            raise DataError(
                f"not valid {_spoken(format_name)}: {_POSITION.sub('', error.msg)}",
                where=f"{path}{line}",
                remedy="Save the file as UTF-8." if "UTF-8" in error.msg else remedy,
            ) from error


def _numbered_by_name(names: list[str]) -> tuple[list[str], torch.Tensor]:
    """The names sorted, and the new number of each: a graph is a set, so the same graph in another order of statements
    (or another format) gets the same numbers, and a seed the same result."""
    order = sorted(range(len(names)), key=names.__getitem__)
    number = torch.empty(len(names), dtype=torch.int64)
    number[torch.tensor(order, dtype=torch.int64)] = torch.arange(len(names))
    return [names[i] for i in order], number


def _names(terms: dict[Any, int], where: str, *, rename_unnamed: bool) -> list[str]:
    import pyoxigraph

    names: list[str] = []
    unnamed = 0
    for term in terms:
        kind = type(term)
        if kind is pyoxigraph.NamedNode:
            names.append(term.value)
        elif kind is pyoxigraph.Triple:
            raise DataError(
                f"a triple about a triple (RDF-star, RDF 1.2) cannot be a node: << {term} >>",
                where=where,
                remedy="Leave such statements out, or write them with nodes of their own.",
            )
        elif rename_unnamed and kind is pyoxigraph.BlankNode and _UNNAMED_BLANK.fullmatch(term.value):
            names.append(f"_:unnamed-{unnamed}")
            unnamed += 1
        else:
            names.append(str(term))
    return names


def _format_of(path: Path) -> str:
    kind = kind_of(path)
    if kind not in RDF_FORMATS:
        raise DataError(
            f"unknown extension {kind!r} for an RDF file",
            where=str(path),
            remedy=f"Known are {', '.join(RDF_FORMATS)}, each also with .gz.",
        )
    return RDF_FORMATS[kind]


def _spoken(format_name: str) -> str:
    return {"N_TRIPLES": "N-Triples", "N_QUADS": "N-Quads", "TURTLE": "Turtle", "RDF_XML": "RDF/XML"}[format_name]


def _base_iri(path: Path) -> str:
    # The name without its folder: the same file gives the same node names wherever it lies.
    return f"file:///{quote(path.name)}"


def _relative_iri_warning(path: Path, format_name: str, names: list[str]) -> tuple[str, ...]:
    if format_name not in _MAY_HAVE_RELATIVE_IRIS:
        return ()
    resolved = [name for name in names if name.startswith("file:///")]
    if not resolved:
        return ()
    text = (
        f"{path.name} has {len(resolved)} relative or file IRIs; relative ones were resolved to {resolved[0]} and so on"
    )
    return (text,)


def _check_xml(path: Path) -> None:
    """The RDF/XML parser takes a document that was cut short for a whole one, and often knows no line: expat does."""
    with open_binary(path) as stream:
        parser = expat.ParserCreate()
        try:
            parser.ParseFile(stream)
        except expat.ExpatError as error:
            raise DataError(
                f"not well-formed XML: {expat.ErrorString(error.code)}",
                where=f"{path}, line {error.lineno}",
                remedy="Fetch or export the file again.",
            ) from error
