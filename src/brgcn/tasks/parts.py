"""Labelled nodes on which something is measured: what a model must compute for them, and for which run each counts."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from brgcn.graph import RelationalGraph
from brgcn.receptive_field import ReceptiveField
from brgcn.tasks.settings import NodeSettings
from brgcn.tasks.training import field_for, input_rows


class Part(NamedTuple):
    field: ReceptiveField
    features: Tensor | None
    labels: Tensor  # [n]
    weight: Tensor  # [n, runs] of each label in the loss; sums to one over n
    share: Tensor  # [n, runs] of each label in the accuracy; sums to one over n


def part_of(
    graph: RelationalGraph,
    features: Tensor | None,
    nodes: Tensor,
    labels: Tensor,
    counts: Tensor,
    settings: NodeSettings,
    weighted_classes: int = 0,
) -> Part:
    """The nodes [n] that count [n, runs] for any run, on the graph's device.

    ``weighted_classes``: number of classes, where every class is to count the same in the loss; 0 where every label.
    """
    any_run = counts.any(1)
    nodes, labels, counts = nodes[any_run], labels[any_run], counts[any_run]
    weight = counts.double()
    if weighted_classes:
        for run in range(weight.size(1)):
            weight[:, run] *= _class_weights(labels[counts[:, run]], weighted_classes)[labels]
    field = field_for(graph, nodes, settings)
    share = counts / counts.sum(0).clamp(min=1)
    weight = (weight / weight.sum(0).clamp(min=1e-300)).float()
    return Part(field, input_rows(field, features), *(t.to(graph.device) for t in (labels, weight, share)))


def loss_and_accuracy(scores: Tensor, part: Part) -> tuple[Tensor, Tensor]:
    """Cross-entropy and accuracy [runs] of scores [n, runs, classes]."""
    n, runs, classes = scores.shape
    label = part.labels.unsqueeze(1).expand(n, runs)
    losses = F.cross_entropy(scores.float().reshape(-1, classes), label.reshape(-1), reduction="none").view(n, runs)
    right = scores.detach().argmax(-1) == label
    return (losses * part.weight).sum(0), (right * part.share).sum(0)


def _class_weights(labels: Tensor, num_classes: int) -> Tensor:
    """[classes] n / (classes that occur * size of the class), so that every class counts the same."""
    size = torch.bincount(labels, minlength=num_classes)
    occurring = int((size > 0).sum())
    return labels.numel() / (occurring * size.clamp(min=1).double())
