"""How many runs to train together."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Sequence
from typing import TypeVar

import torch

from brgcn.errors import is_out_of_memory
from brgcn.graph import RelationalGraph
from brgcn.nn import BASELINES
from brgcn.tasks.settings import NodeSettings

T = TypeVar("T")
SHARE = 0.4  # of the free memory that the runs of a group may take
# On the CPU runs side by side save little more than Python's share: their arithmetic is the same.
MOST = {"cpu": 10, "cuda": 32}


def runs_together(graph: RelationalGraph, settings: NodeSettings, runs: int, device: torch.device | str) -> int:
    """As many of ``runs`` as pay and fit into memory, in groups of equal size."""
    device = torch.device(device)
    if settings.model in BASELINES and device.type == "cpu":
        return 1  # side by side they save nothing there
    fit = int(SHARE * _free_memory(device) // bytes_of_run(graph, settings))
    largest = max(1, min(runs, MOST[device.type], fit))
    groups = -(-runs // largest)
    return -(-runs // groups)


def train_in_groups(
    graph: RelationalGraph,
    settings: NodeSettings,
    runs: int,
    device: torch.device | str,
    train: Callable[[range], Sequence[T]],
) -> list[T]:
    """What ``train`` returns for each of the runs 0, 1, .., in groups; one that does not fit into memory is halved."""
    size = runs_together(graph, settings, runs, device)
    done: list[T] = []
    first = 0
    while first < runs:
        group = range(first, min(first + size, runs))
        try:
            done += train(group)
            first = group.stop
        except Exception as error:
            if len(group) == 1 or not is_out_of_memory(error):
                raise
            size = (len(group) + 1) // 2
        _free_what_is_left(torch.device(device))
    return done


def _free_what_is_left(device: torch.device) -> None:
    """A trainer and its recorded step know each other, so that they and their memory stay until somebody looks; what
    an error held, likewise."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()


def bytes_of_run(graph: RelationalGraph, settings: NodeSettings) -> int:
    """A generous estimate: parameters with their gradient and two moments, and what a layer keeps for the way back."""
    width = settings.hidden * settings.heads
    if settings.model in BASELINES:  # a message for each edge; HAN keeps a summary of each node for each relation
        kept = graph.num_edges + (graph.num_relations * graph.num_nodes if settings.model == "han" else 0)
        return 4 * width * (4 * graph.num_nodes + 6 * settings.layers * kept)
    rows = graph.num_nodes * settings.bases if settings.bases else 3 * graph.num_pairs
    parameters = (rows + graph.num_nodes) * width + 2 * graph.num_pairs * settings.heads
    activations = settings.layers * (4 * 3 * width * graph.num_pairs + 4 * settings.heads * graph.num_edges)
    return 4 * (4 * parameters + activations)


def _free_memory(device: torch.device) -> int:
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4 << 30
