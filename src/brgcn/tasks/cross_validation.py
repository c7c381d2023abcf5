"""Stratified cross-validation on the training labels; test labels are never read. The folds train together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from brgcn.graph import RelationalGraph
from brgcn.tasks.settings import NodeSettings
from brgcn.tasks.splits import stratified_folds
from brgcn.tasks.together import runs_together
from brgcn.tasks.trainer import NodeTrainer


def cross_validate(
    graph: RelationalGraph,
    nodes: Tensor,
    labels: Tensor,
    num_classes: int,
    settings: NodeSettings,
    *,
    folds: int = 5,
    repeats: int = 1,
    seed: int = 0,
    device: torch.device | str = "cpu",
    features: Tensor | None = None,
    listener: Callable[[int, dict[str, Any]], None] | None = None,
) -> dict[str, list[list[float]]]:
    """Accuracy and loss on the fold left out, after every epoch.

    Args:
        graph: as ``prepare_graph`` makes it, on ``device``.
        nodes, labels: [n] the training labels.
        repeats: how often the folds are drawn (and the models initialised) anew.
    Returns:
        ``accuracy`` and ``loss``, each [repeats * folds][epochs].
    """
    drawn = [(seed + repeat, stratified_folds(labels, folds, seed + repeat)) for repeat in range(repeats)]
    seeds = [drawing for drawing, _ in drawn for _ in range(folds)]
    held = torch.stack([fold == left_out for _, fold in drawn for left_out in range(folds)], dim=1)
    curves: dict[str, list[list[float]]] = {"accuracy": [], "loss": []}
    size = runs_together(graph, settings, len(seeds), device)
    for first in range(0, len(seeds), size):
        some = slice(first, first + size)
        trainer = NodeTrainer(
            graph,
            nodes,
            labels,
            num_classes,
            settings,
            seeds[some],
            device=device,
            features=features,
            watched=held[:, some],
        )
        accuracy: list[list[float]] = [[] for _ in trainer.seeds]
        loss: list[list[float]] = [[] for _ in trainer.seeds]
        for records in trainer.epochs():
            for run, record in records:
                accuracy[run].append(record["watch_accuracy"])
                loss[run].append(record["watch_loss"])
                if listener is not None:
                    listener(first + run, record)
        curves["accuracy"] += accuracy
        curves["loss"] += loss
    return curves
