"""Use a run folder: evaluate it again, classify nodes that were there and nodes that came later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from brgcn.data import NamedGraph, extend
from brgcn.data.feature_tables import read_feature_table
from brgcn.data.triples import Columns
from brgcn.errors import DataError
from brgcn.tasks.inputs import node_inputs
from brgcn.tasks.metrics import report, summary
from brgcn.tasks.node_runs import probabilities
from brgcn.tasks.run_folder import RunFolder


@dataclass(frozen=True)
class Predictions:
    """Class probabilities of named nodes, the mean over the runs that were used."""

    named_graph: NamedGraph
    nodes: Tensor  # [n]
    probability: Tensor  # [n, classes]
    classes: Sequence[str]
    warnings: tuple[str, ...]

    def rows(self) -> list[dict[str, Any]]:
        best = self.probability.argmax(-1).tolist()
        return [
            {
                "node": self.named_graph.node_names[node],
                "predicted": self.classes[best[row]],
                "probability": dict(zip(self.classes, self.probability[row].tolist(), strict=True)),
            }
            for row, node in enumerate(self.nodes.tolist())
        ]


def evaluate_runs(folder: RunFolder, device: torch.device | str = "cpu") -> dict[str, Any]:
    """Every split of every finished run, computed anew from the stored weights."""
    inputs = folder.inputs.to(device)
    runs = []
    for run in folder.usable_runs():
        model = folder.load_model(run).to(device)
        row: dict[str, Any] = {"run": run, "seed": folder.seeds[run]}
        for name, split in folder.splits.items():
            predicted = probabilities(model, inputs, split.nodes, folder.settings).argmax(-1)
            row[name] = report(predicted, split.labels, len(folder.classes))
        runs.append(row)
    result: dict[str, Any] = {key: folder.facts[key] for key in ("task", "dataset", "model", "preset")}
    result |= {"classes": folder.classes, "runs": runs}
    for name in folder.splits:
        for measure in ("accuracy", "macro_f1"):
            result[f"{name}_{measure}"] = summary([row[name][measure] for row in runs])
    return result


def predict_nodes(
    folder: RunFolder,
    names: Sequence[str] | None = None,
    *,
    triples: Path | None = None,
    columns: Columns | None = None,
    features: Sequence[Path] = (),
    run: int | None = None,
) -> Predictions:
    """Classify the named nodes, or all of them; with ``triples`` of nodes that came after training, those nodes;
    ``features`` are tables of theirs, with the columns of a table that training had.

    One ``run``, or the mean of the probabilities of all finished ones.
    """
    settings = folder.settings
    named, new_nodes = folder.named_graph, None
    warnings: tuple[str, ...] = ()
    inputs = grown = folder.inputs
    if features and triples is None:
        raise DataError("features are for new nodes", remedy="Give the triples of these nodes with --triples FILE.")
    if triples is not None:
        extension = extend(named, triples, columns=columns)
        named, warnings, new_nodes = extension.named_graph, extension.warnings, extension.new_nodes
        if names is None and not new_nodes.numel():
            raise DataError(
                "no new node comes with these triples" + "".join(f"; {text}" for text in warnings),
                where=str(triples),
                remedy="To classify nodes that were known already, name them with --node or --nodes.",
            )
        tables = []
        for path in features:
            table, said = read_feature_table(path, named)
            tables.append(table)
            warnings = (*warnings, *said)
        grown = node_inputs(named, settings, folder.feature_tables, known=folder.named_graph, new_tables=tables)
    nodes = _wanted(named, names, new_nodes)
    total = torch.zeros(nodes.numel(), len(folder.classes), dtype=torch.double)
    runs = folder.usable_runs() if run is None else [run]
    for number in runs:
        model = folder.load_model(number)
        if grown is not inputs:
            model = model.rebuilt_for(inputs.graph, grown.graph)
        total += probabilities(model, grown, nodes, settings).view_as(total).double()
    return Predictions(named, nodes, total / len(runs), folder.classes, tuple(warnings))


def _wanted(named: NamedGraph, names: Sequence[str] | None, new_nodes: Tensor | None) -> Tensor:
    if names is None:
        return torch.arange(named.graph.num_nodes) if new_nodes is None else new_nodes
    ids = named.find_nodes(names)
    missing = [name for name, node in zip(names, ids.tolist(), strict=True) if node < 0]
    if missing:
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        raise DataError(
            f"not in the graph: {', '.join(missing[:3])}{more}",
            remedy="Names are IRIs, literals in quotes, or _:blank nodes; new nodes come with --triples FILE.",
        )
    return ids
