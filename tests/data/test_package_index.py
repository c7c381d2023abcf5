"""Finding a file on package indexes of all kinds; pip is asked for settings only, the indexes are local."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path

import pytest
from serving import Resource, serve

from brgcn.data.catalogue import Package
from brgcn.data.sources import download as download_module
from brgcn.data.sources import pip_settings
from brgcn.data.sources.http_client import HttpClient
from brgcn.data.sources.package_index import fetch_package
from brgcn.data.sources.pip_settings import PipSettings, parse_config_list, read_pip_settings
from brgcn.errors import FetchError

BODY = b"a source distribution"
PACKAGE = Package("Some_Data.Set", "1.0", "Some_Data.Set-1.0.tar.gz", hashlib.sha256(BODY).hexdigest(), "openke", "x")
PAGE = "/simple/some-data-set/"


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download_module, "FIRST_PAUSE", 0.0)


def settings(*indexes: str, find_links: tuple[str, ...] = (), **client: object) -> PipSettings:
    return PipSettings(indexes, find_links, HttpClient(timeout=5, **client))  # type: ignore[arg-type]


def html(*links: str) -> Resource:
    body = "<html><body>" + "".join(f'<a href="{link}">x</a>' for link in links) + "</body></html>"
    return Resource(body.encode(), "text/html; charset=utf-8")


def test_html_page_with_relative_links(tmp_path: Path) -> None:
    page = html("../../files/other-1.0.tar.gz", "../../files/some_data_set-1.0.tar.gz#sha256=0")
    with serve({PAGE: page, "/files/some_data_set-1.0.tar.gz": Resource(BODY)}) as server:
        found = fetch_package(PACKAGE, tmp_path / "f", settings=settings(f"{server.url}/simple/"))
        assert found.read_bytes() == BODY
        assert server.paths() == [PAGE, "/files/some_data_set-1.0.tar.gz"]
        assert "vnd.pypi.simple.v1+json" in server.requests[0][1]["Accept"]


def test_json_page(tmp_path: Path) -> None:
    body = json.dumps({"files": [{"filename": PACKAGE.file_name, "url": "/f/x"}]}).encode()
    page = Resource(body, "application/vnd.pypi.simple.v1+json")
    with serve({PAGE: page, "/f/x": Resource(BODY)}) as server:
        assert fetch_package(PACKAGE, tmp_path / "f", settings=settings(f"{server.url}/simple")).read_bytes() == BODY


@pytest.mark.parametrize("with_index", [True, False])
def test_file_index(tmp_path: Path, with_index: bool) -> None:
    folder = tmp_path / "simple" / "some-data-set"
    folder.mkdir(parents=True)
    (folder / PACKAGE.file_name).write_bytes(BODY)
    if with_index:
        (folder / "index.html").write_text(f'<a href="{PACKAGE.file_name}">x</a>')
    index = (tmp_path / "simple").as_uri()
    assert fetch_package(PACKAGE, tmp_path / "f", settings=settings(index)).read_bytes() == BODY


def test_find_links_folder_goes_before_the_index(tmp_path: Path) -> None:
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / PACKAGE.file_name).write_bytes(BODY)
    with serve({}) as server:
        chosen = settings(f"{server.url}/simple", find_links=(str(tmp_path / "wheels"),))
        assert fetch_package(PACKAGE, tmp_path / "f", settings=chosen).read_bytes() == BODY
        assert server.paths() == []


def test_another_file_of_that_name_is_refused_and_the_next_index_asked(tmp_path: Path) -> None:
    good = {PAGE: html("f/Some_Data.Set-1.0.tar.gz"), PAGE + "f/Some_Data.Set-1.0.tar.gz": Resource(BODY)}
    bad = {**good, PAGE + "f/Some_Data.Set-1.0.tar.gz": Resource(b"something else")}
    with serve(bad) as first, serve(good) as second:
        chosen = settings(f"{first.url}/simple", f"{second.url}/simple")
        assert fetch_package(PACKAGE, tmp_path / "f", settings=chosen).read_bytes() == BODY
        with pytest.raises(FetchError, match=f"expected {PACKAGE.sha256}"):
            fetch_package(PACKAGE, tmp_path / "g", settings=settings(f"{first.url}/simple"))
    assert not (tmp_path / "g").exists()


def test_every_place_gives_its_reason_without_password(tmp_path: Path) -> None:
    with serve({PAGE: html("other-2.0.tar.gz")}) as one, serve({}) as two:
        secret = two.url.replace("//", "//anna:secret@")
        with pytest.raises(FetchError) as failure:
            fetch_package(PACKAGE, tmp_path / "f", settings=settings(f"{one.url}/simple", f"{secret}/simple"))
    message = str(failure.value)
    assert "does not list Some_Data.Set-1.0.tar.gz" in message
    assert "404" in message
    assert "secret" not in message
    with pytest.raises(FetchError, match="no package index"):
        fetch_package(PACKAGE, tmp_path / "f", settings=settings())


def test_links_of_the_index_get_its_password_others_do_not(tmp_path: Path) -> None:
    with serve({"/f.tar.gz": Resource(BODY), "/Some_Data.Set-1.0.tar.gz": Resource(BODY)}) as elsewhere:
        own = {PAGE: html("/Some_Data.Set-1.0.tar.gz"), "/Some_Data.Set-1.0.tar.gz": Resource(BODY)}
        with serve(own) as index:
            host = index.url.split("/")[2]
            chosen = settings(f"{index.url}/simple", credentials=((host, "anna:secret"),))
            fetch_package(PACKAGE, tmp_path / "f", settings=chosen)
            assert all("Authorization" in headers for _, headers in index.requests)
            index.resources[PAGE] = html(f"{elsewhere.url}/Some_Data.Set-1.0.tar.gz")
            fetch_package(PACKAGE, tmp_path / "f", settings=chosen)
            assert "Authorization" not in elsewhere.requests[0][1]


def test_page_on_the_network_may_not_name_local_files(tmp_path: Path) -> None:
    (tmp_path / PACKAGE.file_name).write_bytes(BODY)
    page = html((tmp_path / PACKAGE.file_name).as_uri())
    with serve({PAGE: page}) as server, pytest.raises(FetchError, match="links to a file of this machine"):
        fetch_package(PACKAGE, tmp_path / "f", settings=settings(f"{server.url}/simple"))


# ---------------------------------------------------------------------- pip's settings


def test_config_list_is_read_with_pips_precedence() -> None:
    text = "\n".join(
        [
            ":env:.index-url='http://env/simple'",
            "download.timeout='7'",
            "global.extra-index-url='http://a/simple\\nhttp://b/simple'",
            "global.index-url='http://global/simple'",
            "global.timeout='99'",
            "install.cert='/not/ours'",
            "not a setting",
        ]
    )
    options = parse_config_list(text)
    assert options == {
        "index-url": "http://env/simple",
        "extra-index-url": "http://a/simple\nhttp://b/simple",
        "timeout": "7",
    }


def clean_pip(monkeypatch: pytest.MonkeyPatch, **variables: str) -> None:
    for name in list(os.environ):
        if name.startswith("PIP_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    for name, value in variables.items():
        monkeypatch.setenv(f"PIP_{name}", value)


def test_settings_come_from_pip_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pip")
    clean_pip(
        monkeypatch,
        INDEX_URL="http://anna:secret@index.invalid/simple",
        EXTRA_INDEX_URL="http://a.invalid/simple http://b.invalid/simple",
        FIND_LINKS="/some/wheels",
        TIMEOUT="7",
        PROXY="http://proxy.invalid:1",
    )
    found = read_pip_settings()
    assert found.indexes[0] == "http://anna:secret@index.invalid/simple"
    assert found.indexes[1:] == ("http://a.invalid/simple", "http://b.invalid/simple")
    assert found.find_links == ("/some/wheels",)
    assert found.client.timeout == 7
    assert found.client.proxy == "http://proxy.invalid:1"
    assert found.client.credentials == (("index.invalid", "anna:secret"),)


def test_default_index_is_the_one_that_pip_states(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pip")
    clean_pip(monkeypatch)
    (index,) = read_pip_settings().indexes
    assert index.startswith("https://")
    assert index.endswith("/simple")


def test_no_index_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pip_settings, "_run", lambda command: "global.no-index='true'\nglobal.index-url='http://x/'")
    assert read_pip_settings().indexes == ()


def test_without_pip_there_is_a_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FetchError, match="ensurepip"):
        read_pip_settings()
