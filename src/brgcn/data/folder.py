"""What a folder or a file holds: which of its files is the graph, which are labels, which are triples."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from brgcn.data.dataset import Task
from brgcn.data.files import kind_of, sha256_of
from brgcn.data.rdf import RDF_FORMATS, is_rdf
from brgcn.data.tables import TABLE_EXTENSIONS, Column, is_table
from brgcn.data.triples import Columns
from brgcn.errors import DataError

# Names of split files in lower case, without extensions and without "set".
_SPLIT_NAMES = {
    "train": "train",
    "training": "train",
    "valid": "valid",
    "validation": "valid",
    "val": "valid",
    "dev": "valid",
    "test": "test",
    "testing": "test",
}


@dataclass(frozen=True)
class Options:
    """What the reader was told beside the files; all of it changes the result."""

    node_column: Column | None = None
    label_column: Column | None = None
    drop_relations: tuple[str, ...] = ()  # a warning when one does not occur
    known_targets: tuple[str, ...] = ()  # dropped as well, but often gone from the file already
    columns: Columns | None = None
    split_fractions: tuple[float, ...] = (0.6, 0.2, 0.2)  # for a table of all labels

    @property
    def all_drops(self) -> tuple[str, ...]:
        return (*self.drop_relations, *self.known_targets)


@dataclass(frozen=True)
class Inputs:
    """The files of a data set and how to read them."""

    task: Task
    graph_file: Path | None = None  # of a node task: RDF or a table of triples
    label_files: Mapping[str, Path] = field(default_factory=dict)  # split -> table
    all_labels_file: Path | None = None  # one table, split by a hash of the node's name
    triple_files: Mapping[str, Path] = field(default_factory=dict)  # of a link task: split -> table or RDF
    options: Options = field(default_factory=Options)

    def files(self) -> dict[str, Path]:
        """Every file by its role."""
        files = {f"labels {split}": path for split, path in self.label_files.items()}
        files |= {f"triples {split}": path for split, path in self.triple_files.items()}
        if self.graph_file:
            files["graph"] = self.graph_file
        if self.all_labels_file:
            files["labels"] = self.all_labels_file
        return files

    def fingerprint(self) -> str:
        """sha256 over the bytes of the files and the options; where the files lie does not matter."""
        facts: dict[str, object] = {"task": self.task, "options": asdict(self.options)}
        for role, path in self.files().items():
            # Turtle and RDF/XML may resolve relative IRIs against the name of the file.
            name = path.name if kind_of(path) in RDF_FORMATS and kind_of(path) not in (".nt", ".nq") else ""
            facts[role] = [kind_of(path), sha256_of(path), name]
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def recognise(folder: Path) -> Inputs:
    """The files of a folder: an RDF file with trainingSet/testSet tables, or train/valid/test triples, also as RDF."""
    try:
        files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    except OSError as error:
        raise DataError(f"the folder cannot be read ({error.strerror})", where=str(folder)) from error
    graphs = [path for path in files if is_rdf(path)]
    splits = _split_files([path for path in files if is_table(path)], folder)
    if len(graphs) > 1:
        triples = _split_files(graphs, folder)
        if "train" in triples and len(triples) == len(graphs) and not splits:
            return Inputs("links", triple_files=triples)
        raise DataError(
            f"the folder has {len(graphs)} RDF files: {', '.join(path.name for path in graphs)}",
            where=str(folder),
            remedy="Name one of them instead of the folder, with its labels. To predict links, call the files train, "
            "valid and test, and leave tables of labels out of the folder.",
        )
    if graphs:
        return Inputs("nodes", graph_file=graphs[0], label_files=splits)
    if "train" in splits:
        return Inputs("links", triple_files=splits)
    raise DataError(
        "the folder holds no data set: neither an RDF file nor training triples" + _what_is_there(folder, files),
        where=str(folder),
        remedy=f"Expected: one graph ({', '.join(RDF_FORMATS)}) with trainingSet.tsv and testSet.tsv, or train, valid "
        f"and test triples ({', '.join(TABLE_EXTENSIONS)}, or RDF); each also with .gz.",
    )


def _split_files(files: list[Path], folder: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for path in files:
        stem = Path(path.name.lower().removesuffix(".gz")).stem
        split = _SPLIT_NAMES.get(stem.removesuffix("set").rstrip("_-"))
        if split is None:
            continue
        if split in found:
            raise DataError(
                f"two files could be the {split} split: {found[split].name} and {path.name}",
                where=str(folder),
                remedy="Remove or rename one of them.",
            )
        found[split] = path
    return {split: found[split] for split in ("train", "valid", "test") if split in found}


def _what_is_there(folder: Path, files: list[Path]) -> str:
    if files:
        return f" (it has {', '.join(path.name for path in files[:5])}{', …' if len(files) > 5 else ''})"
    inside = sorted(path.name for path in folder.iterdir() if path.is_dir())
    return f" (it has the folders {', '.join(inside[:8])}: name one of them)" if inside else " (it is empty)"
