"""The errors a user can cause, each with the remedy in its text."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from itertools import islice

MOST_COMPARED = 100_000  # names that a misspelt one is compared with


class BrgcnError(Exception):
    """Something about the input or the environment is wrong and the user can mend it.

    The command line prints these as one message without a traceback. ``where`` names the file (and line), ``remedy``
    says what to do next.
    """

    def __init__(self, message: str, *, where: str | None = None, remedy: str | None = None) -> None:
        self.message = message
        self.where = where
        self.remedy = remedy
        text = f"{where}: {message}" if where else message
        super().__init__(f"{text}\n  {remedy}" if remedy else text)


def is_out_of_memory(error: BaseException) -> bool:
    """torch says it in words alone: on the CPU, on a GPU, and when a size is beyond all counting."""
    words = ("allocate memory", "out of memory", "not enough memory", "ALLOC_FAILED", "size calculation overflowed")
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and any(word in str(error) for word in words)
    )


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a sentence about a name that is not known."""
    near = difflib.get_close_matches(name, list(islice(known, MOST_COMPARED)), n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else ""


class GraphError(BrgcnError, ValueError):
    """Edges, types or sizes do not describe a graph."""


class DataError(BrgcnError, ValueError):
    """A file or a table could not be read as what it should be."""


class FetchError(BrgcnError):
    """A data set could not be obtained from any of its sources."""


class SettingsError(BrgcnError, ValueError):
    """A setting is unknown, of the wrong type, or out of range."""


class RunError(BrgcnError):
    """A run folder is missing, incomplete, or of another kind."""
