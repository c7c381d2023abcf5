"""Bi-level attention for multi-relational graphs.

>>> from brgcn import NodeClassifier, load_dataset
>>> data = load_dataset("mutag")
>>> train, test = data.splits["train"], data.splits["test"]
>>> classifier = NodeClassifier(seed=0).fit(data.graph, train.nodes, train.labels)
>>> classifier.score(test.nodes, test.labels)

>>> from brgcn import LinkPredictor
>>> data = load_dataset("fb15k-237")
>>> predictor = LinkPredictor(decoder="complex", seed=0).fit(data, on_epoch=print)
>>> predictor.score(data.triples["test"])["filtered"]["mrr"]
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brgcn.data import Dataset, dataset_from_frames, load_dataset
    from brgcn.errors import BrgcnError
    from brgcn.graph import RelationalGraph
    from brgcn.nn import BRGCNConv, FeaturelessConv
    from brgcn.tasks import LinkPredictor, LinkSettings, NodeClassifier, NodeSettings

# Imported when first used: torch takes seconds to load, and `brgcn --help` must not wait for it.
_HOMES = {
    "BRGCNConv": "brgcn.nn",
    "BrgcnError": "brgcn.errors",
    "Dataset": "brgcn.data",
    "FeaturelessConv": "brgcn.nn",
    "LinkPredictor": "brgcn.tasks",
    "LinkSettings": "brgcn.tasks",
    "NodeClassifier": "brgcn.tasks",
    "NodeSettings": "brgcn.tasks",
    "RelationalGraph": "brgcn.graph",
    "dataset_from_frames": "brgcn.data",
    "load_dataset": "brgcn.data",
}

__all__ = [
    "BRGCNConv",
    "BrgcnError",
    "Dataset",
    "FeaturelessConv",
    "LinkPredictor",
    "LinkSettings",
    "NodeClassifier",
    "NodeSettings",
    "RelationalGraph",
    "dataset_from_frames",
    "load_dataset",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'brgcn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
