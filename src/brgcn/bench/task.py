"""What a contender is asked to compute, and what it gives back to be timed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from brgcn.graph import RelationalGraph
from brgcn.receptive_field import ReceptiveField, receptive_field

HIDDEN, LAYERS = 16, 2
BASES = 10  # of our models, and of those variants of PyG's that have any
SCOPES = ("full", "field")


class BenchGraph(NamedTuple):
    """A graph with inverse relations and its training labels, on the CPU."""

    name: str
    graph: RelationalGraph
    nodes: Tensor  # [n]
    labels: Tensor  # [n]
    num_classes: int


@dataclass(frozen=True)
class EpochTask:
    """One training epoch: two layers, hidden width 16, cross-entropy on the labelled nodes, Adam."""

    subject: BenchGraph
    scope: str  # "full": every layer sees all edges; "field": only those that reach the labelled nodes
    device: torch.device

    @cached_property
    def field(self) -> ReceptiveField:
        """The graph of each layer, on the CPU; the same for every library."""
        graph, nodes = self.subject.graph, self.subject.nodes
        if self.scope == "field":
            return receptive_field(graph, nodes, LAYERS)
        return ReceptiveField((graph,) * LAYERS, nodes)


@dataclass(frozen=True)
class LayerTask:
    """One layer from ``width`` to ``width`` on the whole graph, with the way back or without."""

    graph: RelationalGraph
    width: int
    backward: bool
    device: torch.device


@dataclass(frozen=True)
class Built:
    """A contender made ready: ``step()`` does the work once; the first number of what an epoch returns is its loss.

    The bytes are what it cannot avoid to touch, see ``limit``; those of the operators are counted when asked for,
    after the timing, because counting derives tables.
    """

    step: Callable[[], Tensor]
    parameter_bytes: int
    index_bytes: int
    operator_bytes: Callable[[], int] | None = None


def own_copy(graph: RelationalGraph, device: torch.device) -> RelationalGraph:
    """With arrays of its own and no derived tables yet, so that memory is counted for the one who needs it."""
    arrays = {name: getattr(graph, name).to(device, copy=True) for name in _ARRAYS}
    return replace(graph, **arrays)


def tensor_bytes(tensors: Iterable[Tensor]) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


_ARRAYS = ("node_ptr", "pair_ptr", "pair_relation", "edge_source", "edge_order")
