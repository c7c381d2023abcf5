"""Members of tar and zip archives, one by one and by exact name.

No path that stands in an archive is ever used to write a file: the caller says which member goes where. Links, devices
and members larger than the limit are refused, and so is an archive that unfolds without end.
"""

from __future__ import annotations

import contextlib
import tarfile
import zipfile
import zlib
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import IO

from brgcn.errors import FetchError

MEMBER_LIMIT = 2 << 30  # bytes of one wanted member
SCAN_LIMIT = 16 << 30  # bytes unfolded while looking for the wanted members
_CHUNK = 1 << 20


def extract_members(
    archive: Path, wanted: Mapping[str, Path], *, inside: Sequence[str] = ("",), member_limit: int = MEMBER_LIMIT
) -> None:
    """Write each wanted member (exact name in one of the folders ``inside``, a leading ``./`` aside) to its path."""
    missing = dict(wanted)
    short_names = {f"{folder}/{name}".lstrip("/"): name for folder in inside for name in wanted}
    try:
        with contextlib.closing(_members(archive, frozenset(short_names))) as members:
            for name, size, content in members:
                target = missing.pop(short_names[name], None)
                if target is None:
                    continue
                if size > member_limit:
                    raise FetchError(f"its member {name} has {size:,} bytes, more than the {member_limit:,} allowed")
                _copy(content, target, name, member_limit)
                if not missing:
                    return
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise FetchError(f"{archive.name} is damaged ({error})") from error
    if missing:
        raise FetchError(f"{archive.name} does not hold {', '.join(sorted(missing))}")


def _members(archive: Path, wanted: frozenset[str]) -> Generator[tuple[str, int, IO[bytes]], None, None]:
    """(name, declared size, content) of the wanted members that are plain files."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as zipped:
            for info in zipped.infolist():
                if (name := info.filename.removeprefix("./")) in wanted and not info.is_dir():
                    with zipped.open(info) as content:
                        yield name, info.file_size, content
        return
    scanned = 0
    with tarfile.open(archive, "r:*") as tar:
        for member in tar:
            scanned += member.size
            if scanned > SCAN_LIMIT:
                raise FetchError(f"{archive.name} unfolds to more than {SCAN_LIMIT:,} bytes")
            if (name := member.name.removeprefix("./")) in wanted and member.isreg():
                tar_content = tar.extractfile(member)
                if tar_content is not None:
                    with tar_content:
                        yield name, member.size, tar_content


def _copy(content: IO[bytes], target: Path, name: str, limit: int) -> None:
    written = 0
    with target.open("wb") as file:
        while chunk := content.read(_CHUNK):
            written += len(chunk)
            if written > limit:  # the declared size was a lie
                raise FetchError(f"its member {name} unfolds to more than {limit:,} bytes")
            file.write(chunk)
