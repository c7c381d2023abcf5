"""Stratified cross-validation on the training labels; test labels are never read. The folds train together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from brgcn.graph import RelationalGraph
from brgcn.tasks.settings import NodeSettings
from brgcn.tasks.splits import stratified_folds
from brgcn.tasks.together import train_in_groups
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

    def curves_of(group: range) -> list[dict[str, list[float]]]:
        trainer = NodeTrainer(
            graph,
            nodes,
            labels,
            num_classes,
            settings,
            seeds[group.start : group.stop],
            device=device,
            features=features,
            watched=held[:, group.start : group.stop],
        )
        curves: list[dict[str, list[float]]] = [{"accuracy": [], "loss": []} for _ in group]
        for records in trainer.epochs():
            for run, record in records:
                for name, curve in curves[run].items():
                    curve.append(record[f"watch_{name}"])
                if listener is not None:
                    listener(group.start + run, record)
        return curves

    found = train_in_groups(graph, settings, len(seeds), device, curves_of)
    return {name: [curves[name] for curves in found] for name in ("accuracy", "loss")}
