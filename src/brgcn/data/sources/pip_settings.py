"""Where the user's pip gets its packages from: asked of pip itself, so that mirrors and proxies are honoured.

No address of an index stands in this package. pip is only asked for its settings; it neither downloads nor builds
anything here, because building a source distribution would run its code.
"""

from __future__ import annotations

import ast
import contextlib
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass

from brgcn.data.sources.http_client import HttpClient, split_credentials
from brgcn.errors import FetchError

# Later ones win, as in pip: the common section, the section of the command, the environment.
_SECTIONS = ("global", "download", ":env:")
_TRUE = ("1", "true", "yes", "on", "y", "t")


@dataclass(frozen=True)
class PipSettings:
    """The part of pip's configuration that says where packages are."""

    indexes: tuple[str, ...]  # addresses of simple indexes, the main one first
    find_links: tuple[str, ...]  # folders or pages with links
    client: HttpClient


def read_pip_settings() -> PipSettings:
    """Ask pip (that of this Python, else the one on the path) for its configuration."""
    pip, text = _ask_pip("config", "list")
    options = parse_config_list(text)
    indexes: list[str] = []
    if options.get("no-index", "").casefold() not in _TRUE:
        main = options.get("index-url") or _default_index(pip)
        indexes = list(dict.fromkeys([main, *options.get("extra-index-url", "").split()]))
    logins = []
    for index in indexes:
        bare, login = split_credentials(index)
        if login:
            logins.append((bare.split("/")[2], login))
    client = HttpClient(
        certificates=options.get("cert") or None,
        proxy=options.get("proxy") or None,
        timeout=_seconds(options.get("timeout") or options.get("default-timeout")),
        trusted_hosts=tuple(options.get("trusted-host", "").split()),
        credentials=tuple(logins),
    )
    return PipSettings(tuple(indexes), tuple(options.get("find-links", "").split()), client)


def parse_config_list(text: str) -> dict[str, str]:
    """The lines ``section.option='value'`` of ``pip config list`` as option -> value, the strongest section winning."""
    by_section: dict[str, dict[str, str]] = {section: {} for section in _SECTIONS}
    for line in text.splitlines():
        match = re.match(r"^(:env:|\w+)\.([\w-]+)=(.*)$", line.strip())
        if match is None or match[1] not in by_section:
            continue
        try:
            value = ast.literal_eval(match[3])
        except (SyntaxError, ValueError):
            continue
        by_section[match[1]][match[2].replace("_", "-").lower()] = str(value)
    merged: dict[str, str] = {}
    for section in _SECTIONS:
        merged |= by_section[section]
    return merged


def _default_index(pip: list[str]) -> str:
    """The address that pip itself uses when none is configured, as its help states it."""
    text = _run([*pip, "download", "--help"])
    match = re.search(r"--index-url.*?\(default\s+(\S+?)\)", text, flags=re.DOTALL)
    if match is None:
        raise FetchError("pip does not say which package index it uses", remedy="Set PIP_INDEX_URL.")
    return match[1]


def _ask_pip(*arguments: str) -> tuple[list[str], str]:
    """(the pip that answers, its answer): that of this Python, else the one on the path."""
    commands = [[sys.executable, "-m", "pip"]]
    if path := shutil.which("pip") or shutil.which("pip3"):
        commands.append([path])
    for command in commands:
        with contextlib.suppress(FetchError):
            return command, _run([*command, *arguments])
    raise FetchError(
        f"there is no pip that could say which package index to use (install it with `{sys.executable} -m ensurepip`)"
    )


def _run(command: list[str]) -> str:
    # A wide terminal, so that addresses in the help are not broken over two lines.
    environment = {**os.environ, "COLUMNS": "1000", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "NO_COLOR": "1"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=60, env=environment, stdin=subprocess.DEVNULL, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise FetchError(f"pip could not be asked for its settings ({type(error).__name__})") from error
    return done.stdout


def _seconds(text: str | None) -> float:
    """pip's own time-out if one is set; a very long one would only make a dead index look like a hanging program."""
    try:
        return min(max(float(text), 1.0), 60.0) if text else 15.0
    except ValueError:
        return 15.0
