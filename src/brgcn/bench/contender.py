"""A contender, and what the steps of all contenders share, so that they differ in the library alone."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from brgcn.bench.task import Built, EpochTask, LayerTask
from brgcn.tasks.step import Step

OURS, PYG = "brgcn", "PyG"
RECORDED = ", recorded"
PLAIN_LOOP = ", plain loop"  # Adam as it comes, and the C library as it comes: how most programs train
RELATIONAL = ("RGCNConv", "FastRGCNConv", "RGATConv")  # of PyG: those that the bars are about


def _nothing_special(device: torch.device) -> AbstractContextManager[None]:
    return contextlib.nullcontext()


@dataclass(frozen=True)
class Contender:
    """Builds the work that is timed, inside ``surroundings`` (threads, backend). All are functions of modules, so that
    another process can be told to use them."""

    name: str
    library: str
    epoch: Callable[[EpochTask], Built] | None
    layer: Callable[[LayerTask], Built] | None
    surroundings: Callable[[torch.device], AbstractContextManager[None]] = _nothing_special
    runs: int = 1  # trained together
    recordable: bool = True  # as a CUDA graph: it does not look at numbers on the host
    keeps_memory: bool = True  # freed memory stays with the process, as training does it; lent to others, too


def recorded(contender: Contender) -> Contender:
    """Its layer as a CUDA graph that is replayed: on small graphs Python takes longer to ask for the work than the
    device to do it."""
    build = contender.layer
    assert build is not None

    def layer(task: LayerTask) -> Built:
        built = build(task)
        return replace(built, step=Step(built.step, task.device))

    return replace(contender, name=f"{contender.name}{RECORDED}", layer=layer)


def layer_step(
    forward: Callable[[], Tensor], x: Tensor, parameters: Sequence[Tensor], task: LayerTask
) -> Callable[[], Tensor]:
    """Forward as in use, without anything kept for a way back; or forward and backward with gradients of features and
    parameters."""
    if not task.backward:

        def use() -> Tensor:
            with torch.no_grad():
                return forward()

        return use
    x.requires_grad_()
    gradient = torch.randn(task.graph.num_targets, task.width, device=task.device)

    def learn() -> Tensor:
        x.grad = None
        for parameter in parameters:
            parameter.grad = None
        forward().backward(gradient)
        return gradient

    return learn


def epoch_step(
    scores: Callable[[], Tensor], parameters: Sequence[Tensor], task: EpochTask, fused: bool = True
) -> Callable[[], Tensor]:
    """zero_grad, forward, cross-entropy on the labelled nodes, backward, Adam (fused, as ours, or as it comes)."""
    labels = task.subject.labels.to(task.device)
    optimizer = torch.optim.Adam(parameters, lr=0.01, weight_decay=5e-4, fused=fused or None)

    def step() -> Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(scores(), labels)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step
