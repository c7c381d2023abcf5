"""Results that are measured once and kept as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from brgcn.tasks.run_files import read_json

REMEDY = "Remove it, or measure again with --overwrite."


def all_results(folder: Path) -> list[dict[str, Any]]:
    """By the names of their files; none where there is no such folder."""
    return [read_json(path, REMEDY) for path in sorted(folder.glob("*.json"))]


def kept_result(path: Path, facts: dict[str, Any]) -> dict[str, Any] | None:
    """What the file holds, if it was measured with the same ``facts`` (data, settings, ..)."""
    if not path.exists():
        return None
    result = read_json(path, REMEDY)
    return result if all(result.get(name) == value for name, value in facts.items()) else None
