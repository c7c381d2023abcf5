"""Train several runs into a run folder, and continue them after an interruption."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from brgcn.data import Dataset, NamedGraph, NodeSplit
from brgcn.errors import DataError
from brgcn.nn import NodeScorer
from brgcn.tasks.device import keep_freed_memory, pick_device
from brgcn.tasks.inputs import NodeInputs
from brgcn.tasks.job_folder import seeds_of
from brgcn.tasks.metrics import report, summary
from brgcn.tasks.run_folder import RunFolder
from brgcn.tasks.run_log import RunLog, seconds_of_runs
from brgcn.tasks.settings import NodeSettings
from brgcn.tasks.together import runs_together
from brgcn.tasks.trainer import NodeTrainer
from brgcn.tasks.training import logits, prepare_graph

_FACTS_OF_RESULT = ("task", "dataset", "model", "preset", "changed_settings", "fingerprint")
Listener = Callable[[int, dict[str, Any]], None]  # called with the run and each epoch's record


def train_runs(
    dataset: Dataset,
    settings: NodeSettings,
    out: Path,
    *,
    runs: int = 1,
    seed: int = 0,
    preset: str = "default",
    changed_settings: dict[str, Any] | None = None,
    device: torch.device | str = "cpu",
    overwrite: bool = False,
    checkpoint_seconds: float = 10.0,
    together: int | None = None,
    listener: Listener | None = None,
) -> RunFolder:
    """Train ``runs`` models with the seeds seed, seed + 1, .. and leave them in the folder ``out``.

    ``together`` of them are trained as one wide model; without it, as many as pay and fit into memory.

    ``preset`` and ``changed_settings`` are for the record: where the settings came from, and what of it was changed.
    """
    check_trainable(dataset)
    seeds = seeds_of(seed, runs)
    device = torch.device(device)
    if together is None:
        together = runs_together(prepare_graph(dataset.graph, settings), settings, runs, device)
    elif together < 1:
        raise DataError(f"the number of runs trained together must be at least 1, not {together}")
    folder = RunFolder.create(
        out,
        dataset,
        settings,
        preset=preset,
        seeds=seeds,
        device=device,
        changed_settings=changed_settings,
        together=together,
        overwrite=overwrite,
    )
    return continue_runs(folder, checkpoint_seconds=checkpoint_seconds, listener=listener)


def continue_runs(
    folder: RunFolder,
    *,
    device: torch.device | str | None = None,
    checkpoint_seconds: float = 10.0,
    listener: Listener | None = None,
) -> RunFolder:
    """Go on from the folder's checkpoint; nothing is done where training is finished."""
    with folder.going_on():
        if not folder.finished:
            _continue(folder, device, checkpoint_seconds, listener)
    return folder


def _continue(
    folder: RunFolder, device: torch.device | str | None, checkpoint_seconds: float, listener: Listener | None
) -> None:
    keep_freed_memory()
    device = pick_device(folder.facts["device"]) if device is None else torch.device(device)
    inputs = folder.inputs.to(device)
    train = folder.splits["train"]
    first, tensors, progress = folder.read_checkpoint()
    together = folder.facts["together"]
    while first < len(folder.seeds):
        trainer = NodeTrainer(
            inputs.graph,
            train.nodes,
            train.labels,
            len(folder.classes),
            folder.settings,
            folder.seeds[first : first + together],
            device=device,
            features=inputs.features,
        )
        if progress is not None:
            with folder.restoring():
                trainer.restore(tensors, progress)
        _train_group(folder, trainer, first, checkpoint_seconds, listener)
        for run in range(len(trainer.seeds)):
            _finish_run(folder, trainer, first, run, inputs)
        first, progress = first + together, None
        folder.write_checkpoint(first, None)
    folder.finish(summarise(folder))


def _train_group(
    folder: RunFolder, trainer: NodeTrainer, first: int, checkpoint_seconds: float, listener: Listener | None
) -> None:
    """The runs from ``first`` on that ``trainer`` trains together."""
    saved = time.monotonic()
    with RunLog(folder.path) as log:
        begun = time.perf_counter()
        for records in trainer.epochs():
            # of the time of runs that train together, each has its share
            seconds = (time.perf_counter() - begun) / max(1, len(records))
            for place, record in records:
                run = first + place
                timing = {"run": run, "phase": record["phase"], "epoch": record["epoch"], "seconds": seconds}
                log.write({"run": run, **record}, timing)
                if listener is not None:
                    listener(run, record)
            if time.monotonic() - saved >= checkpoint_seconds:
                log.sync()
                folder.write_checkpoint(first, trainer.state())
                saved = time.monotonic()
            begun = time.perf_counter()


def _finish_run(folder: RunFolder, trainer: NodeTrainer, first: int, place: int, inputs: NodeInputs) -> None:
    """Test labels are read here for the first time, once per run, when the weights no longer change."""
    run, model = first + place, trainer.trained(place)
    outcome: dict[str, Any] = {"run": run, "seed": folder.seeds[run], "epochs": trainer.epochs_trained(place)}
    rows: list[Sequence[Any]] = []
    for name, split in folder.splits.items():
        probability = probabilities(model, inputs, split.nodes, folder.settings)
        outcome[name] = report(probability.argmax(-1), split.labels, len(folder.classes))
        rows += prediction_rows(folder.named_graph, folder.classes, name, split, probability)
    folder.write_run(run, model, outcome, rows)


def probabilities(model: NodeScorer, inputs: NodeInputs, nodes: Tensor, settings: NodeSettings) -> Tensor:
    """[n, classes]."""
    return logits(model, inputs.graph, nodes, settings, inputs.features).softmax(-1)


def prediction_rows(
    named: NamedGraph, classes: Sequence[str], split_name: str, split: NodeSplit, probability: Tensor
) -> Iterator[Sequence[Any]]:
    best = probability.argmax(-1).tolist()
    for row, (node, label) in enumerate(zip(split.nodes.tolist(), split.labels.tolist(), strict=True)):
        shares = [f"{p:.6f}" for p in probability[row].tolist()]
        yield [named.node_names[node], split_name, classes[label], classes[best[row]], *shares]


def summarise(folder: RunFolder) -> dict[str, Any]:
    """The result as ``--json`` prints it; accuracies are fractions."""
    seconds = {run: statistics.median_low(values) for run, values in seconds_of_runs(folder.path).items()}
    reports = [folder.report(run) for run in range(len(folder.seeds))]
    runs = []
    for number, outcome in enumerate(reports):
        row = {"seed": outcome["seed"]}
        for split in folder.splits:
            row[f"{split}_accuracy"] = outcome[split]["accuracy"]
            row[f"{split}_macro_f1"] = outcome[split]["macro_f1"]
        runs.append({**row, "epochs": outcome["epochs"], "seconds_per_epoch": seconds.get(number)})
    result: dict[str, Any] = {key: folder.facts[key] for key in _FACTS_OF_RESULT}
    result["runs"] = runs
    result["test_accuracy"] = summary([])  # stays so without test labels: scripts may rely on the key
    for split in folder.splits:
        for measure in ("accuracy", "macro_f1"):
            result[f"{split}_{measure}"] = summary([row[f"{split}_{measure}"] for row in runs])
    result["classes"] = folder.classes
    result["splits"] = {name: len(split) for name, split in folder.splits.items()}
    return result


def check_trainable(dataset: Dataset) -> None:
    check_task(dataset.name, dataset.task)
    if "train" not in dataset.splits or not len(dataset.splits["train"]):
        raise DataError(f"{dataset.name} has no training labels", remedy="Give a table of them with --labels FILE.")


def check_task(name: str, task: str) -> None:
    """What is known of a data set before it is fetched and read."""
    if task != "nodes":
        raise DataError(
            f"{name} holds triples to predict links, and this training classifies nodes",
            remedy="Give data with labelled nodes (brgcn data list), labels with --labels FILE, or --task links.",
        )
