"""Tables of queries: read with their lines, and every name looked up before anything is computed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from brgcn.data import NamedGraph
from brgcn.data.triples import HEADERS, Columns, open_triples
from brgcn.errors import DataError, did_you_mean
from brgcn.tasks.link_use import Query

MOST_NAMES = 10  # that one message names


@dataclass(frozen=True)
class QueryTable:
    path: Path
    queries: list[Query]
    lines: list[int]  # where each query stands

    @classmethod
    def read(cls, path: Path, columns: Columns | None = None) -> QueryTable:
        """A table of head, relation and tail, one of the three empty or ``?`` in each line."""
        rows, (head, relation, tail) = open_triples(path, columns)
        table = cls(path, [], [])
        for line, cells in rows:
            try:
                table.queries.append(Query.of(cells[head], cells[relation], cells[tail]))
            except DataError as error:
                remedy = "Write ? for the one that is asked for."
                if line == 1:  # where a header stands
                    words = "; ".join(", ".join(header) for header in HEADERS)
                    remedy += f"\nIf this is the header: name its columns with --columns H,R,T, or call them {words}."
                raise DataError(error.message, where=f"{path}, line {line}", remedy=remedy) from None
            table.lines.append(line)
        if not table.queries:
            remedy = "Write head, relation and tail, one as ?."
            raise DataError("the table holds no query", where=str(path), remedy=remedy)
        return table

    def check_names(self, named: NamedGraph) -> None:
        """All names that the model does not know in one error."""
        unknown = {**self._unknown_entities(named), **self._unknown_relations(named)}
        if not unknown:
            return
        first = sorted(unknown.items(), key=lambda item: item[1])[:MOST_NAMES]
        said = [
            f"line {line}: there is no {kind} {name!r}"
            + did_you_mean(name, named.node_names if kind == "entity" else named.relation_names)
            for (kind, name), line in first
        ]
        if len(unknown) > MOST_NAMES:
            said.append(f"and {len(unknown) - MOST_NAMES:,} more")
        count = "1 name is" if len(unknown) == 1 else f"{len(unknown):,} names are"
        raise DataError(
            "\n  ".join([f"{count} unknown to the model", *said]),
            where=str(self.path),
            remedy="Names are as in the training triples (brgcn data inspect lists the relations).",
        )

    def _unknown_entities(self, named: NamedGraph) -> dict[tuple[str, str], int]:
        """(kind, name) -> the first line that has it."""
        given = [
            (name, line)
            for query, line in zip(self.queries, self.lines, strict=True)
            for name in (query.head, query.tail)
            if name is not None
        ]
        ids = named.find_nodes(name for name, _ in given).tolist()
        missing = [place for place, node in zip(given, ids, strict=True) if node < 0]
        return {("entity", name): line for name, line in reversed(missing)}

    def _unknown_relations(self, named: NamedGraph) -> dict[tuple[str, str], int]:
        known = set(named.relation_names)
        return {
            ("relation", query.relation): line
            for query, line in reversed(list(zip(self.queries, self.lines, strict=True)))
            if query.relation is not None
            and not known & {query.relation, query.relation.removeprefix("<").removesuffix(">")}
        }
