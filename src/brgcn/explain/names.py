"""Names that fit into a figure or a table."""

from __future__ import annotations


def short_name(name: str, limit: int = 48) -> str:
    """The telling end of an IRI, or the beginning of a literal."""
    prefix = "inverse of "
    if name.startswith(prefix):
        return prefix + short_name(name.removeprefix(prefix), limit - len(prefix))
    if name.startswith('"'):
        name = name.split("^^<")[0]
    else:
        for separator in ("#", "/"):
            tail = name.rstrip("/#").rsplit(separator, 1)[-1]
            if separator in name.rstrip("/#") and tail:
                name = tail
                break
    return name if len(name) <= limit else name[: limit - 1] + "…"
