"""Finding one file of a project on a package index (the simple API as HTML or JSON) and fetching it.

Works with http(s) and ``file:`` indexes and with find-links folders and pages. The file is chosen by its name, its
sha256 is checked before anybody opens it, and none of its code is run.
"""

from __future__ import annotations

import json
import re
import urllib.parse
import urllib.request
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from brgcn.data.catalogue import Package
from brgcn.data.sources.download import download, read_page
from brgcn.data.sources.http_client import HttpClient, without_credentials
from brgcn.data.sources.pip_settings import PipSettings, read_pip_settings
from brgcn.errors import FetchError

_ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.9, text/html;q=0.8"
_PAGE_LIMIT = 32 << 20
_PACKAGE_LIMIT = 512 << 20


def fetch_package(
    package: Package, target: Path, *, settings: PipSettings | None = None, progress: bool = False
) -> Path:
    """Download the package's file into ``target``; the first place that offers it with the right sha256 wins."""
    settings = settings or read_pip_settings()
    refusals: list[str] = []
    for place, page_url in _places(package, settings):
        try:
            link = _find_link(package, page_url, settings.client)
            if link is None:
                refusals.append(f"{place} does not list {package.file_name}")
                continue
            return download(
                link,
                target,
                client=settings.client,
                sha256=package.sha256,
                max_bytes=_PACKAGE_LIMIT,
                progress=progress,
            )
        except FetchError as error:
            refusals.append(f"{place}: {error.message}")
    raise FetchError("; ".join(refusals) or "pip is configured with no package index")


def _places(package: Package, settings: PipSettings) -> Iterator[tuple[str, str]]:
    """(how it is called in messages, address of the page that may hold the link)."""
    for location in settings.find_links:
        yield f"find-links {without_credentials(location)}", _as_url(location)
    project = re.sub(r"[-_.]+", "-", package.project).lower()
    for index in settings.indexes:
        yield f"index {without_credentials(index)}", _as_url(index).rstrip("/") + f"/{project}/"


def _as_url(location: str) -> str:
    if re.match(r"^[a-zA-Z][\w+.-]+:", location):  # two letters or more, so that C:\ is a path
        return location
    return Path(location).expanduser().absolute().as_uri()


def _find_link(package: Package, page_url: str, client: HttpClient) -> str | None:
    wanted = _plain(package.file_name)
    for name, link in _links(page_url, client):
        if _plain(name) == wanted:
            if link.startswith("file:") and not page_url.startswith("file:"):
                raise FetchError("a page on the network links to a file of this machine")
            return link
    return None


def _links(page_url: str, client: HttpClient) -> Iterator[tuple[str, str]]:
    """(file name, address) of everything that a page or folder offers."""
    if page_url.startswith("file:"):
        path = Path(urllib.request.url2pathname(urllib.parse.urlsplit(page_url).path))
        if path.is_dir() and not (path / "index.html").is_file():
            yield from ((file.name, file.as_uri()) for file in sorted(path.iterdir()) if file.is_file())
            return
        if path.is_dir():
            page_url = page_url.rstrip("/") + "/index.html"
    page = read_page(page_url, client=client, accept=_ACCEPT, max_bytes=_PAGE_LIMIT)
    if page.content_type == "application/vnd.pypi.simple.v1+json":
        yield from _links_of_json(page.body, page.url)
        return
    parser = _LinkParser()
    parser.feed(page.body.decode("utf-8", errors="replace"))
    for href in parser.links:
        url = urllib.parse.urljoin(urllib.parse.urljoin(page.url, parser.base or ""), href)
        path_part = urllib.parse.urlsplit(url).path
        yield urllib.parse.unquote(path_part.rsplit("/", 1)[-1]), urllib.parse.urldefrag(url).url


def _links_of_json(body: bytes, page_url: str) -> Iterator[tuple[str, str]]:
    try:
        for file in json.loads(body)["files"]:
            yield str(file["filename"]), urllib.parse.urljoin(page_url, str(file["url"]))
    except (ValueError, KeyError, TypeError) as error:
        raise FetchError("its answer is not a project page") from error


class _LinkParser(HTMLParser):
    """Collects the links of a page, and its ``<base href>`` if it has one."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.base: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        href = dict(attrs).get("href")
        if not href:
            return
        if tag == "a":
            self.links.append(href)
        elif tag == "base":
            self.base = href


def _plain(file_name: str) -> str:
    """Indexes spell names differently: pyRDF2Vec-0.0.3.tar.gz, pyrdf2vec-0.0.3.tar.gz."""
    return re.sub(r"[-_.]+", "-", file_name).lower()
