"""Tables of triples: head, relation, tail in columns given by name or position; or RDF, for one split of several."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path

import torch
from torch import Tensor

from brgcn.data.named_graph import NamedGraph, first_occurrences
from brgcn.data.rdf import RdfContent, is_rdf, read_rdf
from brgcn.data.tables import Column, column_index, iter_rows
from brgcn.errors import DataError

Columns = tuple[Column, Column, Column]
# What the header of a table of triples may call its columns.
HEADERS = (
    ("head", "relation", "tail"),
    ("subject", "predicate", "object"),
    ("source", "type", "target"),
    ("source", "relation", "target"),
    ("h", "r", "t"),
    ("s", "p", "o"),
)


class TripleReader:
    """Reads one or several files over one numbering of nodes and relations, by first appearance; those of an RDF file
    appear in the order of their names. Blank nodes of the same label are one node, as the files are parts of one graph.
    """

    def __init__(self, columns: Columns | None = None, drop_relations: Sequence[str] = ()) -> None:
        self.columns = check_columns(columns)
        self.drop_relations = frozenset(drop_relations)
        self.dropped: set[str] = set()  # those of the relations to be dropped that occurred
        self.warnings: list[str] = []
        self.nodes: dict[str, int] = {}
        self.relations: dict[str, int] = {}
        self.rdf = False  # whether names are RDF terms, some of them literals

    def read(self, path: Path, *, progress: bool = False) -> Tensor:
        """[n, 3] the distinct triples of a file: head, relation, tail."""
        if is_rdf(path):
            return self._add_rdf(read_rdf(path, tuple(self.drop_relations), progress=progress))
        rows, positions = open_triples(path, self.columns, progress=progress)
        return self.add(rows, positions, str(path), path.name)

    def add(
        self, rows: Iterable[tuple[int, list[str]]], positions: tuple[int, int, int], where: str, short_name: str
    ) -> Tensor:
        """[n, 3] the distinct triples of rows with line numbers; ``positions`` are those of head, relation, tail."""
        numbers = array("q")
        nodes, relations = self.nodes, self.relations
        at_head, at_relation, at_tail = positions
        for line, cells in rows:
            head, name, tail = cells[at_head], cells[at_relation], cells[at_tail]
            if not (head and name and tail):
                empty = next(position for position in positions if not cells[position])
                raise DataError(
                    f"the cell in column {empty + 1} is empty",
                    where=f"{where}, line {line}",
                    remedy="A triple needs a head, a relation and a tail.",
                )
            if name in self.drop_relations:
                self.dropped.add(name)
                continue
            relation = relations.setdefault(name, len(relations))
            numbers.extend((nodes.setdefault(head, len(nodes)), relation, nodes.setdefault(tail, len(nodes))))
        if not numbers:
            remedy = "All of them belong to dropped relations." if self.dropped else "Check that it is the right one."
            raise DataError("the table holds no triples", where=where, remedy=remedy)
        triples = torch.frombuffer(numbers, dtype=torch.int64).view(-1, 3)
        first = first_occurrences(triples)
        repeated = len(triples) - int(first.sum())
        if repeated:
            self.warnings.append(
                f"{repeated} of {len(triples)} triples of {short_name} are repetitions; they count once"
            )
        return triples[first] if repeated else triples

    def _add_rdf(self, content: RdfContent) -> Tensor:
        self.rdf = True
        self.dropped |= content.dropped
        self.warnings += content.warnings
        nodes, relations = (
            torch.tensor([known.setdefault(name, len(known)) for name in names])
            for known, names in ((self.nodes, content.node_names), (self.relations, content.relation_names))
        )
        head, relation, tail = content.triples.unbind(1)
        return torch.stack([nodes[head], relations[relation], nodes[tail]], dim=1)

    def named_graph(self, triples: Tensor) -> NamedGraph:
        """The graph of ``triples`` [n, 3] over all nodes and relations that were read."""
        return NamedGraph.from_triples(self.nodes, self.relations, triples, rdf=self.rdf)


def open_triples(
    path: Path, columns: Columns | None, *, progress: bool = False
) -> tuple[Iterable[tuple[int, list[str]]], tuple[int, int, int]]:
    """The rows of a table with their line numbers, without its header, and where head, relation and tail stand."""
    rows = iter_rows(path, width=3, progress=progress)
    line, first = next(rows)
    positions, is_header = find_positions(columns, first, f"{path}, line {line}")
    return rows if is_header else chain([(line, first)], rows), positions


def find_positions(columns: Columns | None, first: list[str], where: str) -> tuple[tuple[int, int, int], bool]:
    """Where head, relation and tail stand, and whether the first row is a header."""
    recognised = recognise_header(first)
    if columns is None and recognised is not None:
        return recognised, True
    if columns is None and len(first) != 3:
        given = f"The first row is: {' | '.join(first)}."
        count = "1 column" if len(first) == 1 else f"{len(first)} columns"
        raise DataError(
            f"the row has {count}, but a triple has 3",
            where=where,
            remedy=f"Call three columns head, relation and tail in a first row, or give three. {given}",
        )
    columns = columns or (0, 1, 2)
    by_name = any(isinstance(column, str) and not column.isdigit() for column in columns)
    is_header = by_name or recognised is not None
    return column_positions(columns, first if is_header else None, len(first), where), is_header


def read_triple_table(
    path: Path, *, columns: Columns | None = None, drop_relations: Sequence[str] = (), progress: bool = False
) -> tuple[NamedGraph, TripleReader]:
    """The graph of one table, and the reader, which knows what was dropped and warned of."""
    reader = TripleReader(columns, drop_relations)
    triples = reader.read(path, progress=progress)
    return reader.named_graph(triples), reader


def check_columns(columns: Sequence[Column] | None) -> Columns | None:
    """Exactly three different columns, or None."""
    if columns is None:
        return None
    if isinstance(columns, str) or len(columns) != 3 or len(set(columns)) != 3:
        raise DataError(
            f"columns must be three different ones, not {columns!r}",
            remedy="Give head, relation and tail, by name or by position from 0.",
        )
    return columns[0], columns[1], columns[2]


def recognise_header(cells: Sequence[str]) -> tuple[int, int, int] | None:
    """Where head, relation and tail stand when the cells are a header that says so."""
    names = [cell.strip().lower() for cell in cells]
    for head, relation, tail in HEADERS:
        if {head, relation, tail} <= set(names):
            return names.index(head), names.index(relation), names.index(tail)
    return None


def column_positions(columns: Columns, header: Sequence[str] | None, width: int, where: str) -> tuple[int, int, int]:
    """Positions of the three columns, each given by name or position."""
    head, relation, tail = (column_index(column, header, width, where) for column in columns)
    return head, relation, tail
