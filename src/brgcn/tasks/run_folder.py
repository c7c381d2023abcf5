"""The folder of a node classification: a ``JobFolder`` with

- ``labels.tsv``: labelled nodes and their splits
- ``features.safetensors``: the features that nodes came with, where they had any
- ``runs/00/predictions.tsv``
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import torch

from brgcn.config import build, read_yaml
from brgcn.data import Dataset, NodeSplit
from brgcn.data.feature_tables import FeatureTable, pack, unpack
from brgcn.data.named_graph import read_tensors, write_tensors
from brgcn.nn import NodeScorer
from brgcn.tasks.inputs import NodeInputs, node_inputs
from brgcn.tasks.job_folder import JobFolder
from brgcn.tasks.run_files import damage_of, read_labels, write_json, write_labels, write_table
from brgcn.tasks.settings import NodeSettings
from brgcn.tasks.training import build_model

_FEATURES = "features"


@dataclass(frozen=True)
class RunFolder(JobFolder):
    task: ClassVar[str] = "nodes"
    task_facts: ClassVar[dict[str, type]] = {"model": str, "classes": list, "together": int}
    task_result: ClassVar[dict[str, type]] = {"model": str, "preset": str}

    @classmethod
    def create(
        cls,
        path: Path,
        dataset: Dataset,
        settings: NodeSettings,
        *,
        preset: str,
        seeds: Sequence[int],
        device: torch.device,
        changed_settings: dict[str, Any] | None = None,
        together: int = 1,
        overwrite: bool = False,
    ) -> RunFolder:
        def write(beside: Path) -> None:
            if dataset.features:
                write_tensors(beside / "features.safetensors", _FEATURES, *pack(dataset.features))
            write_labels(beside / "labels.tsv", dataset)

        return cls.begin(
            path,
            dataset,
            settings,
            preset=preset,
            seeds=seeds,
            device=device,
            changed_settings=changed_settings,
            overwrite=overwrite,
            facts={"model": settings.model, "together": together, "classes": list(dataset.label_names)},
            write=write,
        )

    @cached_property
    def settings(self) -> NodeSettings:
        path = self.path / "settings.yaml"
        with damage_of(path):
            return build(NodeSettings, read_yaml(path), str(path))

    @cached_property
    def feature_tables(self) -> tuple[FeatureTable, ...]:
        path = self.path / "features.safetensors"
        if not path.exists():
            return ()
        with damage_of(path):
            return unpack(*read_tensors(path, _FEATURES))

    @cached_property
    def inputs(self) -> NodeInputs:
        """What the models of the folder see, on the CPU."""
        return node_inputs(self.named_graph, self.settings, self.feature_tables)

    @cached_property
    def splits(self) -> dict[str, NodeSplit]:
        return read_labels(self.path / "labels.tsv", self.classes, self.named_graph.graph.num_nodes)

    @property
    def classes(self) -> list[str]:
        return list(self.facts["classes"])

    def load_model(self, run: int) -> NodeScorer:
        """The trained model of one run."""
        self.check_run(run)
        inputs = self.inputs
        model = build_model(inputs.graph, len(self.classes), self.settings, self.seeds[run], inputs.num_features)
        self.load_weights(run, model)
        return model.eval()

    def write_run(
        self,
        run: int,
        model: NodeScorer,
        report: dict[str, Any],
        rows: Iterable[Sequence[Any]],
    ) -> None:
        """Weights, predictions, report; the report last, because its presence says that the run is complete."""
        folder = self.run_path(run)
        self.write_weights(run, model)
        write_table(folder / "predictions.tsv", ["node", "split", "label", "predicted", *self.classes], rows)
        write_json(folder / "report.json", report)
