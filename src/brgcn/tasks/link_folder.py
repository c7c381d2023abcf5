"""The folder of a link prediction: a ``JobFolder`` with

- ``triples.safetensors``: the triples of all splits
- ``names.tsv``: readable names of entities, where the data have them
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor

from brgcn.config import build, read_yaml
from brgcn.data import Dataset
from brgcn.data.display_names import display_names, read_display_names
from brgcn.data.named_graph import read_tensors, write_tensors
from brgcn.graph import RelationalGraph
from brgcn.message_graph import message_graph
from brgcn.nn.link_model import LinkModel
from brgcn.tasks.job_folder import JobFolder
from brgcn.tasks.known_triples import KnownTriples, check_triples
from brgcn.tasks.link_scores import EntityScores
from brgcn.tasks.link_settings import LinkSettings
from brgcn.tasks.link_trainer import build_link_model
from brgcn.tasks.run_files import damage_of, write_json, write_table

_TRIPLES = "triples"


@dataclass(frozen=True)
class LinkFolder(JobFolder):
    task: ClassVar[str] = "links"
    task_facts: ClassVar[dict[str, type]] = {"encoder": str, "decoder": str}
    task_result: ClassVar[dict[str, type]] = {
        **dict.fromkeys(("encoder", "decoder", "regime"), str),
        "filter": list,
        "with_unseen_entities": dict,
    }
    large_products: ClassVar[bool] = True

    @classmethod
    def create(
        cls,
        path: Path,
        dataset: Dataset,
        settings: LinkSettings,
        *,
        regime: str,
        seeds: Sequence[int],
        device: torch.device,
        changed_settings: dict[str, Any] | None = None,
        overwrite: bool = False,
    ) -> LinkFolder:
        def write(beside: Path) -> None:
            write_tensors(beside / "triples.safetensors", _TRIPLES, dataset.triples, {})
            readable = display_names(dataset.named_graph, dataset.folder)
            if readable:
                rows = ((dataset.node_names[node], text) for node, text in sorted(readable.items()))
                write_table(beside / "names.tsv", ["entity", "label"], rows)

        return cls.begin(
            path,
            dataset,
            settings,
            preset=regime,
            seeds=seeds,
            device=device,
            changed_settings=changed_settings,
            overwrite=overwrite,
            facts={"encoder": settings.encoder, "decoder": settings.decoder},
            write=write,
        )

    @cached_property
    def settings(self) -> LinkSettings:
        path = self.path / "settings.yaml"
        with damage_of(path):
            return build(LinkSettings, read_yaml(path), str(path))

    @cached_property
    def triples(self) -> dict[str, Tensor]:
        """Split -> [n, 3]; the training triples first."""
        path = self.path / "triples.safetensors"
        with damage_of(path):
            tensors, _ = read_tensors(path, _TRIPLES)
            graph = self.named_graph.graph
            for table in tensors.values():
                check_triples(table, graph.num_nodes, graph.num_relations)
            return {split: tensors[split] for split in ("train", "valid", "test") if split in tensors}

    @cached_property
    def display_names(self) -> dict[int, str]:
        """Entity -> readable name, where there is one."""
        path = self.path / "names.tsv"
        if not path.exists():
            return {}
        with damage_of(path):
            return read_display_names(path, self.named_graph)

    @cached_property
    def known(self) -> KnownTriples:
        """The triples of all splits."""
        graph = self.named_graph.graph
        return KnownTriples(self.triples.values(), graph.num_nodes, graph.num_relations)

    def graph_of(self, run: int) -> RelationalGraph | None:
        """What the encoder of a run sees."""
        if self.settings.encoder == "none":
            return None
        return message_graph(self.named_graph.graph, self.settings.message_graph, self.seeds[run])

    def load_model(self, run: int) -> LinkModel:
        """The trained model of one run."""
        self.check_run(run)
        graph = self.named_graph.graph
        model = build_link_model(graph.num_nodes, graph.num_relations, self.settings, self.seeds[run])
        self.load_weights(run, model)
        return model.eval()

    def scores(self, run: int, device: torch.device | str = "cpu") -> EntityScores:
        """What a run thinks of all triples."""
        graph = self.graph_of(run)
        return EntityScores(self.load_model(run).to(device), None if graph is None else graph.to(device))

    def write_run(self, run: int, model: LinkModel, report: dict[str, Any]) -> None:
        """Weights, then the report, because its presence says that the run is complete."""
        self.write_weights(run, model)
        write_json(self.run_path(run) / "report.json", report)
