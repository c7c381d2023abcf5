"""Figures of merit for node classification, and their summary over runs."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


def confusion_matrix(predicted: Tensor, labels: Tensor, num_classes: int) -> Tensor:
    """[classes, classes] how many items of the class of the row were predicted as the class of the column."""
    cells = torch.bincount(labels * num_classes + predicted, minlength=num_classes**2)
    return cells.view(num_classes, num_classes)


def accuracy(confusion: Tensor) -> float:
    total = int(confusion.sum())
    return float(confusion.diagonal().sum()) / total if total else math.nan


def macro_f1(confusion: Tensor) -> float:
    """The mean of F1 over the classes that occur as label or prediction."""
    hits = confusion.diagonal().double()
    either = confusion.sum(0) + confusion.sum(1)
    present = either > 0
    return float((2 * hits[present] / either[present]).mean()) if present.any() else math.nan


def report(predicted: Tensor, labels: Tensor, num_classes: int) -> dict[str, Any]:
    confusion = confusion_matrix(predicted, labels, num_classes)
    return {
        "accuracy": accuracy(confusion),
        "macro_f1": macro_f1(confusion),
        "n": int(confusion.sum()),
        "confusion": confusion.tolist(),
    }


def summary(values: Sequence[float]) -> dict[str, float | int | None]:
    """Mean, standard deviation of one run (n - 1), standard error of the mean, n."""
    n = len(values)
    std = statistics.stdev(values) if n > 1 else None  # exact: equal values give 0, not a rounding error
    sem = std / math.sqrt(n) if std is not None else None
    return {"mean": statistics.fmean(values) if n else None, "std": std, "sem": sem, "n": n}
