"""Data sets from pandas DataFrames (or anything with ``columns`` whose columns have ``tolist``)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from torch import Tensor

from brgcn.data.assemble import node_splits, warn_of_unused_drops
from brgcn.data.dataset import Dataset
from brgcn.data.labels import label_table
from brgcn.data.loading import link_dataset
from brgcn.data.tables import Column
from brgcn.data.triples import Columns, TripleReader, check_columns, column_positions, recognise_header
from brgcn.errors import DataError

Frame = Any  # a DataFrame; pandas is not needed to import this file


def dataset_from_frames(
    triples: Frame | Mapping[str, Frame],
    labels: Frame | None = None,
    test_labels: Frame | None = None,
    *,
    valid_labels: Frame | None = None,
    columns: Sequence[Column] | None = None,
    node_column: Column | None = None,
    label_column: Column | None = None,
    drop_relations: Sequence[str] = (),
    name: str = "frames",
) -> Dataset:
    """A data set for node classification (with ``labels``) or link prediction (without).

    Args:
        triples: a frame with one triple per row, or, for links, one per split: {"train": frame, ...}.
        labels, test_labels, valid_labels: frames with a node column and a label column, recognised as in files.
        columns: head, relation and tail, when the frame does not call them so.

    Values become text: the node 7 is called "7".
    """
    per_split = dict(triples) if isinstance(triples, Mapping) else {"train": triples}
    _check_splits(per_split, labels, test_labels, valid_labels)
    reader = TripleReader(check_columns(columns), drop_relations)
    digest = hashlib.sha256(repr((columns, node_column, label_column, sorted(drop_relations))).encode())
    read: dict[str, Tensor] = {}
    for split, frame in per_split.items():
        where = f"triples ({split})" if len(per_split) > 1 else "triples"
        header, rows = _content(frame, where)
        digest.update(json.dumps([split, header, rows]).encode())
        read[split] = reader.add(rows, _positions(header, reader.columns, where), where, where)
    if labels is None:
        dataset = link_dataset(reader, read, drop_relations)
        return replace(dataset, name=name, source="DataFrames", fingerprint=digest.hexdigest())
    named_graph = reader.named_graph(read["train"])
    tables = {}
    for split, frame in (("train", labels), ("valid", valid_labels), ("test", test_labels)):
        if frame is None:
            continue
        where = f"labels ({split})"
        header, rows = _content(frame, where)
        digest.update(json.dumps([split, header, rows]).encode())
        tables[split] = label_table(rows, header, named_graph.find_nodes, where, where, node_column, label_column)
    splits, label_names, warnings = node_splits(named_graph, tables)
    warnings = [*reader.warnings, *warn_of_unused_drops(drop_relations, reader.dropped), *warnings]
    return Dataset(
        name, "nodes", named_graph, splits, label_names, {}, digest.hexdigest(), "DataFrames", tuple(warnings)
    )


def _check_splits(per_split: Mapping[str, Frame], labels: Frame, test_labels: Frame, valid_labels: Frame) -> None:
    unknown = sorted(set(per_split) - {"train", "valid", "test"})
    if unknown or "train" not in per_split:
        raise DataError(
            f"triples have the splits {', '.join(map(repr, per_split)) or 'none'}",
            remedy='They may be "train", "valid" and "test"; "train" is needed.',
        )
    if labels is None and (test_labels is not None or valid_labels is not None):
        raise DataError("test or validation labels without training labels", remedy="Give labels too.")
    if labels is not None and len(per_split) > 1:
        raise DataError("triples with splits are for link prediction, which takes no labels", remedy="Give one frame.")


def _content(frame: Frame, where: str) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Column names, and the rows as text with their numbers from 1."""
    if not hasattr(frame, "columns"):
        raise DataError(f"not a DataFrame but {type(frame).__name__}", where=where, remedy="Give a pandas DataFrame.")
    names = list(frame.columns)
    header = [str(name) for name in names]
    if len(set(header)) != len(header):
        raise DataError("two columns have the same name", where=where, remedy=f"They are: {', '.join(header)}.")
    columns = [[_text(value) for value in _values(frame[name])] for name in names]
    return header, [(row, list(cells)) for row, cells in enumerate(zip(*columns, strict=True), 1)]


def _positions(header: list[str], columns: Columns | None, where: str) -> tuple[int, int, int]:
    if columns is not None:
        return column_positions(columns, header, len(header), where)
    recognised = recognise_header(header)
    if recognised is not None:
        return recognised
    if len(header) != 3:
        raise DataError(
            f"the frame has {len(header)} columns, but a triple has 3",
            where=where,
            remedy=f"Say which are head, relation and tail; there are: {', '.join(header)}.",
        )
    return 0, 1, 2


def _values(series: Any) -> list[Any]:
    values: list[Any] = series.tolist() if hasattr(series, "tolist") else series.to_list()
    return values


def _text(value: Any) -> str:
    """The value as text; missing values of any kind are empty."""
    if value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value):
        return ""
    return str(value)
