"""The catalogue: what is known about each data set that can be asked for by name.

The facts stand in ``catalogue.yaml`` beside this file; nothing here touches the network or the disk beyond it.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field, fields
from functools import cache
from importlib import resources
from typing import Any, Literal, get_args

import yaml

Task = Literal["nodes", "links"]
SPLIT_NAMES = ("train", "valid", "test")


@dataclass(frozen=True)
class Package:
    """A source distribution on the package index that carries the data set; only its data files are ever read."""

    project: str
    version: str
    file_name: str
    sha256: str
    recipe: str  # how the folder is made from its members, see package_data.py
    inside: str  # the folder inside the archive that holds the data


@dataclass(frozen=True)
class PublicArchive:
    """A data set class of PyG whose attribute names the address of the original files."""

    dataset_class: str  # in torch_geometric.datasets
    attribute: str = "url"
    key: str | None = None  # the attribute is a mapping: which of its values
    bundle: str | None = None  # fills {} in the address of one tar archive; None: one file per split below the address


@dataclass(frozen=True)
class Entry:
    """One data set of the catalogue.

    ``expected`` counts what a correct reading gives: nodes, relations, edges, literals, classes and labelled nodes per
    split for ``nodes``; entities, relations and triples per split for ``links``. ``content_sha256`` is the
    order-independent digest of :func:`brgcn.data.content.content_digest`, the same for every container of the data.
    """

    name: str
    title: str
    task: Task
    folder: str  # inside a mirror
    expected: dict[str, int]
    licence: str
    citation: tuple[str, ...]
    sources: tuple[str, ...]  # in words, for people
    graph_file: str | None = None
    train_file: str | None = None
    valid_file: str | None = None
    test_file: str | None = None
    labels_file: str | None = None  # all labels in one table, split by a hash of the node's name
    split_fractions: tuple[float, ...] | None = None  # train, valid, test; only with labels_file
    node_column: str | None = None
    label_column: str | None = None
    drop_relations: tuple[str, ...] = ()  # target relations, never part of the graph
    sha256: dict[str, str] = field(default_factory=dict)
    content_sha256: str | None = None
    public_archives: tuple[PublicArchive, ...] = ()
    package: Package | None = None
    notes: tuple[str, ...] = ()

    @property
    def required_files(self) -> tuple[str, ...]:
        """The files without which the folder is of no use."""
        candidates = (self.graph_file, self.labels_file, self.train_file, self.valid_file, self.test_file)
        return tuple(file for file in candidates if file is not None)

    @property
    def split_files(self) -> dict[str, str]:
        """Split name -> file."""
        files = {"train": self.train_file, "valid": self.valid_file, "test": self.test_file}
        return {split: file for split, file in files.items() if file is not None}


def names() -> tuple[str, ...]:
    """The names of all entries, in the order of the catalogue."""
    return tuple(_entries())


def entries() -> tuple[Entry, ...]:
    """All entries, in the order of the catalogue."""
    return tuple(_entries().values())


def find(name: str) -> Entry | None:
    """The entry of that name; case, hyphens, underscores and spaces do not matter."""
    return {_plain(entry.name): entry for entry in entries()}.get(_plain(name))


def nearest(name: str) -> str | None:
    """The known name most like an unknown one, for error messages."""
    plain_names = {_plain(known): known for known in names()}
    close = difflib.get_close_matches(_plain(name), plain_names, n=1, cutoff=0.5)
    return plain_names[close[0]] if close else None


def _plain(name: str) -> str:
    return re.sub(r"[-_\s.]", "", name).casefold()


@cache
def _entries() -> dict[str, Entry]:
    text = resources.files("brgcn.data").joinpath("catalogue.yaml").read_text(encoding="utf-8")
    return {name: _entry(name, facts) for name, facts in yaml.safe_load(text).items()}


def _entry(name: str, facts: dict[str, Any]) -> Entry:
    known = {f.name for f in fields(Entry)}
    if unknown := set(facts) - known:
        raise ValueError(f"catalogue.yaml, {name}: unknown fields {sorted(unknown)}")
    values = dict(facts)
    for key in ("citation", "sources", "drop_relations", "split_fractions", "notes"):
        if key in values:
            values[key] = tuple(values[key])
    if values["task"] not in get_args(Task):
        raise ValueError(f"catalogue.yaml, {name}: unknown task {values['task']!r}")
    if "package" in values:
        values["package"] = Package(**values["package"])
    values["public_archives"] = tuple(PublicArchive(**archive) for archive in values.get("public_archives", ()))
    return Entry(name=name, **values)
