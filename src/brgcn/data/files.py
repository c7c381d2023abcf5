"""Opening, hashing and writing files: gzip by content, errors that name the file, no half-written results."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import os
import secrets
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from brgcn.errors import DataError

_BUFFER = 1 << 20
_GZIP_MAGIC = b"\x1f\x8b"
_FOREIGN_MAGIC = {
    b"PK\x03\x04": "a zip archive",
    b"BZh": "a bzip2 file",
    b"\xfd7zXZ": "an xz file",
    b"\x28\xb5\x2f\xfd": "a zstd file",
    b"7z\xbc\xaf": "a 7z archive",
}


def kind_of(path: Path) -> str:
    """The extension that tells the format, in lower case and without ``.gz``: ``.nt`` for ``graph.NT.gz``."""
    name = path.name.lower().removesuffix(".gz")
    return Path(name).suffix


def check_file(path: Path) -> None:
    """Raise the error that fits when ``path`` is not a readable, non-empty file."""
    where = str(path)
    with _file_errors(where):
        if path.is_dir():
            raise DataError("this is a folder, but a file is expected", where=where, remedy="Name a file inside it.")
        is_empty = path.stat().st_size == 0
        if not path.is_file():
            message = "this is a pipe or a device, but a file is expected"
            raise DataError(message, where=where, remedy="Write the data to a file first.")
        if is_empty:
            raise DataError("the file is empty", where=where, remedy="Fetch or export it again.")


@contextlib.contextmanager
def open_binary(path: Path, *, progress: bool = False) -> Iterator[BinaryIO]:
    """The bytes of a file, decompressed when it begins like gzip, whatever its name says.

    Whatever goes wrong in the body because of the file (a truncated gzip stream, say) becomes a ``DataError``. With
    ``progress`` a bar on standard error follows how much of the file has been read.
    """
    check_file(path)
    with _file_errors(str(path)), contextlib.ExitStack() as stack:
        raw = cast(BinaryIO, stack.enter_context(path.open("rb")))
        magic = raw.read(6)
        raw.seek(0)
        for foreign, what in _FOREIGN_MAGIC.items():
            if magic.startswith(foreign):
                raise DataError(f"this is {what}", where=str(path), remedy="Unpack it; plain and gzip files are read.")
        if progress:
            raw = _with_progress_bar(raw, path, stack)
        if magic.startswith(_GZIP_MAGIC):
            raw = cast(BinaryIO, stack.enter_context(gzip.GzipFile(fileobj=raw, mode="rb")))
        # Not entered into the stack: closing the buffer would close what the stack closes.
        yield cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, raw), _BUFFER))


def sha256_of(path: Path) -> str:
    """Hexadecimal sha256 of the bytes of a file as they are on disk."""
    check_file(path)
    with _file_errors(str(path)), path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextlib.contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """A name beside ``path`` to write to; it takes the place of ``path`` when the body ends well, else it is removed.

    Readers see the old file or the whole new one, never a part, and two writers do not disturb each other.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.part")
    try:
        beside.touch(exist_ok=False)
        permissions = beside.stat().st_mode  # what the user's umask allows; some writers make private files
        yield beside
        beside.chmod(permissions)
        os.replace(beside, path)
    finally:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)


@contextlib.contextmanager
def _file_errors(where: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise DataError("there is no such file", where=where, remedy="Check the path.") from error
    except PermissionError as error:
        raise DataError("permission denied", where=where, remedy="Make the file readable for you.") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(
            f"the gzip data is damaged or cut short ({error})", where=where, remedy="Fetch or compress the file again."
        ) from error
    except OSError as error:
        raise DataError(f"the file cannot be read ({error.strerror or error})", where=where) from error


def _with_progress_bar(raw: BinaryIO, path: Path, stack: contextlib.ExitStack) -> BinaryIO:
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import wrap_file

    console = Console(stderr=True)
    bar = wrap_file(
        raw,
        total=path.stat().st_size,
        description=f"reading {escape(path.name)}",
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    return stack.enter_context(bar)
