"""What a result was made with, for the record."""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

_PACKAGES = ("torch", "numpy", "safetensors", "pyoxigraph", "torch-geometric")


def environment(device: torch.device) -> dict[str, Any]:
    return {
        "brgcn": _version("brgcn"),
        "commit": _commit(),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "system": f"{platform.system()} {platform.machine()}",
        "cpus": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        "command": shlex.join(["brgcn", *sys.argv[1:]]) if _is_command_line() else None,
    }


def _is_command_line() -> bool:
    called = Path(sys.argv[0])
    return called.stem == "brgcn" or called.parts[-2:] == ("brgcn", "__main__.py")


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _commit() -> str | None:
    """The commit of the source tree this module lies in, if it lies in one."""
    here = Path(__file__).resolve().parent
    if not any((parent / ".git").exists() for parent in here.parents):
        return None
    try:
        done = subprocess.run(
            ["git", "-C", str(here), "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
