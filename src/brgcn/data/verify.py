"""Comparing a folder with what the catalogue says about the data set."""

from __future__ import annotations

from pathlib import Path

from brgcn.data.catalogue import Entry
from brgcn.data.content import Content, read_content
from brgcn.errors import DataError

# The published counts of graphs without a digest were made with a tool that merges some literals (01 and 1).
_TOLERANCE_WITHOUT_DIGEST = 0.01


def check_content(entry: Entry, folder: Path) -> Content:
    """Read the entry's files completely; DataError unless their content is what the catalogue expects."""
    content = read_content(entry, folder, with_digest=entry.content_sha256 is not None)
    tolerance = _TOLERANCE_WITHOUT_DIGEST if entry.content_sha256 is None else 0.0
    if differences := count_differences(entry, content.counts, tolerance=tolerance):
        raise DataError(f"the content is not that of {entry.name}: {'; '.join(differences)}", where=str(folder))
    if entry.content_sha256 is not None and content.digest != entry.content_sha256:
        raise DataError(
            f"the content is not that of {entry.name}: all counts are right, but its digest is {content.digest}, "
            f"expected {entry.content_sha256}",
            where=str(folder),
        )
    return content


def count_differences(entry: Entry, counts: dict[str, int], *, tolerance: float = 0.0) -> list[str]:
    """What differs from the expected counts, in words; counts that are not known on both sides are left out."""
    return [
        f"{counts[what]:,} {what} instead of {expected:,}"
        for what, expected in entry.expected.items()
        if what in counts and abs(counts[what] - expected) > tolerance * expected
    ]
