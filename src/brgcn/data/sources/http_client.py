"""Opening addresses: certificates, proxies, credentials, time-outs. Passwords never reach a message."""

from __future__ import annotations

import base64
import ssl
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from brgcn.errors import FetchError

_USER_AGENT = "brgcn-data-fetch"
_SCHEMES = ("http", "https", "file")


@dataclass(frozen=True)
class HttpClient:
    """How to reach addresses; the defaults are those of the environment (``HTTPS_PROXY``, ``SSL_CERT_FILE``, ...)."""

    certificates: str | None = None  # a file of certificate authorities
    proxy: str | None = None
    timeout: float = 15.0  # seconds without a sign of life
    trusted_hosts: tuple[str, ...] = ()  # whose certificates are not checked, as with pip's trusted-host
    # host -> "user:password"; links of an index page on the index's own host need its credentials too
    credentials: tuple[tuple[str, str], ...] = ()

    def open(self, url: str, headers: Mapping[str, str] | None = None) -> Any:
        """Open an http, https or file address for reading; the caller closes the response."""
        bare_url, login = split_credentials(url)
        parts = urllib.parse.urlsplit(bare_url)
        if parts.scheme not in _SCHEMES:
            raise FetchError(f"addresses of the kind {parts.scheme!r} are not fetched: {bare_url}")
        request = urllib.request.Request(bare_url, headers={"User-Agent": _USER_AGENT, **(headers or {})})
        login = login or dict(self.credentials).get(parts.netloc)
        if login:
            token = base64.b64encode(login.encode()).decode()
            # "unredirected": a redirect to another host must not carry the password along
            request.add_unredirected_header("Authorization", f"Basic {token}")
        trusted = parts.hostname in self.trusted_hosts or parts.netloc in self.trusted_hosts
        opener = self._unverified_opener if trusted else self._opener
        return opener.open(request, timeout=self.timeout)

    @cached_property
    def _opener(self) -> urllib.request.OpenerDirector:
        context = ssl.create_default_context(cafile=self.certificates)
        if self.certificates is None and not context.cert_store_stats()["x509_ca"]:
            _add_certifi(context)
        return self._build(context)

    @cached_property
    def _unverified_opener(self) -> urllib.request.OpenerDirector:
        return self._build(ssl._create_unverified_context())

    def _build(self, context: ssl.SSLContext) -> urllib.request.OpenerDirector:
        proxies = {"http": self.proxy, "https": self.proxy} if self.proxy else None
        return urllib.request.build_opener(
            urllib.request.ProxyHandler(proxies), urllib.request.HTTPSHandler(context=context)
        )


def split_credentials(url: str) -> tuple[str, str | None]:
    """``https://user:word@host/x`` -> (``https://host/x``, ``user:word``)."""
    parts = urllib.parse.urlsplit(url)
    if "@" not in parts.netloc:
        return url, None
    login, _, host = parts.netloc.rpartition("@")
    return urllib.parse.urlunsplit(parts._replace(netloc=host)), urllib.parse.unquote(login)


def without_credentials(url: str) -> str:
    """The address as it may be shown."""
    return split_credentials(url)[0]


def _add_certifi(context: ssl.SSLContext) -> None:
    """Some Python builds (macOS) come without certificates; certifi is then usually installed beside."""
    try:
        import certifi
    except ImportError:
        return
    context.load_verify_locations(certifi.where())
