"""Graphs come in here: RDF files, tables, DataFrames, the catalogue of known data sets, the cache."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brgcn.data.dataset import Dataset, NodeSplit
    from brgcn.data.extension import Extension, extend
    from brgcn.data.frames import dataset_from_frames
    from brgcn.data.inspect import inspect_dataset
    from brgcn.data.literals import Literals
    from brgcn.data.loading import load_dataset
    from brgcn.data.named_graph import NamedGraph
    from brgcn.data.names import NameTable

# Imported when first used: the catalogue must be readable without waiting for torch.
_HOMES = {
    "Dataset": "dataset",
    "Extension": "extension",
    "Literals": "literals",
    "NameTable": "names",
    "NamedGraph": "named_graph",
    "NodeSplit": "dataset",
    "dataset_from_frames": "frames",
    "extend": "extension",
    "inspect_dataset": "inspect",
    "load_dataset": "loading",
}

__all__ = [
    "Dataset",
    "Extension",
    "Literals",
    "NameTable",
    "NamedGraph",
    "NodeSplit",
    "dataset_from_frames",
    "extend",
    "inspect_dataset",
    "load_dataset",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"brgcn.data.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
