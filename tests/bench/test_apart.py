"""Rows that are measured in a process of their own."""

import os

import pytest
import torch
from small_subjects import small_graph

from brgcn.bench.apart import row_of
from brgcn.bench.contender import Contender
from brgcn.bench.ours import ours
from brgcn.bench.rows import Bench, Row, epoch_row
from brgcn.bench.task import EpochTask
from brgcn.bench.timing import QUICK
from brgcn.errors import SettingsError


def process_row(contender: Contender, bench: Bench) -> Row:
    bench.tell(f"now {contender.name}")
    return {"process": os.getpid()}


def failing_row(contender: Contender, bench: Bench) -> Row:
    raise SettingsError("not so")


def ending_row(contender: Contender, bench: Bench) -> Row:
    os._exit(3)


def bench_of(told: list[str], apart: bool = True) -> Bench:
    return Bench(torch.device("cpu"), QUICK, 1e9, told.append, apart)


def test_a_row_has_a_process_of_its_own_and_is_heard() -> None:
    told: list[str] = []
    processes = {row_of(process_row, ours("brgcn", None), bench=bench_of(told))["process"] for _ in range(2)}
    assert len(processes | {os.getpid()}) == 3
    assert told == ["now brgcn"] * 2
    assert row_of(process_row, ours("brgcn", None), bench=bench_of(told, apart=False))["process"] == os.getpid()


def test_what_goes_wrong_there_is_told_here() -> None:
    with pytest.raises(SettingsError, match="not so"):
        row_of(failing_row, ours("brgcn", None), bench=bench_of([]))
    with pytest.raises(RuntimeError, match="ended without a result"):
        row_of(ending_row, ours("brgcn", None), bench=bench_of([]))


def test_an_epoch_is_measured_there() -> None:
    task = EpochTask(small_graph(), "field", torch.device("cpu"))
    row = row_of(epoch_row, ours("brgcn", None), task, bench=bench_of([]))
    assert row["ms"] > 0
    assert row["layer"] == "brgcn"
