"""The whole benchmark: every contender on every graph, one after another; on the CPU each in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from brgcn.bench.apart import row_of
from brgcn.bench.bars import bars
from brgcn.bench.contender import Contender, recorded
from brgcn.bench.growth import QUICK_SIZES, SIZES, growth_rows
from brgcn.bench.loading import Source, loading_rows
from brgcn.bench.memory import cheap_collection
from brgcn.bench.ours import TOGETHER, ours
from brgcn.bench.pyg_layers import extensions, plain_contenders, pyg_contenders
from brgcn.bench.rows import Bench, Row, epoch_row, layer_row
from brgcn.bench.task import SCOPES, BenchGraph, EpochTask, LayerTask
from brgcn.bench.timing import QUICK, Budget, copy_rate
from brgcn.errors import SettingsError
from brgcn.ops import backend_for, use_backend
from brgcn.tasks.device import keep_freed_memory
from brgcn.tasks.environment import environment

PARTS = ("epoch", "layer", "growth", "loading")
WIDTH = 64  # of the single layer
PLAIN_TORCH = "plain torch"


def bench(
    graphs: Sequence[BenchGraph],
    device: torch.device | str = "cpu",
    *,
    parts: Sequence[str] = ("epoch", "layer", "growth"),
    sources: Sequence[Source] = (),
    backend: str | None = None,
    budget: Budget | None = None,
    quick: bool = False,
    tell: Callable[[str], None] = lambda text: None,
    command: str | None = None,
) -> dict[str, Any]:
    """Measure and compare; the result can be written as JSON.

    Args:
        graphs: with inverse relations, on the CPU; for the parts ``epoch`` and ``layer``.
        parts: some of ``PARTS``.
        sources: data sets to time the loading of, for the part ``loading``.
        backend: of our operators; None: what the device suggests.
        budget: time for each row.
        quick: tiny and inaccurate, to see that everything works.
        tell: is called with a line about what is measured next.
        command: that the result was made with, for the record; the command line is known without.
    """
    unknown = set(parts) - set(PARTS)
    if unknown:
        raise SettingsError(f"there is no part {min(unknown)!r}", remedy=f"Parts are {', '.join(PARTS)}.")
    device = torch.device(device)
    check_backend(backend, device)
    made_with = environment(device)
    tell("copy rate of the machine")
    rate = copy_rate(device, 1 << 24 if quick else None)
    apart = device.type == "cpu" and not quick
    common = Bench(device, budget or (QUICK if quick else Budget()), rate, tell, apart)
    result: dict[str, Any] = {
        "command": command or made_with["command"],
        "environment": made_with,
        "pyg_extensions": extensions(),
        "quick": quick,
        "copy_rate_gb_s": rate / 1e9,
        "graphs": [_facts(subject) for subject in graphs],
        **{part: [] for part in PARTS},
    }
    with cheap_collection():
        if "epoch" in parts:
            result["epoch"] = [row for subject in graphs for row in _plain_epochs(subject, common)]
        if not apart:
            keep_freed_memory()  # as training does; from here on for everybody, since it cannot be taken back
        if "epoch" in parts:
            result["epoch"] += [row for subject in graphs for row in _epochs(subject, backend, common)]
        if "layer" in parts:
            result["layer"] = [row for subject in graphs for row in _layers(subject, backend, common)]
        if "growth" in parts:
            sizes = QUICK_SIZES if quick else SIZES[device.type]
            result["growth"] = growth_rows(_growing(backend), sizes.series(), common)
        if "loading" in parts:
            result["loading"] = [row for source in sources for row in loading_rows(source, common)]
    result["bars"] = bars(result)
    return result


def check_backend(backend: str | None, device: torch.device) -> None:
    """Complain where our operators cannot be computed so, before anything takes time."""
    with use_backend(backend):
        backend_for(torch.empty(0, device=device))


def _plain_epochs(subject: BenchGraph, common: Bench) -> list[Row]:
    tasks = [EpochTask(subject, scope, common.device) for scope in SCOPES]
    return [row_of(epoch_row, contender, task, bench=common) for task in tasks for contender in plain_contenders()]


def _epochs(subject: BenchGraph, backend: str | None, common: Bench) -> list[Row]:
    rows = []
    models = [ours(model, backend) for model in ("brgcn", "rgcn", "brgcn-node", "brgcn-relation")]
    together = ours("brgcn", backend, runs=TOGETHER, title=f"brgcn, {TOGETHER} runs together")
    for scope in SCOPES:
        task = EpochTask(subject, scope, common.device)
        contenders = [*models, *([together] if scope == "field" else []), *pyg_contenders()]
        rows += [row_of(epoch_row, contender, task, bench=common) for contender in contenders]
    return rows


def _layers(subject: BenchGraph, backend: str | None, common: Bench) -> list[Row]:
    contenders = [c for c in pyg_contenders() if c.layer is not None]
    contenders += [ours("brgcn", backend), ours("rgcn", backend)]
    if backend != "torch":
        contenders.append(ours("brgcn", "torch", title=f"brgcn, {PLAIN_TORCH}"))
    if common.device.type == "cuda":
        contenders += [recorded(c) for c in contenders if c.recordable and PLAIN_TORCH not in c.name]
    rows = []
    for backward in (False, True):
        task = LayerTask(subject.graph, WIDTH, backward, common.device)
        rows += [row_of(layer_row, contender, task, subject.name, None, bench=common) for contender in contenders]
    return rows


def _growing(backend: str | None) -> list[Contender]:
    pyg = [contender for contender in pyg_contenders(typed=False) if contender.name in ("RGCNConv", "FastRGCNConv")]
    return [*pyg, ours("brgcn", backend), ours("rgcn", backend)]


def _facts(subject: BenchGraph) -> dict[str, Any]:
    graph = subject.graph
    return {
        "name": subject.name,
        "nodes": graph.num_nodes,
        "relations": graph.num_relations,
        "edges": graph.num_edges,
        "pairs": graph.num_pairs,
        "labels": subject.labels.numel(),
        "classes": subject.num_classes,
    }
