"""``obtain``: a folder with the files of a data set of the catalogue, from the first of its sources that has it.

The sources in turn: the cache, a local mirror (used in place), the public archives that the installed PyG names, and
source distributions on the user's package index. What comes over the network is read and compared with the catalogue
before it enters the cache, so a folder in the cache is always complete and right.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from brgcn.data.cache_folder import cache_folder
from brgcn.data.catalogue import Entry
from brgcn.data.dataset_store import add_to_store, stored_folder
from brgcn.data.files import sha256_of
from brgcn.data.sources.package_data import build_from_package
from brgcn.data.sources.public_archives import build_from_public_archive
from brgcn.data.verify import check_content
from brgcn.errors import BrgcnError, DataError, FetchError

MIRROR_VARIABLE = "BRGCN_DATA"

Build = Callable[[Path], str]  # fills an empty folder and says where the data came from


def obtain(
    entry: Entry,
    *,
    data_dir: str | Path | None = None,
    cache_dir: str | Path | None = None,
    progress: bool = False,
) -> Path:
    """The folder that holds the entry's files, fetched if need be.

    Args:
        entry: what to obtain, see :func:`brgcn.data.catalogue.find`.
        data_dir: a local mirror, one folder per data set; else the environment variable ``BRGCN_DATA`` names one.
        cache_dir: where fetched data sets are kept; else the usual cache folder.
        progress: show downloads on standard error.

    Raises FetchError, which lists the reason of every source and says what to do.
    """
    cache = cache_folder(cache_dir)
    if (folder := stored_folder(entry, cache)) is not None:
        return folder
    reasons = [f"cache {cache}: not there yet"]
    for title, mirror in _mirrors(data_dir):
        found = _mirror_folder(entry, mirror)
        if isinstance(found, Path):
            _check_mirror(entry, found)
            return found
        reasons.append(f"{title}: {found}")
    for title, build in _remote_sources(entry, cache, progress):
        try:
            return add_to_store(entry, cache, build)
        except BrgcnError as error:
            reasons.append(f"{title}: {error.message}")
        except OSError as error:
            reasons.append(f"{title}: the cache could not be written ({error})")
    raise FetchError(
        f"{entry.name} could not be obtained from any of its sources\n" + "\n".join(f"  - {text}" for text in reasons),
        remedy=_remedy(entry),
    )


def locate(entry: Entry, *, data_dir: str | Path | None = None, cache_dir: str | Path | None = None) -> Path | None:
    """Where the entry's files lie on this machine already, without reading them; None if they would be fetched."""
    if (folder := stored_folder(entry, cache_folder(cache_dir), check=False)) is not None:
        return folder
    for _, mirror in _mirrors(data_dir):
        found = _mirror_folder(entry, mirror)
        if isinstance(found, Path):
            return found
    return None


# ---------------------------------------------------------------------- local mirrors


def _mirrors(data_dir: str | Path | None) -> Iterator[tuple[str, Path | None]]:
    """(how it is called in messages, its folder)."""
    if data_dir is not None:
        yield f"local mirror {data_dir}", Path(data_dir).expanduser()
    if variable := os.environ.get(MIRROR_VARIABLE):
        yield f"local mirror {variable} ({MIRROR_VARIABLE})", Path(variable).expanduser()
    elif data_dir is None:
        yield "local mirror", None


def _mirror_folder(entry: Entry, mirror: Path | None) -> Path | str:
    """The entry's folder in the mirror, or the reason why there is none."""
    if mirror is None:
        return f"none given ({MIRROR_VARIABLE} is not set)"
    if not mirror.is_dir():
        return "there is no such folder"
    folder = mirror / entry.folder
    missing = [file for file in entry.required_files if not (folder / file).is_file()]
    if missing:
        return f"{folder} lacks {', '.join(missing)}"
    return folder


def _check_mirror(entry: Entry, folder: Path) -> None:
    """Files with another sha256 than the catalogue's are accepted only if they say exactly the same."""
    for file in entry.required_files:
        expected = entry.sha256.get(file)
        if expected is None or (found := sha256_of(folder / file)) == expected:
            continue
        try:
            if entry.content_sha256 is not None:
                check_content(entry, folder)
                return
            reason = ""
        except DataError as error:
            reason = f", and {error.message}"
        raise FetchError(
            f"this is not the file of {entry.name} that is known: its sha256 is {found}, expected {expected}{reason}",
            where=str(folder / file),
            remedy="Replace the file, or load the folder by its path to use it as data of your own.",
        )


# ---------------------------------------------------------------------- over the network


def _remote_sources(entry: Entry, cache: Path, progress: bool) -> Iterator[tuple[str, Build]]:
    if not entry.public_archives:
        yield "public archive", _refuse("the installed PyG names none for it")
    for archive in entry.public_archives:
        yield (
            f"public archive of PyG's {archive.dataset_class}",
            partial(build_from_public_archive, entry, archive, progress=progress),
        )
    if entry.package is None:
        yield "package index", _refuse("no package is known to carry it")
    else:
        title = f"package index ({entry.package.project} {entry.package.version})"
        yield title, partial(build_from_package, entry, downloads=cache / "downloads", progress=progress)


def _refuse(reason: str) -> Build:
    def build(folder: Path) -> str:
        raise FetchError(reason)

    return build


def _remedy(entry: Entry) -> str:
    files = ", ".join(entry.required_files)
    return (
        f"Put {files} into a folder DIR/{entry.folder} and give --data-dir DIR or set {MIRROR_VARIABLE}=DIR.\n"
        f"  They can be had from: {'; '.join(entry.sources)}."
    )
