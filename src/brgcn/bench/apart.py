"""A row in a process of its own, so that nothing counts which earlier rows have left in memory and in the C library:
"plain loop" rows need a C library as it comes, and how it keeps memory cannot be taken back within a process.
"""

from __future__ import annotations

import contextlib
import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from brgcn.bench.contender import Contender
from brgcn.bench.rows import Bench, Row
from brgcn.tasks.device import keep_freed_memory

# A server imports this once; processes forked from it start at once, and have computed nothing yet.
_START = 120.0  # seconds to start, compile and rehearse
_PRELOADED = ["torch_geometric.nn", "brgcn.bench.run"]


def row_of(make: Callable[..., Row], contender: Contender, *args: Any, bench: Bench) -> Row:
    """make(contender, *args, bench), in a process of its own where ``bench`` says so; ``make`` is a function of a
    module."""
    if not bench.apart:
        return make(contender, *args, bench)
    context = _context()
    here, there = context.Pipe()
    process = context.Process(
        target=_work, args=(there, make, contender, args, bench._replace(tell=_silent, apart=False))
    )
    process.start()
    there.close()
    try:
        row = _listen(here, bench)
        process.join(timeout=10)
        return row
    finally:
        process.terminate()  # one that is still there: what was to be measured does not matter any more
        process.join()


def _context() -> Any:
    if "forkserver" not in multiprocessing.get_all_start_methods():  # as on Windows: every process imports anew
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    return context


def _listen(here: Connection, bench: Bench) -> Row:
    patience = 2 * bench.budget.limit + _START  # the limit is kept by the process itself, if it still can
    while True:
        if not here.poll(patience):
            raise RuntimeError(f"the process that measures a row has said nothing for {patience:g} s")
        try:
            what, message = here.recv()
        except EOFError:
            raise RuntimeError("the process that measured a row ended without a result") from None
        if what == "row":
            return dict(message)
        if what == "error":
            raise message
        bench.tell(message)


def _work(
    there: Connection, make: Callable[..., Row], contender: Contender, args: tuple[Any, ...], bench: Bench
) -> None:
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        if contender.keeps_memory:
            keep_freed_memory()
        try:
            there.send(("row", make(contender, *args, bench._replace(tell=lambda text: there.send(("tell", text))))))
        except Exception as error:
            there.send(("error", error))


def _silent(text: str) -> None:
    pass
