"""Downloads against a local server with faults, and members of archives that cannot be trusted."""

from __future__ import annotations

import errno
import hashlib
import io
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from serving import Resource, serve

from brgcn.data.sources import archives
from brgcn.data.sources import download as module
from brgcn.data.sources.archives import extract_members
from brgcn.data.sources.download import download
from brgcn.data.sources.http_client import HttpClient, without_credentials
from brgcn.errors import FetchError

BODY = bytes(range(256)) * 1000
SHA = hashlib.sha256(BODY).hexdigest()


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_PAUSE", 0.0)


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_file_arrives_whole_and_alone(tmp_path: Path) -> None:
    with serve({"/f": Resource(BODY)}) as server:
        assert download(f"{server.url}/f", tmp_path / "new" / "f", sha256=SHA).read_bytes() == BODY
    assert files(tmp_path / "new") == ["f"]


def test_passing_faults_are_retried_and_continued(tmp_path: Path) -> None:
    resource = Resource(BODY, ranges=True, failures=[503], cut_after=[1000])
    with serve({"/f": resource}) as server:
        assert download(f"{server.url}/f", tmp_path / "f", sha256=SHA).read_bytes() == BODY
        assert server.requests[2][1]["Range"] == "bytes=1000-"


def test_without_sha_a_part_is_continued_only_if_the_server_vouches_for_it(tmp_path: Path) -> None:
    with serve({"/f": Resource(BODY, ranges=True, etag='"one"', cut_after=[1000])}) as server:
        assert download(f"{server.url}/f", tmp_path / "f").read_bytes() == BODY
        assert server.requests[1][1]["If-Range"] == '"one"'
    with serve({"/f": Resource(BODY, ranges=True, cut_after=[1000])}) as server:
        assert download(f"{server.url}/f", tmp_path / "g").read_bytes() == BODY
        assert "Range" not in server.requests[1][1]


@pytest.mark.parametrize(
    ("left_over", "ranges", "requests"),
    [(BODY[:5000], True, 1), (BODY[:5000], False, 1), (b"of another file", True, 2), (BODY + b"more", True, 2)],
)
def test_left_over_part_is_used_if_it_fits(tmp_path: Path, left_over: bytes, ranges: bool, requests: int) -> None:
    (tmp_path / "f.part").write_bytes(left_over)
    with serve({"/f": Resource(BODY, ranges=ranges)}) as server:
        assert download(f"{server.url}/f", tmp_path / "f", sha256=SHA).read_bytes() == BODY
        assert len(server.requests) == requests
        assert server.requests[0][1]["Range"] == f"bytes={len(left_over)}-"
    assert files(tmp_path) == ["f"]


def test_missing_file_is_not_asked_for_again(tmp_path: Path) -> None:
    with serve({}) as server:
        with pytest.raises(FetchError, match="answers 404"):
            download(f"{server.url}/f", tmp_path / "f")
        assert len(server.requests) == 1
    assert files(tmp_path) == []


def test_gives_up_after_three_tries(tmp_path: Path) -> None:
    with serve({"/f": Resource(BODY, failures=[500] * 9)}) as server:
        with pytest.raises(FetchError, match="answers 500"):
            download(f"{server.url}/f", tmp_path / "f")
        assert len(server.requests) == module.TRIES


def test_nobody_there(tmp_path: Path) -> None:
    with serve({}) as server:
        url = server.url
    with pytest.raises(FetchError, match="not reachable"):
        download(f"{url}/f", tmp_path / "f")
    assert files(tmp_path) == []


def test_wrong_sha_leaves_the_old_file_alone(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"old")
    with serve({"/f": Resource(b"other")}) as server, pytest.raises(FetchError, match=f"expected {SHA}"):
        download(f"{server.url}/f", tmp_path / "f", sha256=SHA)
    assert files(tmp_path) == ["f"]
    assert (tmp_path / "f").read_bytes() == b"old"


def test_more_bytes_than_allowed(tmp_path: Path) -> None:
    with serve({"/f": Resource(BODY)}) as server, pytest.raises(FetchError, match="more than the 1,000 bytes"):
        download(f"{server.url}/f", tmp_path / "f", max_bytes=1000)
    assert files(tmp_path) == []


class _BreaksOff(HttpClient):
    """Gives some bytes, then raises."""

    error: BaseException = KeyboardInterrupt()

    def open(self, url: str, headers: Any = None) -> Any:
        response = super().open(url, headers)
        read = response.read
        given = []

        def reader(size: int) -> bytes:
            if given:
                raise self.error
            given.append(True)
            return bytes(read(100))

        response.read = reader
        return response


@pytest.mark.parametrize(("sha", "left"), [(SHA, ["f.part"]), (None, [])])
def test_interruption_keeps_only_what_can_be_proven(tmp_path: Path, sha: str | None, left: list[str]) -> None:
    with serve({"/f": Resource(BODY, ranges=True)}) as server:
        with pytest.raises(KeyboardInterrupt):
            download(f"{server.url}/f", tmp_path / "f", client=_BreaksOff(), sha256=sha)
        assert files(tmp_path) == left
        assert download(f"{server.url}/f", tmp_path / "f", sha256=SHA).read_bytes() == BODY
        assert server.requests[-1][1].get("Range") == ("bytes=100-" if left else None)


def test_full_disk_leaves_nothing(tmp_path: Path) -> None:
    client = _BreaksOff()
    object.__setattr__(client, "error", OSError(errno.ENOSPC, "No space left on device"))
    with serve({"/f": Resource(BODY)}) as server, pytest.raises(FetchError, match="the disk is full"):
        download(f"{server.url}/f", tmp_path / "f", client=client, sha256=SHA)
    assert files(tmp_path) == []


def test_two_downloads_of_one_file_do_not_share_a_part(tmp_path: Path) -> None:
    with serve({"/f": Resource(BODY)}) as server, module._part_file(tmp_path / "f", keep=True) as other:
        other.write(b"half")
        other.flush()
        download(f"{server.url}/f", tmp_path / "f", sha256=SHA)
        assert (tmp_path / "f.part").read_bytes() == b"half"
    assert (tmp_path / "f").read_bytes() == BODY


def test_password_is_sent_and_never_shown_nor_given_to_another_host(tmp_path: Path) -> None:
    with serve({"/f": Resource(BODY)}) as other, serve({"/f": Resource(b"", redirect=f"{other.url}/f")}) as first:
        download(first.url.replace("//", "//anna:se%2Fcret@") + "/f", tmp_path / "f")
        assert first.requests[0][1]["Authorization"] == "Basic YW5uYTpzZS9jcmV0"
        assert "Authorization" not in other.requests[0][1]
    with serve({}) as server, pytest.raises(FetchError) as failure:
        download(server.url.replace("//", "//anna:secret@") + "/f", tmp_path / "f")
    assert "secret" not in str(failure.value)
    assert without_credentials("https://a:b@host/x") == "https://host/x"


def test_other_kinds_of_address_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FetchError, match="'ftp'"):
        download("ftp://127.0.0.1/f", tmp_path / "f")


# ---------------------------------------------------------------------- archives


def make_tar(path: Path, members: dict[str, bytes], links: dict[str, str] | None = None) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, target in (links or {}).items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            tar.addfile(info)
        for name, body in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(body)
            tar.addfile(info, io.BytesIO(body))
    return path


def test_members_go_where_the_caller_says(tmp_path: Path) -> None:
    archive = make_tar(tmp_path / "a.tgz", {"../evil": b"evil", "./p/data/x": b"X", "p/data/y": b"Y", "y": b"no"})
    extract_members(archive, {"x": tmp_path / "one", "y": tmp_path / "two"}, inside=("p/data",))
    assert files(tmp_path) == ["a.tgz", "one", "two"]
    assert ((tmp_path / "one").read_bytes(), (tmp_path / "two").read_bytes()) == (b"X", b"Y")


def test_zip_members(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as zipped:
        zipped.writestr("p/x", b"X")
    extract_members(tmp_path / "a.zip", {"x": tmp_path / "x"}, inside=("", "p"))
    assert (tmp_path / "x").read_bytes() == b"X"


def test_missing_members_and_links_are_refused(tmp_path: Path) -> None:
    archive = make_tar(tmp_path / "a.tgz", {"y": b"Y"}, links={"x": "/etc/hostname"})
    with pytest.raises(FetchError, match="does not hold x"):
        extract_members(archive, {"x": tmp_path / "x"})
    assert not (tmp_path / "x").exists()


def test_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = make_tar(tmp_path / "a.tgz", {"before": bytes(5000), "x": bytes(5000)})
    with pytest.raises(FetchError, match="more than the 100 allowed"):
        extract_members(archive, {"x": tmp_path / "x"}, member_limit=100)
    monkeypatch.setattr(archives, "SCAN_LIMIT", 6000)
    with pytest.raises(FetchError, match="unfolds to more"):
        extract_members(archive, {"x": tmp_path / "x"})


def test_damaged_archives_are_refused(tmp_path: Path) -> None:
    (tmp_path / "b.tgz").write_bytes(b"no archive")
    with pytest.raises(FetchError, match="damaged"):
        extract_members(tmp_path / "b.tgz", {"x": tmp_path / "x"})
    whole = make_tar(tmp_path / "c", {"x": BODY}).read_bytes()
    (tmp_path / "d.tgz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FetchError, match="damaged"):
        extract_members(tmp_path / "d.tgz", {"x": tmp_path / "x"})
