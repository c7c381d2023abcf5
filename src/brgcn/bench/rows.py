"""One row of a result: a contender, its time and memory, and the limit of the machine."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import torch

from brgcn.bench import limit
from brgcn.bench.contender import Contender
from brgcn.bench.task import BenchGraph, Built, EpochTask, LayerTask
from brgcn.bench.timing import Budget, Measurement, measure
from brgcn.graph import RelationalGraph

Row = dict[str, Any]
_NOTHING: Row = {"layer_bytes": None, "limit_ms": None, "operator_bytes": None, "operator_limit_ms": None}


@cache
def _small() -> BenchGraph:
    """To rehearse on. Not made when this is imported: processes are forked from one that has computed nothing."""
    edges = torch.tensor([[0, 1, 2, 0], [1, 2, 0, 2]]), torch.tensor([0, 1, 1, 0])
    graph = RelationalGraph.from_edges(*edges).with_inverse()
    return BenchGraph("rehearsal", graph, torch.tensor([0, 1]), torch.tensor([0, 1]), 2)


class Bench(NamedTuple):
    """What all rows of one run have in common."""

    device: torch.device
    budget: Budget
    copy_rate: float  # bytes per second
    tell: Callable[[str], None]  # what is being measured, for whoever waits
    apart: bool = False  # each row in a process of its own


def epoch_row(contender: Contender, task: EpochTask, bench: Bench) -> Row:
    assert contender.epoch is not None
    build = contender.epoch
    layers = task.field.layers
    head = {
        "graph": task.subject.name,
        "scope": task.scope,
        "library": contender.library,
        "layer": contender.name,
        "runs": contender.runs,
        "edges": layers[0].num_edges,
        "edges_last_layer": layers[-1].num_edges,
    }
    bench.tell(f"{task.subject.name}: epoch, {task.scope}, {contender.library} {contender.name}")

    def least(built: Built) -> int:
        return limit.epoch_bytes(task, built.parameter_bytes, built.index_bytes, contender.runs)

    small = _small()._replace(num_classes=task.subject.num_classes)  # kernels are compiled for widths

    def rehearse() -> object:
        return build(EpochTask(small, task.scope, task.device)).step()

    return head | _measured(contender, lambda: build(task), rehearse, least, bench)


def layer_row(contender: Contender, task: LayerTask, graph_name: str, hopeless: str | None, bench: Bench) -> Row:
    """``hopeless``: why it is not even tried."""
    assert contender.layer is not None
    build = contender.layer
    direction = "forward+backward" if task.backward else "forward"
    head = {
        "graph": graph_name,
        "scope": "full",
        "library": contender.library,
        "layer": contender.name,
        "pass": direction,
        "nodes": task.graph.num_nodes,
        "relations": task.graph.num_relations,
        "edges": task.graph.num_edges,
        "width": task.width,
    }
    if hopeless is not None:
        return head | _NOTHING | Measurement(error=hopeless).row()
    bench.tell(
        f"{graph_name}: layer, {direction}, E {task.graph.num_edges:,}, R {task.graph.num_relations}, "
        f"d {task.width}, {contender.library} {contender.name}"
    )
    return head | _measured(
        contender,
        lambda: build(task),
        lambda: build(LayerTask(_small().graph, task.width, task.backward, task.device)).step(),
        lambda built: limit.layer_bytes(task, built.parameter_bytes, built.index_bytes),
        bench,
    )


def _measured(
    contender: Contender,
    build: Callable[[], Built],
    rehearse: Callable[[], object],
    least: Callable[[Built], int],
    bench: Bench,
) -> Row:
    made: list[Built] = []

    def begin() -> Callable[[], object]:
        made.append(build())
        return made[0].step

    with contender.surroundings(bench.device):
        rehearse()  # loads compiled kernels and libraries, which are not the memory of this row
        measurement = measure(begin, bench.device, bench.budget)
    row = _NOTHING | measurement.row()
    if made:
        row["layer_bytes"] = least(made[0])
        if made[0].operator_bytes is not None:
            row["operator_bytes"] = made[0].operator_bytes()
        for name in ("layer", "operator"):
            moved = row[f"{name}_bytes"]
            if moved is not None:
                row["limit_ms" if name == "layer" else "operator_limit_ms"] = 1000 * moved / bench.copy_rate
    return row
