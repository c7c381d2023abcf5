from __future__ import annotations

import time

import pytest
import torch
from small_subjects import CPU

from brgcn.bench.growth import random_graph
from brgcn.bench.memory import available_memory
from brgcn.bench.timing import QUICK, Budget, copy_rate, measure, quartiles, time_limit
from brgcn.errors import BrgcnError


def test_the_median_of_what_was_timed() -> None:
    measured = measure(lambda: lambda: time.sleep(0.01), CPU, QUICK).row()
    assert 10 <= measured["ms_low"] <= measured["ms"] <= measured["ms_high"] < 100
    assert measured["repeats"] == 3
    assert "error" not in measured
    assert quartiles([4.0]) == (4.0, 4.0, 4.0)
    assert quartiles([1.0, 2.0, 3.0]) == (1.5, 2.0, 2.5)


def test_short_work_is_repeated_inside_a_measurement() -> None:
    calls = []
    measured = measure(lambda: lambda: calls.append(1), CPU, QUICK)
    assert len(calls) > 100
    assert len(measured.seconds) == 3


def test_peak_memory_is_that_of_the_work() -> None:
    megabytes = 64
    measured = measure(lambda: lambda: torch.ones(megabytes << 18).sum(), CPU, QUICK)
    if measured.peak_bytes is None:  # a kernel that does not let the high-water mark be reset
        assert measured.seconds
        assert measured.row()["peak_bytes"] is None
        return
    # at most: once training has asked for it, the C library keeps what earlier repetitions freed
    assert 0.8 * (megabytes << 20) < measured.peak_bytes < 8 * (megabytes << 20)


def test_too_much_is_a_row_and_not_the_end() -> None:
    room = available_memory()
    if room is not None:
        measured = measure(lambda: lambda: torch.empty(2 * room, dtype=torch.uint8), CPU, QUICK)
        assert measured.row()["error"] == "out of memory"
        assert measured.row()["ms"] is None
    torch.empty(1000)  # the ceiling is gone again

    def forever() -> None:
        while True:
            time.sleep(0.01)

    assert measure(lambda: forever, CPU, Budget(limit=0.2)).error == "took longer than 0.2 s"
    with time_limit(10):
        pass


def test_what_a_library_cannot_do_is_said() -> None:
    def broken() -> None:
        raise ValueError("not for this graph\nmore")

    assert measure(lambda: broken, CPU, QUICK).error == "ValueError: not for this graph"

    def ours() -> None:
        raise BrgcnError("the user can mend this")

    with pytest.raises(BrgcnError):
        measure(lambda: ours, CPU, QUICK)


def test_copy_rate() -> None:
    assert 1e8 < copy_rate(CPU, 1 << 22) < 1e13


def test_random_graphs() -> None:
    graph = random_graph(4000, 20)
    assert (graph.num_edges, graph.num_relations, graph.num_nodes) == (4000, 20, 500)
    sizes = torch.bincount(graph.edge_type, minlength=20)
    assert sizes[0] > 2 * sizes[5] > 0
    assert graph.identity == random_graph(4000, 20).identity
