"""What the trainer asks of a model, ours or a baseline."""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Self

import torch
from torch import Tensor, nn

from brgcn.graph import RelationalGraph
from brgcn.nn.slots import Seed


@contextlib.contextmanager
def torch_seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Inside, torch's random numbers for the CPU and for ``device`` begin at ``seed``; outside they go on as if nothing
    had been drawn."""
    on_cuda = device.type == "cuda"
    with torch.random.fork_rng(devices=[device] if on_cuda else []):
        torch.default_generator.manual_seed(seed)
        if on_cuda:
            with torch.cuda.device(device):
                torch.cuda.manual_seed(seed)
        yield


class NodeScorer(nn.Module):
    """Gives each target node a score per class; several of the same kind may be computed ``together``."""

    num_layers: int
    replicas: int = 1  # models that are computed together
    draws: bool = False  # dropout from torch's own random numbers, not from those that ``seed`` counts off

    @abstractmethod
    def forward(self, graphs: Sequence[RelationalGraph], x: Tensor | None = None, seed: Seed = None) -> Tensor:
        """``graphs``: one per layer; ``x`` [graphs[0].num_nodes, features] or None. Logits [targets, classes], with
        replicas [targets, replicas, classes]. ``seed`` fixes the dropout of this pass."""

    @staticmethod
    @abstractmethod
    def together(models: Sequence[NodeScorer]) -> NodeScorer:
        """One model that computes all of ``models``, which have the same graph and settings."""

    @abstractmethod
    def apart(self, replica: int) -> NodeScorer:
        """The model of one replica."""

    @abstractmethod
    def rebuilt_for(self, old: RelationalGraph, new: RelationalGraph) -> Self:
        """The same model for a grown graph whose first nodes are those of the ``old`` one."""
