"""Fetched data sets in the cache: one folder each, with a manifest that is written last."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from brgcn.data.catalogue import Entry
from brgcn.data.files import sha256_of
from brgcn.data.verify import check_content
from brgcn.errors import DataError

MANIFEST = "manifest.json"
_FORMAT = 1
_STALE_AFTER = 24 * 3600.0  # seconds after which a folder under construction is taken for abandoned


def stored_folder(entry: Entry, cache: Path, *, check: bool = True) -> Path | None:
    """The entry's folder in the cache if it is complete (and, with ``check``, its files are undamaged)."""
    folder = _place(entry, cache)
    manifest = _read_manifest(folder)
    if manifest is None or manifest.get("content_sha256") != entry.content_sha256:
        return None
    files = manifest.get("files")
    if not isinstance(files, dict) or not set(entry.required_files) <= set(files):
        return None
    for file in entry.required_files:
        if not (folder / file).is_file():
            return None
        with contextlib.suppress(DataError):
            if not check or sha256_of(folder / file) == files[file]:
                continue
        return None
    return folder


def add_to_store(entry: Entry, cache: Path, build: Callable[[Path], str]) -> Path:
    """Let ``build`` fill a new folder, prove its content, and move it to its place in the cache.

    Nothing appears at that place before it is complete; whatever stops the work, the unfinished folder is removed.
    """
    place = _place(entry, cache)
    place.parent.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(place)
    unfinished = place.with_name(f".{place.name}.{os.getpid()}-{secrets.token_hex(4)}.part")
    unfinished.mkdir()
    try:
        source = build(unfinished)
        content = check_content(entry, unfinished)
        manifest = {
            "format": _FORMAT,
            "name": entry.name,
            "source": source,
            "counts": content.counts,
            "content_sha256": content.digest,
            "files": {file: sha256_of(unfinished / file) for file in entry.required_files},
        }
        (unfinished / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
        _move_into_place(entry, cache, unfinished, place)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return place


def _move_into_place(entry: Entry, cache: Path, unfinished: Path, place: Path) -> None:
    for _ in range(3):
        try:
            os.rename(unfinished, place)
            return
        except OSError:
            if stored_folder(entry, cache) is not None:
                return  # somebody else was quicker
            if not place.exists():
                raise
            damaged = place.with_name(f".{place.name}.{secrets.token_hex(4)}.part")
            with contextlib.suppress(FileNotFoundError):
                os.rename(place, damaged)
            shutil.rmtree(damaged, ignore_errors=True)
    raise DataError("the folder in the cache cannot be replaced", where=str(place), remedy="Remove it.")


def _place(entry: Entry, cache: Path) -> Path:
    return cache / "fetched" / entry.name


def _read_manifest(folder: Path) -> dict[str, Any] | None:
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return manifest if isinstance(manifest, dict) and manifest.get("format") == _FORMAT else None


def _remove_abandoned(place: Path) -> None:
    """Folders that a killed process left under construction."""
    for folder in place.parent.glob(f".{place.name}.*.part"):
        with contextlib.suppress(OSError):
            if time.time() - folder.stat().st_mtime > _STALE_AFTER:
                shutil.rmtree(folder, ignore_errors=True)
