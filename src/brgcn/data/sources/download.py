"""One file from an address to the disk: progress, retries, resumption, and never a half-written result.

The bytes go to ``NAME.part`` beside the target, which is renamed when they are complete and their sha256 is right.
After an interruption the part is continued where the server allows it, if a known sha256 will prove the result.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import http.client
import os
import time
import urllib.error
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BufferedRandom
from pathlib import Path
from typing import Any, TypeVar

from brgcn.data.sources.http_client import HttpClient, without_credentials
from brgcn.data.sources.progress import ByteProgress, no_progress, progress_bar
from brgcn.errors import FetchError

T = TypeVar("T")

TRIES = 3
FIRST_PAUSE = 0.5  # seconds before the second try; doubled each time
_CHUNK = 1 << 16
_RETRIED_STATUS = (408, 425, 429, 500, 502, 503, 504)
_TRANSIENT = (urllib.error.URLError, http.client.HTTPException, ConnectionError, TimeoutError)


def download(
    url: str,
    target: Path,
    *,
    client: HttpClient | None = None,
    sha256: str | None = None,
    max_bytes: int = 2 << 30,
    progress: bool = False,
) -> Path:
    """Fetch ``url`` into the file ``target`` (replaced if it exists) and return it.

    Raises FetchError with the reason: not reachable, refused, another sha256, larger than ``max_bytes``, disk full.
    """
    shown = without_credentials(url)
    transfer = _Transfer(url, client or HttpClient(), max_bytes, resumable=sha256 is not None)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _part_file(target, keep=sha256 is not None) as part:
            with progress_bar(target.name) if progress else no_progress() as advance:
                transfer.fill(part, advance)
                if sha256 is not None and _sha256(part) != sha256:
                    # Perhaps the part was of an older attempt on another file: once more from the beginning.
                    _empty(part)
                    transfer.fill(part, advance)
            if sha256 is not None and (found := _sha256(part)) != sha256:
                _empty(part)
                raise FetchError(f"{shown} has sha256 {found}, expected {sha256}")
            part.close()
            os.replace(part.name, target)
    except (*_TRANSIENT, OSError) as error:
        if isinstance(error, _TRANSIENT):
            raise FetchError(f"{shown}: {_reason(error)}") from error
        hint = "the disk is full" if _disk_is_full(error) else error.strerror or str(error)
        raise FetchError(f"{target} could not be written: {hint}") from error
    return target


@dataclass(frozen=True)
class Page:
    """A small answer, kept in memory."""

    body: bytes
    content_type: str
    url: str  # after redirects


def read_page(url: str, *, client: HttpClient, accept: str, max_bytes: int) -> Page:
    """Fetch a page, with the same retries as a download."""

    def read() -> Page:
        with client.open(url, {"Accept": accept}) as response:
            body = response.read(max_bytes + 1)
            if len(body) > max_bytes:
                raise FetchError(f"{without_credentials(url)} has more than the {max_bytes:,} bytes allowed")
            return Page(body, response.headers.get_content_type(), response.url)

    try:
        return _with_retries(read)
    except _TRANSIENT as error:
        raise FetchError(f"{without_credentials(url)}: {_reason(error)}") from error


@dataclass
class _Transfer:
    """The way from an address into an open file, in several tries if need be."""

    url: str
    client: HttpClient
    max_bytes: int
    resumable: bool  # what is there may be continued, because the result is proven by its sha256
    validator: str | None = None  # the server's tag of the file that we have a part of

    def fill(self, part: BufferedRandom, advance: ByteProgress) -> None:
        """Append what is missing to ``part``; each try continues where the last one stopped."""
        _with_retries(lambda: self._fill_once(part, advance))

    def _fill_once(self, part: BufferedRandom, advance: ByteProgress) -> None:
        have = part.seek(0, os.SEEK_END)
        headers = {"Accept-Encoding": "identity"}
        if have and (self.resumable or self.validator):
            headers["Range"] = f"bytes={have}-"
            if self.validator:
                headers["If-Range"] = self.validator
        with self._open(part, headers) as response:
            etag = response.headers.get("ETag")
            self.validator = None if etag is None or etag.startswith("W/") else etag
            if getattr(response, "status", None) != 206 or not _continues_at(response, have):
                have = 0
                _empty(part)
            length = response.headers.get("Content-Length")
            total = have + int(length) if length and length.isdigit() else None
            self._check_size(total or 0)
            while chunk := response.read(_CHUNK):
                have += len(chunk)
                self._check_size(have)
                part.write(chunk)
                advance(have, total)
            if total is not None and have < total:
                raise http.client.IncompleteRead(b"", total - have)

    def _open(self, part: BufferedRandom, headers: dict[str, str]) -> Any:
        try:
            return self.client.open(self.url, headers)
        except urllib.error.HTTPError as error:
            if error.code != 416 or "Range" not in headers:
                raise
            error.close()  # our part is not the beginning of their file
            _empty(part)
            return self.client.open(self.url)

    def _check_size(self, size: int) -> None:
        if size > self.max_bytes:
            raise FetchError(f"{without_credentials(self.url)} has more than the {self.max_bytes:,} bytes allowed")


def _with_retries(action: Callable[[], T]) -> T:
    """The result of ``action``, tried again after failures that may pass."""
    for attempt in range(1, TRIES + 1):
        try:
            return action()
        except _TRANSIENT as error:
            lasting = isinstance(error, urllib.error.HTTPError) and error.code not in _RETRIED_STATUS
            if isinstance(error, urllib.error.HTTPError):
                error.close()
            if lasting or attempt == TRIES:
                raise
        time.sleep(FIRST_PAUSE * 2 ** (attempt - 1))
    raise AssertionError("unreachable")


def _empty(part: BufferedRandom) -> None:
    part.seek(0)
    part.truncate()


def _continues_at(response: Any, position: int) -> bool:
    return str(response.headers.get("Content-Range", "")).startswith(f"bytes {position}-")


@contextlib.contextmanager
def _part_file(target: Path, *, keep: bool) -> Iterator[BufferedRandom]:
    """``target.part``, locked against other processes; left for the next attempt only if ``keep`` and not empty.

    A second process that downloads the same file at the same time gets a part of its own.
    """
    path = target.with_name(target.name + ".part")
    part = _open_or_create(path)
    # Opened first and locked then, so that two who come at once cannot both have it; and the other one may just have
    # renamed it to its place.
    if not (_lock(part) and path.exists() and os.path.samestat(os.fstat(part.fileno()), path.stat())):
        part.close()
        path = target.with_name(f"{target.name}.{os.getpid()}.part")
        part = _open_or_create(path)
        keep = False
    if not keep:
        part.truncate(0)
    try:
        part.seek(0, os.SEEK_END)
        yield part
    except BaseException as error:
        with contextlib.suppress(OSError):  # closing flushes, which fails again on a full disk
            part.close()
        if _disk_is_full(error) or not keep or path.stat().st_size == 0:
            path.unlink(missing_ok=True)
        raise
    finally:
        with contextlib.suppress(OSError):
            part.close()


def _open_or_create(path: Path) -> BufferedRandom:
    return open(path, "r+b", opener=lambda name, flags: os.open(name, flags | os.O_CREAT, 0o666))


def _lock(file: BufferedRandom) -> bool:
    """Take the lock of an open file; it is given up when the file is closed. Without locks (Windows): always True."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _sha256(part: BufferedRandom) -> str:
    part.flush()
    part.seek(0)
    digest = hashlib.file_digest(part, "sha256").hexdigest()
    part.seek(0, os.SEEK_END)
    return digest


def _disk_is_full(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


def _reason(error: BaseException) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"the server answers {error.code} {error.reason}"
    if isinstance(error, urllib.error.URLError):
        return f"not reachable ({error.reason})"
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, http.client.IncompleteRead):
        return "the connection broke off"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
