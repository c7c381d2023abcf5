"""Tables of text: TSV, CSV or words between blanks, plain or gzip, with the line of each row."""

from __future__ import annotations

import csv
import difflib
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from brgcn.data.files import kind_of, open_binary
from brgcn.errors import DataError

TABLE_EXTENSIONS = (".tsv", ".csv", ".txt")
Column = str | int
_WORDS = ""  # the delimiter that stands for any run of blanks


def is_table(path: Path) -> bool:
    """Whether the name ends like that of a table."""
    return kind_of(path) in TABLE_EXTENSIONS


def iter_rows(path: Path, *, width: int, progress: bool = False) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of each row that is not blank; ``width`` is how many cells a row should have at least.

    The delimiter is seen from the first row: tab, comma, semicolon, else blanks. Quotes are meant as in CSV, but in
    tab-separated tables they are part of the name. Every row must have as many cells as the first.
    """
    if not is_table(path):
        raise DataError(
            f"unknown extension {kind_of(path)!r} for a table",
            where=str(path),
            remedy=f"Known are {', '.join(TABLE_EXTENSIONS)}, each also with .gz.",
        )
    with open_binary(path, progress=progress) as stream:
        lines = _decoded(stream, path)
        first_number, first = next(((n, line) for n, line in enumerate(lines, 1) if line.strip()), (0, ""))
        if not first:
            raise DataError("the table has no rows", where=str(path), remedy="Fetch or export it again.")
        try:
            delimiter = _delimiter(first, width)
        except csv.Error as error:
            raise _invalid_csv(path, first_number, error) from error
        cells_of_first = 0
        rest = chain([first], lines)
        rows = _quoted(rest, delimiter, path) if delimiter in (",", ";") else _split(rest, delimiter)
        for offset, cells in rows:
            number = first_number - 1 + offset
            if not cells_of_first:
                cells_of_first = len(cells)
            if len(cells) != cells_of_first:
                raise DataError(
                    f"the row has {_columns(len(cells))}, but the first row has {cells_of_first}",
                    where=f"{path}, line {number}",
                    remedy="Every row needs the same number of columns, separated by the same character.",
                )
            yield number, cells


def column_index(column: Column, header: Sequence[str] | None, width: int, where: str) -> int:
    """The position of a column given by name or position (0 is the first); without a header only positions exist."""
    if isinstance(column, str) and header is not None and column in header:
        return list(header).index(column)
    if isinstance(column, int) or column.isdigit():
        if not 0 <= int(column) < width:
            raise DataError(f"there is no column {column}", where=where, remedy=f"Columns run from 0 to {width - 1}.")
        return int(column)
    if header is None:
        raise DataError(f"there is no header, so no column {column!r}", where=where, remedy="Give positions from 0.")
    near = difflib.get_close_matches(column, header, n=1, cutoff=0.4)
    raise DataError(
        f"there is no column {column!r}" + (f"; did you mean {near[0]!r}?" if near else ""),
        where=where,
        remedy=f"The columns are: {', '.join(header)}.",
    )


def _decoded(stream: Iterator[bytes], path: Path) -> Iterator[str]:
    for number, line in enumerate(stream, 1):
        if number == 1:
            if line.startswith((b"\xff\xfe", b"\xfe\xff")):
                raise DataError("the text is UTF-16", where=str(path), remedy="Save the table as UTF-8.")
            line = line.removeprefix(b"\xef\xbb\xbf")
            if b"\r" in line.rstrip(b"\r\n"):
                raise DataError(
                    "the lines end in a carriage return alone, as on old Macs",
                    where=str(path),
                    remedy="Save the table with the line ends of Unix or Windows.",
                )
        if b"\0" in line:
            raise DataError("this is not a text file", where=f"{path}, line {number}", remedy="Give a TSV or CSV file.")
        try:
            yield line.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise DataError(
                f"the text is not valid UTF-8 ({error.reason})",
                where=f"{path}, line {number}",
                remedy="Save the table as UTF-8.",
            ) from error


def _delimiter(line: str, width: int) -> str:
    """The first of tab, comma and semicolon that gives exactly ``width`` cells, else blanks if they do, else more."""
    if "\t" in line:
        return "\t"
    cells = {mark: len(next(csv.reader([line], delimiter=mark))) for mark in (",", ";")} | {_WORDS: len(line.split())}
    exact = [mark for mark, count in cells.items() if count == width]
    wider = [mark for mark, count in cells.items() if count > width and mark != _WORDS]
    return (exact + wider + ["\t"])[0]


def _split(lines: Iterator[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    for offset, line in enumerate(lines, 1):
        if line and not line.isspace():
            yield offset, line.split(delimiter) if delimiter else line.split()


def _quoted(lines: Iterator[str], delimiter: str, path: Path) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader((line + "\n" for line in lines), delimiter=delimiter, strict=True)
    try:
        for cells in reader:
            if cells:
                yield reader.line_num, cells
    except csv.Error as error:
        raise _invalid_csv(path, reader.line_num, error) from error


def _invalid_csv(path: Path, line: int, error: csv.Error) -> DataError:
    return DataError(f"not valid CSV: {error}", where=f"{path}, line {line}", remedy="Check the quotes of that row.")


def _columns(count: int) -> str:
    return "1 column" if count == 1 else f"{count} columns"
