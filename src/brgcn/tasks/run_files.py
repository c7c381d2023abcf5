"""The small files of a run folder: JSON, text and tables, written beside and renamed."""

from __future__ import annotations

import contextlib
import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from brgcn.data import Dataset, NodeSplit
from brgcn.data.files import atomic_write
from brgcn.errors import BrgcnError, DataError, RunError

DAMAGED = "The run folder is damaged, or another version of brgcn wrote it; train again."


@contextlib.contextmanager
def damage_of(path: Path, remedy: str = DAMAGED) -> Iterator[None]:
    """Whatever is wrong with a file of the folder: nobody gave that file, so another remedy fits."""
    try:
        yield
    except BrgcnError as error:
        raise RunError(error.message, where=error.where or str(path), remedy=remedy) from error
    except (KeyError, TypeError, ValueError) as error:
        raise RunError("the file does not hold what it should", where=str(path), remedy=remedy) from error


def write_text(path: Path, text: str) -> None:
    with atomic_write(path) as beside:
        beside.write_text(text, encoding="utf-8")


def write_json(path: Path, content: Any) -> None:
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def write_table(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    with atomic_write(path) as beside, beside.open("w", encoding="utf-8", newline="") as stream:
        stream.writelines(f"{table_line(cells)}\n" for cells in (header, *rows))


def table_line(cells: Sequence[Any]) -> str:
    """Cells between tabs, names as they are (literals bring their quotes); a tab inside a name becomes a space."""
    return "\t".join(" ".join(str(cell).splitlines()).replace("\t", " ") for cell in cells)


def read_json(path: Path, remedy: str = DAMAGED) -> dict[str, Any]:
    """An object of a file that we wrote."""
    with damage_of(path, remedy):
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise DataError("the file is missing") from None
        except OSError as error:
            raise DataError(f"the file cannot be read ({error.strerror})") from None
        except ValueError as error:
            raise DataError(f"not valid JSON ({error})") from None
        if not isinstance(content, dict):
            raise TypeError
    return content


def file_size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def write_labels(path: Path, dataset: Dataset) -> None:
    def rows() -> Iterable[Sequence[Any]]:
        for split, part in dataset.splits.items():
            for node, label in zip(part.nodes.tolist(), part.labels.tolist(), strict=True):
                yield node, dataset.node_names[node], split, dataset.label_names[label]

    with atomic_write(path) as beside, beside.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, dialect="excel-tab", lineterminator="\n")  # labels are read back: to the letter
        writer.writerow(["id", "node", "split", "label"])
        writer.writerows(rows())


def read_labels(path: Path, classes: Sequence[str], num_nodes: int) -> dict[str, NodeSplit]:
    place = {name: number for number, name in enumerate(classes)}
    nodes: dict[str, list[int]] = {}
    labels: dict[str, list[int]] = {}
    line = 0
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            reader = csv.DictReader(stream, dialect="excel-tab")
            for row in reader:
                line = reader.line_num
                nodes.setdefault(row["split"], []).append(range(num_nodes)[int(row["id"])])
                labels.setdefault(row["split"], []).append(place[row["label"]])
        nodes["train"]  # there is no training without it
    except OSError as error:
        raise RunError(f"the file cannot be read ({error.strerror})", where=str(path), remedy=DAMAGED) from error
    except (LookupError, TypeError, ValueError, csv.Error) as error:
        where = f"{path}, line {line}" if line else str(path)
        raise RunError("the labels are damaged or cut short", where=where, remedy=DAMAGED) from error
    return {split: NodeSplit(torch.tensor(nodes[split]), torch.tensor(labels[split])) for split in nodes}
