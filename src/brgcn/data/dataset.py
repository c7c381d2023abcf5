"""What ``load_dataset`` returns."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from torch import Tensor

from brgcn.data.feature_tables import FeatureTable
from brgcn.data.literals import Literals
from brgcn.data.named_graph import NamedGraph
from brgcn.data.names import NameTable
from brgcn.graph import RelationalGraph

Task = Literal["nodes", "links"]


@dataclass(frozen=True, eq=False)
class NodeSplit:
    """Labelled nodes of one split, in the order of its file."""

    nodes: Tensor  # [n] node ids
    labels: Tensor  # [n] class ids

    def __len__(self) -> int:
        return self.nodes.numel()


@dataclass(frozen=True, eq=False)
class Dataset:
    """A graph with names, and either labelled nodes or triples per split."""

    name: str
    task: Task
    named_graph: NamedGraph
    splits: dict[str, NodeSplit]  # "train", "test", perhaps "valid"; empty for links
    label_names: tuple[str, ...]  # sorted, over all splits; the position is the class id
    triples: dict[str, Tensor]  # links: split -> [n, 3] head, relation, tail; empty for nodes
    fingerprint: str  # sha256 over the bytes of the input files and the options that change the result
    source: str  # where it came from, for people
    warnings: tuple[str, ...] = ()
    features: tuple[FeatureTable, ...] = ()  # tables of numbers that some nodes come with
    folder: Path | None = None  # where its files are

    @property
    def graph(self) -> RelationalGraph:
        """The graph without inverse relations; for links the training triples over all entities and relations."""
        return self.named_graph.graph

    @property
    def node_names(self) -> NameTable:
        return self.named_graph.node_names

    @property
    def relation_names(self) -> tuple[str, ...]:
        return self.named_graph.relation_names

    @property
    def literals(self) -> Literals:
        return self.named_graph.literals

    @property
    def num_classes(self) -> int:
        return len(self.label_names)

    def __repr__(self) -> str:
        parts = {name: len(split) for name, split in (self.splits or self.triples).items()}
        classes = f", {self.num_classes} classes" if self.splits else ""
        return f"Dataset({self.name!r}, {self.task}, {self.graph!r}, {parts}{classes})"
