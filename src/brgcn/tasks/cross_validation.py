"""Stratified cross-validation on the training labels; test labels are never read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from brgcn.graph import RelationalGraph
from brgcn.tasks.settings import NodeSettings
from brgcn.tasks.splits import stratified_folds
from brgcn.tasks.training import NodeTrainer


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
    curves: dict[str, list[list[float]]] = {"accuracy": [], "loss": []}
    for repeat in range(repeats):
        fold = stratified_folds(labels, folds, seed + repeat)
        for left_out in range(folds):
            held = fold == left_out
            trainer = NodeTrainer(
                graph,
                nodes[~held],
                labels[~held],
                num_classes,
                settings,
                seed + repeat,
                device=device,
                watch=(nodes[held], labels[held]),
            )
            accuracy, loss = [], []
            for record in trainer.epochs():
                accuracy.append(record["watch_accuracy"])
                loss.append(record["watch_loss"])
                if listener is not None:
                    listener(repeat * folds + left_out, record)
            curves["accuracy"].append(accuracy)
            curves["loss"].append(loss)
    return curves
