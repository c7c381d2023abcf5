"""Label tables: which column names the node, which its label, and how one table is split."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from brgcn.data.tables import Column, column_index, iter_rows
from brgcn.errors import DataError

Finder = Callable[[Iterable[str]], Tensor]  # names -> node ids, -1 where unknown
_LABEL_COLUMN = re.compile(r"label.*|class|classes|category|categories|target|y", re.IGNORECASE)
_ID_COLUMN = re.compile(r"|id|index|unnamed: 0", re.IGNORECASE)
_TERM = re.compile(r"https?://|urn:|<|_:")
_INTEGRAL = re.compile(r"([+-]?)0*(\d+)\.0*")


@dataclass(frozen=True)
class LabelTable:
    """Names of nodes with their labels, and the line of each."""

    nodes: list[str]
    labels: list[str]
    lines: list[int]
    where: str  # the file, for errors
    short_name: str  # the same without its folder, for warnings


def read_label_table(
    path: Path, find_nodes: Finder, *, node_column: Column | None = None, label_column: Column | None = None
) -> LabelTable:
    """Read a TSV or CSV file; columns that are not given are recognised with the help of the graph's node names.

    The node column is the one whose values most often name nodes. The label column is called label*, class, category or
    target, or is the only one left beside the node column and a numbering called id.
    """
    rows = list(iter_rows(path, width=2))
    first = rows[0][1]
    named = any(isinstance(column, str) and not column.isdigit() for column in (node_column, label_column))
    header = [cell.strip() for cell in first] if named or _is_header(first, find_nodes) else None
    body = rows[1:] if header else rows
    return label_table(body, header, find_nodes, str(path), path.name, node_column, label_column)


def label_table(
    rows: Sequence[tuple[int, list[str]]],
    header: Sequence[str] | None,
    find_nodes: Finder,
    where: str,
    short_name: str,
    node_column: Column | None,
    label_column: Column | None,
) -> LabelTable:
    """The same from rows of cells that come with their line numbers."""
    if not rows:
        raise DataError("the table has no labels", where=where, remedy="It needs a row for each labelled node.")
    node, label = _columns(rows, header, find_nodes, where, node_column, label_column)
    nodes: list[str] = []
    labels: list[str] = []
    for line, cells in rows:
        name, text = cells[node].strip(), normalised_label(cells[label])
        if not name or not text:
            what = "label" if name else "node"
            raise DataError(
                f"the {what} is empty", where=f"{where}, line {line}", remedy="Fill the cell or leave out the row."
            )
        nodes.append(name)
        labels.append(text)
    return LabelTable(nodes, labels, [line for line, _ in rows], where, short_name)


def normalised_label(text: str) -> str:
    """The label without blanks around it; an integral number without its decimal point ("1.0" is "1")."""
    text = text.strip()
    match = _INTEGRAL.fullmatch(text)
    if not match:
        return text
    sign, digits = match.groups()
    return f"-{digits}" if sign == "-" and digits != "0" else digits


def split_by_hash(names: Iterable[str], fractions: Sequence[float] = (0.6, 0.2, 0.2)) -> list[str]:
    """ "train", "valid" or "test" for each name, by its sha256: the same on every machine, whatever else is labelled.

    The first 8 bytes of the digest over 2**64 are a number between 0 and 1, which falls into one of the fractions.
    """
    train, valid, _ = fractions
    splits: list[str] = []
    for name in names:
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()
        place = int.from_bytes(digest[:8], "big") / 2**64
        splits.append("train" if place < train else "valid" if place < train + valid else "test")
    return splits


def split_table_by_hash(table: LabelTable, fractions: Sequence[float] = (0.6, 0.2, 0.2)) -> dict[str, LabelTable]:
    """One table as up to three."""
    bare = [name[1:-1] if name.startswith("<") and name.endswith(">") else name for name in table.nodes]
    splits = split_by_hash(bare, fractions)
    tables: dict[str, LabelTable] = {}
    for split in ("train", "valid", "test"):
        chosen = [row for row, other in enumerate(splits) if other == split]
        if chosen:
            tables[split] = LabelTable(
                [table.nodes[row] for row in chosen],
                [table.labels[row] for row in chosen],
                [table.lines[row] for row in chosen],
                table.where,
                f"{table.short_name} ({split})",
            )
    return tables


# ---------------------------------------------------------------------- recognising columns


def _is_header(first: list[str], find_nodes: Finder) -> bool:
    if any(_LABEL_COLUMN.fullmatch(cell.strip()) for cell in first):
        return True
    return not any(_TERM.match(cell) for cell in first) and not bool((find_nodes(first) >= 0).any())


def _columns(
    rows: Sequence[tuple[int, list[str]]],
    header: Sequence[str] | None,
    find_nodes: Finder,
    where: str,
    node_column: Column | None,
    label_column: Column | None,
) -> tuple[int, int]:
    width = len(rows[0][1])
    if width < 2:
        raise DataError(
            "a label table needs at least two columns, but there is one",
            where=where,
            remedy="One column names the node, another its label, separated by tab or comma.",
        )
    node = None if node_column is None else column_index(node_column, header, width, where)
    label = None if label_column is None else column_index(label_column, header, width, where)
    if label is None and header is not None:
        called_label = [i for i, name in enumerate(header) if i != node and _LABEL_COLUMN.fullmatch(name)]
        if len(called_label) == 1:
            label = called_label[0]
    if node is None:
        node = _node_column(rows, [i for i in range(width) if i != label], find_nodes, where)
    if label is None:
        label = _label_column(header, [i for i in range(width) if i != node], where)
    if node == label:
        raise DataError("the node column and the label column are the same", where=where, remedy="Name two columns.")
    return node, label


def _node_column(
    rows: Sequence[tuple[int, list[str]]], candidates: Sequence[int], find_nodes: Finder, where: str
) -> int:
    # Different values are counted: labels may be nodes too, but they are few and repeat.
    known = {i: int((find_nodes({cells[i].strip() for _, cells in rows}) >= 0).sum()) for i in candidates}
    best = max(candidates, key=lambda i: known[i])
    if known[best] == 0:
        raise DataError(
            f"no value of any column is the name of a node; the first row is: {' | '.join(rows[0][1])}",
            where=where,
            remedy="Check that the labels belong to this graph, and that nodes are named as in it (IRIs in full).",
        )
    return best


def _label_column(header: Sequence[str] | None, candidates: Sequence[int], where: str) -> int:
    if header is not None and len(candidates) > 1:
        candidates = [i for i in candidates if not _ID_COLUMN.fullmatch(header[i])]
    if len(candidates) == 1:
        return candidates[0]
    columns = ", ".join(header) if header is not None else f"0 to {max(candidates, default=0)}"
    raise DataError(
        "which column holds the labels is not clear",
        where=where,
        remedy=f"Name it with --label-column; the columns are: {columns}.",
    )
