from __future__ import annotations

import math
import statistics

import pytest
import torch

from brgcn.tasks.metrics import accuracy, confusion_matrix, macro_f1, report, summary


def test_against_plain_counting() -> None:
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(4, (50,), generator=generator)
    predicted = torch.randint(3, (50,), generator=generator)
    confusion = confusion_matrix(predicted, labels, 5)
    pairs = list(zip(labels.tolist(), predicted.tolist(), strict=True))
    for i in range(5):
        for j in range(5):
            assert int(confusion[i, j]) == pairs.count((i, j))
    assert accuracy(confusion) == pytest.approx(sum(a == b for a, b in pairs) / 50)
    f1 = []
    for c in range(4):  # class 4 occurs nowhere and is left out
        hits = pairs.count((c, c))
        precision = hits / max(1, sum(b == c for _, b in pairs))
        recall = hits / max(1, sum(a == c for a, _ in pairs))
        f1.append(2 * precision * recall / (precision + recall) if hits else 0.0)
    assert macro_f1(confusion) == pytest.approx(statistics.mean(f1))


def test_report_and_empty() -> None:
    assert report(torch.tensor([0, 1]), torch.tensor([0, 0]), 2) == {
        "accuracy": 0.5,
        "macro_f1": pytest.approx(1 / 3),
        "n": 2,
        "confusion": [[1, 1], [0, 0]],
    }
    assert math.isnan(accuracy(torch.zeros(2, 2, dtype=torch.long)))


def test_summary() -> None:
    values = [0.5, 0.7, 0.9, 0.6]
    got = summary(values)
    assert got["mean"] == pytest.approx(statistics.mean(values))
    assert got["std"] == pytest.approx(statistics.stdev(values))
    assert got["sem"] == pytest.approx(statistics.stdev(values) / 2)
    assert summary([0.5]) == {"mean": 0.5, "std": None, "sem": None, "n": 1}
