"""Where the cache lies; apart from the cache itself, because the catalogue needs it without torch."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder(cache_dir: str | Path | None = None) -> Path:
    """The given folder, else ``BRGCN_CACHE``, else ``brgcn`` in the user's cache folder of this platform."""
    if cache_dir is not None:
        return Path(cache_dir).expanduser()
    if from_environment := os.environ.get("BRGCN_CACHE"):
        return Path(from_environment).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "brgcn"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "brgcn" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "brgcn"
