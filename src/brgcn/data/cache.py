"""Data sets that were read before, kept in the sorted layout and memory-mapped when opened again."""

from __future__ import annotations

import hashlib
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

from brgcn.data.cache_folder import cache_folder
from brgcn.data.dataset import Dataset, NodeSplit
from brgcn.data.named_graph import FORMAT_VERSION, NamedGraph, read_tensors, write_tensors
from brgcn.errors import DataError

# To be raised whenever a reader gives another result for the same files and options.
READER_VERSION = 2
_KIND = "data set"
_log = logging.getLogger(__name__)


def cache_file(fingerprint: str, cache_dir: str | Path | None = None) -> Path:
    """Where the data set with this fingerprint is kept; readers of another version look elsewhere."""
    key = hashlib.sha256(f"{fingerprint} {FORMAT_VERSION} {READER_VERSION}".encode()).hexdigest()[:32]
    return cache_folder(cache_dir) / "datasets" / f"{key}.safetensors"


def open_cached(path: Path, *, name: str, source: str) -> Dataset | None:
    """The data set of a cache file, or None when there is none or it is damaged."""
    if not path.is_file():
        return None
    try:
        return replace(_load(path), name=name, source=source)
    except (DataError, KeyError, TypeError, ValueError) as error:
        _log.info("the cache file %s is read no more: %s", path, error)
        return None


def store(path: Path, dataset: Dataset) -> None:
    """Keep a data set; a cache that cannot be written (read-only, full) costs time later and nothing else."""
    tensors, facts = dataset.named_graph.pack()
    tensors |= {f"triples.{split}": triples for split, triples in dataset.triples.items()}
    for split, labelled in dataset.splits.items():
        tensors |= {f"splits.{split}.nodes": labelled.nodes, f"splits.{split}.labels": labelled.labels}
    facts |= {
        "task": dataset.task,
        "splits": list(dataset.splits),
        "triples": list(dataset.triples),
        "label_names": list(dataset.label_names),
        "warnings": list(dataset.warnings),
        "fingerprint": dataset.fingerprint,
    }
    try:
        write_tensors(path, _KIND, tensors, facts)
    except OSError as error:
        _log.warning("the data set was not kept in the cache %s: %s", path.parent, error)


def _load(path: Path) -> Dataset:
    facts: dict[str, Any]
    tensors, facts = read_tensors(path, _KIND)
    return Dataset(
        name="",
        task=facts["task"],
        named_graph=NamedGraph.unpack(tensors, facts, where=str(path)),
        splits={
            split: NodeSplit(tensors[f"splits.{split}.nodes"], tensors[f"splits.{split}.labels"])
            for split in facts["splits"]
        },
        label_names=tuple(facts["label_names"]),
        triples={split: tensors[f"triples.{split}"] for split in facts["triples"]},
        fingerprint=facts["fingerprint"],
        source="",
        warnings=tuple(facts["warnings"]),
    )
