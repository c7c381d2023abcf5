"""Triples with integer ids in the form of the OpenKE benchmarks, written as tables of names.

``entity2id.txt`` and ``relation2id.txt``: a count, then ``name<TAB>id``. ``train2id.txt`` and so on: a count, then
``head tail relation`` ids (in this order).
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterable, Iterator
from pathlib import Path

from brgcn.data.content import Triple
from brgcn.errors import DataError


def has_count_line(path: Path) -> bool:
    """Whether the file begins with a bare number, as files of ids do."""
    with path.open("rb") as file:
        return file.readline(64).strip().isdigit()


def read_names(path: Path) -> dict[str, str]:
    """id -> name."""
    names: dict[str, str] = {}
    for number, parts in _rows(path):
        if len(parts) != 2 or not parts[1].isdigit() or parts[1] in names:
            raise DataError("not a row of a name and its own id", where=f"{path.name}, line {number}")
        names[parts[1]] = parts[0]
    return names


def read_id_triples(path: Path, entities: dict[str, str], relations: dict[str, str]) -> Iterator[Triple]:
    """(head, relation, tail) as names, in the order of the file."""
    for number, parts in _rows(path):
        try:
            head, tail, relation = parts
            yield entities[head], relations[relation], entities[tail]
        except (ValueError, KeyError) as error:
            raise DataError(
                "not a row of known head, tail and relation ids", where=f"{path.name}, line {number}"
            ) from error


def write_triples(triples: Iterable[Triple], path: Path) -> None:
    """Write a gzipped table ``head<TAB>relation<TAB>tail``; the bytes depend on the rows alone."""
    with gzip.GzipFile(path, "wb", mtime=0) as compressed, io.TextIOWrapper(compressed, encoding="utf-8") as file:
        file.writelines(f"{head}\t{relation}\t{tail}\n" for head, relation, tail in triples)


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """(line number, columns) after the line with the count, which must be right."""
    with path.open(encoding="utf-8") as file:
        announced = file.readline().strip()
        if not announced.isdigit():
            raise DataError("the first line is not a count", where=path.name)
        found = 0
        for number, line in enumerate(file, start=2):
            if parts := line.split():
                found += 1
                yield number, parts
    if found != int(announced):
        raise DataError(f"{found:,} rows instead of the {announced} announced", where=path.name)
