"""Features that nodes come with: a table for each type of node, each with columns of its own.

A table is text (node, then numbers) or an ``.npz`` file with the arrays ``nodes`` (names) and ``features`` [n, width].
Each gets columns of its own in the feature matrix, and one more that says who is in the table; so the first linear map
of a model projects every type from its own width to the common one, with an offset of its own. Columns are brought to
mean 0 and variance 1 over the nodes of the table.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from brgcn.data.files import check_file, kind_of
from brgcn.data.named_graph import NamedGraph, join_names
from brgcn.data.tables import iter_rows
from brgcn.errors import DataError

ARRAYS = ".npz"


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """What is known of the nodes of one type."""

    name: str  # of the file, for people
    columns: tuple[str, ...]
    nodes: Tensor  # [n] ids, each once
    values: Tensor  # [n, columns] as they were given, in float64: a date in seconds has more digits than float32

    def matrix(self, num_nodes: int, known: FeatureTable | None = None) -> Tensor:
        """[num_nodes, columns + 1] scaled as ``known`` (else this table) demands, and 1 for those in the table."""
        mean, scale = (self if known is None else known)._scaling()
        features = torch.zeros(num_nodes, len(self.columns) + 1)
        features[self.nodes, :-1] = ((self.values - mean) / scale).float()
        features[self.nodes, -1] = 1.0
        return features

    def _scaling(self) -> tuple[Tensor, Tensor]:
        scale = self.values.std(0, correction=0)
        return self.values.mean(0), torch.where(scale > 0, scale, 1.0)


def read_feature_table(path: str | Path, named: NamedGraph) -> tuple[FeatureTable, list[str]]:
    """The table and warnings; nodes that the graph does not have are left out with one."""
    path = Path(path).expanduser()
    columns, names, values, places = _read_arrays(path) if kind_of(path) == ARRAYS else _read_text(path, named)
    ids = named.find_nodes(names)
    known = ids >= 0
    if not bool(known.any()):
        raise DataError(
            f"none of its {len(names)} nodes is in the graph, such as {names[0]}",
            where=str(path),
            remedy="The first column must name nodes as the graph does: IRIs, or the names in the table of triples.",
        )
    first: dict[int, int] = {}
    for row, node in enumerate(ids.tolist()):
        if node >= 0 and first.setdefault(node, row) != row:
            raise DataError(
                f"the node {names[row]} was in {places(first[node])} already",
                where=f"{path}, {places(row)}",
                remedy="Give every node one row.",
            )
    missing = [name for name, is_known in zip(names, known.tolist(), strict=True) if not is_known]
    warnings = []
    if missing:
        warnings.append(
            f"{len(missing)} of {len(names)} nodes of {path.name} are not in the graph: {join_names(missing)}"
        )
    return FeatureTable(path.name, columns, ids[known], values[known]), warnings


def table_like(given: FeatureTable, tables: Sequence[FeatureTable]) -> int:
    """Which of the tables ``given`` continues: the one with its columns, and of several the one with its name."""
    fitting = [number for number, table in enumerate(tables) if table.columns == given.columns]
    if len(fitting) > 1:
        fitting = [number for number in fitting if tables[number].name == given.name] or fitting
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        names = " and ".join(tables[number].name for number in fitting)
        raise DataError(
            f"{names} of the training have the same columns",
            where=given.name,
            remedy="Give the file the name of the one that it continues.",
        )
    known = "; ".join(f"{table.name}: {join_names(table.columns, limit=6)}" for table in tables) or "none at all"
    raise DataError(
        f"no table of the training has its columns ({join_names(given.columns, limit=6)})",
        where=given.name,
        remedy=f"Training had {known}.",
    )


def pack(tables: Sequence[FeatureTable]) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and JSON-ready facts, for a file."""
    tensors = {f"{i}.{what}": getattr(table, what) for i, table in enumerate(tables) for what in ("nodes", "values")}
    return tensors, {"tables": [{"name": table.name, "columns": list(table.columns)} for table in tables]}


def unpack(tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> tuple[FeatureTable, ...]:
    return tuple(
        FeatureTable(fact["name"], tuple(fact["columns"]), tensors[f"{i}.nodes"], tensors[f"{i}.values"])
        for i, fact in enumerate(facts["tables"])
    )


# ---------------------------------------------------------------------- the files


class _Lines:
    """Where a row stands, for messages."""

    def __init__(self, word: str, numbers: Sequence[int]) -> None:
        self.word, self.numbers = word, numbers

    def __call__(self, row: int) -> str:
        return f"{self.word} {self.numbers[row]}"


def _read_text(path: Path, named: NamedGraph) -> tuple[tuple[str, ...], list[str], Tensor, _Lines]:
    rows = iter_rows(path, width=2)
    first_line, first = next(rows)
    if len(first) < 2:
        raise DataError(
            "the table has one column", where=str(path), remedy="It needs the node and at least one number in a row."
        )
    in_words = all(_number(cell) is None and cell.strip() for cell in first[1:])
    has_header = in_words and int(named.find_nodes([first[0].strip()])) < 0
    columns = tuple(cell.strip() for cell in first[1:]) if has_header else tuple(str(i) for i in range(1, len(first)))
    names: list[str] = []
    lines: list[int] = []
    values: list[list[float]] = []

    def body() -> Iterator[tuple[int, list[str]]]:
        if not has_header:
            yield first_line, first
        yield from rows

    for line, cells in body():
        names.append(cells[0].strip())
        lines.append(line)
        numbers = []
        for column, cell in zip(columns, cells[1:], strict=True):
            number = _number(cell)
            if number is None or not math.isfinite(number):
                what = "is empty" if not cell.strip() else f"holds {cell.strip()!r}, which is not a finite number"
                raise DataError(
                    f"column {column!r} {what}",
                    where=f"{path}, line {line}",
                    remedy="Fill the cell or leave out the row; put categories into columns of 0 and 1.",
                )
            numbers.append(number)
        values.append(numbers)
    if not names:
        raise DataError("the table has a header and no rows", where=str(path), remedy="It needs a row for each node.")
    return columns, names, torch.tensor(values, dtype=torch.double), _Lines("line", lines)


def _read_arrays(path: Path) -> tuple[tuple[str, ...], list[str], Tensor, _Lines]:
    check_file(path)
    try:
        with np.load(path, allow_pickle=False) as stored:
            nodes, features = stored["nodes"], stored["features"]
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:  # TypeError: one array, not several
        raise DataError(
            f"the arrays `nodes` and `features` cannot be read ({error})",
            where=str(path),
            remedy="Write it with numpy.savez(file, nodes=names, features=matrix).",
        ) from error
    numeric = features.dtype.kind in "fiub" and features.ndim == 2 and features.shape[1] > 0
    if nodes.dtype.kind != "U" or nodes.ndim != 1 or not numeric or len(nodes) != len(features) or not len(nodes):
        raise DataError(
            f"`nodes` is {list(nodes.shape)} of {nodes.dtype}, `features` {list(features.shape)} of {features.dtype}",
            where=str(path),
            remedy="`nodes` must be [n] texts and `features` [n, width] numbers.",
        )
    values = torch.from_numpy(features.astype(np.float64))
    bad = ~torch.isfinite(values).all(1)
    if bool(bad.any()):
        row = int(bad.nonzero()[0])
        raise DataError(
            f"the features of {nodes[row]} hold NaN or infinity",
            where=f"{path}, row {row}",
            remedy="Fill them or leave out the row.",
        )
    columns = tuple(str(i) for i in range(1, values.size(1) + 1))
    return columns, [str(name) for name in nodes], values, _Lines("row", range(len(nodes)))


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None
