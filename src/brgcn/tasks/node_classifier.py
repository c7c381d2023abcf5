"""Node classification as scikit-learn users know it: fit, predict, predict_proba, score."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from brgcn.config import build
from brgcn.data import NamedGraph
from brgcn.errors import BrgcnError, DataError
from brgcn.graph import RelationalGraph
from brgcn.nn import NodeScorer
from brgcn.tasks.device import pick_device
from brgcn.tasks.inputs import NodeInputs, node_inputs
from brgcn.tasks.settings import NodeSettings
from brgcn.tasks.trainer import NodeTrainer
from brgcn.tasks.training import logits, prepare_graph

Nodes = Tensor | np.ndarray | Sequence[int]


class NodeClassifier:
    """Classifies the nodes of a multi-relational graph.

    >>> classifier = NodeClassifier(model="brgcn", epochs=30, seed=0)
    >>> classifier.fit(data.named_graph, train_nodes, train_labels)  # labels: numbers or texts
    >>> classifier.predict(test_nodes), classifier.score(test_nodes, test_labels)

    All settings of ``NodeSettings`` are keyword arguments. After ``fit``: ``classes_`` (sorted labels), ``model_``,
    ``history_`` (a record per epoch).
    """

    def __init__(self, *, seed: int = 0, device: str = "auto", **settings: Any) -> None:
        self.settings = build(NodeSettings, settings, "NodeClassifier")
        self.seed = seed
        self.device = device
        self.model_: NodeScorer | None = None
        self.classes_: np.ndarray = np.empty(0)
        self.history_: list[dict[str, Any]] = []

    def fit(
        self,
        graph: RelationalGraph | NamedGraph,
        nodes: Nodes,
        labels: Any,
        features: Tensor | np.ndarray | None = None,
    ) -> NodeClassifier:
        """Train on ``nodes`` [n] with ``labels`` [n].

        ``features`` [num_nodes, F] where nodes have them. A ``NamedGraph`` (``data.named_graph``) also brings the
        values of literals, for the setting ``literals``; in a ``RelationalGraph`` they are nodes like others.
        """
        device = pick_device(self.device)
        if isinstance(graph, NamedGraph):
            seen = node_inputs(graph, self.settings)
        else:
            seen = NodeInputs(prepare_graph(graph, self.settings), None)
        node_ids = _node_ids(nodes, seen.graph.num_nodes)
        self.classes_, label_ids = np.unique(np.asarray(labels), return_inverse=True)
        if len(label_ids) != node_ids.numel():
            raise DataError(f"{node_ids.numel()} nodes but {len(label_ids)} labels were given")
        if len(self.classes_) < 2:
            raise DataError("the training labels hold fewer than two classes", remedy="Give labels of each class.")
        given = None if features is None else _checked_features(features, seen.graph.num_nodes)
        parts = [part for part in (given, seen.features) if part is not None]
        self.graph_ = seen.graph.to(device)
        self.features_ = torch.cat(parts, dim=1).to(device) if parts else None
        trainer = NodeTrainer(
            self.graph_,
            node_ids,
            torch.as_tensor(label_ids.reshape(-1), dtype=torch.long),
            len(self.classes_),
            self.settings,
            self.seed,
            device=device,
            features=self.features_,
        )
        self.history_ = [record for records in trainer.epochs() for _, record in records]
        self.model_ = trainer.trained()
        return self

    def predict_proba(self, nodes: Nodes) -> np.ndarray:
        """[n, classes] probabilities, columns as in ``classes_``."""
        model = self._fitted()
        ids = _node_ids(nodes, self.graph_.num_nodes)
        scores = logits(model, self.graph_, ids, self.settings, self.features_)
        return np.asarray(scores.view(-1, len(self.classes_)).softmax(-1).numpy())

    def predict(self, nodes: Nodes) -> np.ndarray:
        """[n] the most probable class of each node."""
        return np.asarray(self.classes_[self.predict_proba(nodes).argmax(-1)])

    def score(self, nodes: Nodes, labels: Any) -> float:
        """Accuracy; the labels must be of the kind that ``classes_`` holds."""
        truth = np.asarray(labels)
        if truth.size and not set(truth.tolist()) & set(self.classes_.tolist()):
            known = ", ".join(map(repr, self.classes_[:3].tolist()))
            raise DataError(
                f"none of the labels is a class that was trained, such as {known}",
                remedy="After load() classes are label names: use data.label_names[label] for the ids of a data set.",
            )
        return float(np.mean(self.predict(nodes) == truth))

    @classmethod
    def load(cls, folder: str | Path, run: int = 0) -> NodeClassifier:
        """A trained classifier from a run folder that ``brgcn train`` wrote; ``classes_`` are the label names."""
        from brgcn.tasks.run_folder import RunFolder

        opened = RunFolder.open(Path(folder))
        classifier = cls(device="cpu")
        classifier.settings = opened.settings
        classifier.seed = opened.seeds[run] if run < len(opened.seeds) else 0
        classifier.graph_, classifier.features_ = opened.inputs
        classifier.classes_ = np.asarray(opened.classes)
        classifier.model_ = opened.load_model(run)
        return classifier

    def _fitted(self) -> NodeScorer:
        if self.model_ is None:
            raise BrgcnError("this NodeClassifier has not been fitted", remedy="Call fit(graph, nodes, labels) first.")
        return self.model_


def _node_ids(nodes: Nodes, num_nodes: int) -> Tensor:
    ids = torch.as_tensor(np.asarray(nodes) if not isinstance(nodes, Tensor) else nodes).reshape(-1)
    if ids.numel() and (ids.is_floating_point() or ids.dtype == torch.bool):
        raise DataError(f"node ids must be whole numbers, not {ids.dtype}")
    ids = ids.long().cpu()
    if ids.numel() and not 0 <= int(ids.min()) <= int(ids.max()) < num_nodes:
        raise DataError(f"node ids must lie in 0..{num_nodes - 1}")
    return ids


def _checked_features(features: Any, num_nodes: int) -> Tensor:
    matrix = torch.as_tensor(features, dtype=torch.float32)
    if matrix.dim() != 2 or matrix.size(0) != num_nodes:
        raise DataError(f"features must have shape [{num_nodes}, F], not {list(matrix.shape)}")
    bad = ~torch.isfinite(matrix).all(1)
    if bad.any():
        first = int(bad.nonzero()[0])
        raise DataError(
            f"features hold NaN or infinity in {int(bad.sum())} rows, the first for node {first}",
            remedy="Fill or drop them first.",
        )
    return matrix.cpu()
