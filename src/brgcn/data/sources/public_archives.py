"""Data sets from the public archives that the installed PyG names.

The addresses are read from PyG's data set classes when they are needed, so they are as current as the user's PyG. The
sha256 of these files is not known; the caller proves what was read by its content.
"""

from __future__ import annotations

import importlib
import tempfile
from pathlib import Path

from brgcn.data.catalogue import Entry, PublicArchive
from brgcn.data.content import split_triples
from brgcn.data.sources.archives import extract_members
from brgcn.data.sources.download import download
from brgcn.data.sources.http_client import without_credentials
from brgcn.data.sources.openke import has_count_line, read_id_triples, read_names, write_triples
from brgcn.errors import FetchError

_SPLIT_LIMIT = 512 << 20


def build_from_public_archive(entry: Entry, archive: PublicArchive, folder: Path, *, progress: bool) -> str:
    """Fill ``folder`` with the entry's files and say where they came from."""
    address = archive_address(archive)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        if archive.bundle is not None:
            _unpack_bundle(entry, archive.bundle, address, Path(scratch), folder, progress)
        else:
            _fetch_splits(entry, address, Path(scratch), folder, progress)
    return f"{without_credentials(address)}, named by PyG's {archive.dataset_class}"


def archive_address(archive: PublicArchive) -> str:
    """The address that the class of the installed PyG states."""
    try:
        datasets = importlib.import_module("torch_geometric.datasets")
    except ImportError as error:
        raise FetchError("torch_geometric is not installed, so its archives are not known") from error
    try:
        value = getattr(getattr(datasets, archive.dataset_class), archive.attribute)
        address = str(value[archive.key] if archive.key is not None else value)
    except (AttributeError, KeyError, TypeError) as error:
        raise FetchError(f"the installed torch_geometric names no {archive.attribute} for it") from error
    return address.format(archive.bundle) if archive.bundle is not None else address


def _unpack_bundle(entry: Entry, bundle: str, address: str, scratch: Path, folder: Path, progress: bool) -> None:
    packed = download(address, scratch / address.rsplit("/", 1)[-1], progress=progress)
    extract_members(packed, {file: folder / file for file in entry.required_files}, inside=("", bundle))


def _fetch_splits(entry: Entry, address: str, scratch: Path, folder: Path, progress: bool) -> None:
    """One text file per split, either names or (with a count in the first line) ids, whose names lie beside."""

    def fetch(file: str) -> Path:
        return download(f"{address}/{file}", scratch / file, max_bytes=_SPLIT_LIMIT, progress=progress)

    for split, file in entry.split_files.items():
        table = fetch(f"{split}.txt")
        if not has_count_line(table):
            write_triples(split_triples(table), folder / file)
            continue
        names = {kind: scratch / f"{kind}2id.txt" for kind in ("entity", "relation")}
        entities, relations = (read_names(path if path.exists() else fetch(path.name)) for path in names.values())
        write_triples(read_id_triples(table, entities, relations), folder / file)
