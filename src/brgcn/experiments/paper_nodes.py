"""What the paper reports on node classification (its table 2), and where that cannot be."""

from __future__ import annotations

import math

# model: data set: (accuracy in percent, what stands behind its ±)
PAPER: dict[str, dict[str, tuple[float, float]]] = {
    "han": {"aifb": (96.68, 0.04), "mutag": (78.46, 0.07), "bgs": (86.84, 0.21), "am": (90.68, 0.23)},
    "rgcn": {"aifb": (95.83, 0.62), "mutag": (73.23, 0.48), "bgs": (83.10, 0.80), "am": (89.29, 0.35)},
    "gat": {"aifb": (92.50, 0.29), "mutag": (66.18, 0.00), "bgs": (77.93, 0.17), "am": (88.52, 1.65)},
    "gin": {"aifb": (96.18, 0.53), "mutag": (78.89, 0.09), "bgs": (86.42, 0.35), "am": (91.33, 0.16)},
    "brgcn-node": {"aifb": (96.46, 0.13), "mutag": (73.19, 0.25), "bgs": (84.23, 0.22), "am": (89.45, 0.02)},
    "brgcn-relation": {"aifb": (95.28, 0.23), "mutag": (76.17, 0.22), "bgs": (87.53, 0.34), "am": (90.52, 0.18)},
    "brgcn": {"aifb": (96.97, 0.08), "mutag": (81.13, 0.61), "bgs": (88.30, 0.04), "am": (92.57, 0.15)},
}
TEST_ITEMS = {"aifb": 36, "mutag": 68, "bgs": 29, "am": 198}
MAJORITY = {"aifb": 41.67, "mutag": 66.18, "bgs": 65.52, "am": 34.85}
RUNS = 10


def paper_figure(model: str, dataset: str) -> tuple[float, float] | None:
    """Accuracy and ± in percent; stand-ins are other data, so the paper has nothing on them."""
    return PAPER.get(model, {}).get(dataset)


def remark(model: str, dataset: str) -> str:
    """Why the paper's figure cannot be what it says, or nothing."""
    figure = paper_figure(model, dataset)
    if figure is None:
        return ""
    mean, spread = figure
    if mean == MAJORITY[dataset]:
        return "the paper's figure is the share of the majority class"
    least = 100 * smallest_deviation(mean / 100, TEST_ITEMS[dataset]) / math.sqrt(RUNS)
    if spread < least - 0.005:
        items = TEST_ITEMS[dataset]
        return f"the paper's ±{spread:.2f} is less than {RUNS} runs on {items} items allow (a s.e. of {least:.2f})"
    return ""


def smallest_deviation(mean: float, items: int) -> float:
    """The least standard deviation between runs whose mean accuracy is ``mean``: each run gets whole items right."""
    part = mean * items - math.floor(mean * items + 1e-9)
    return math.sqrt(max(0.0, part * (1 - part))) / items
