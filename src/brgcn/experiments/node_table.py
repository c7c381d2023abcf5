"""Accuracy of models on data sets: on the split that comes with the data, and on random ones.

A *cell* is a model on a data set. It is measured once and kept as a JSON file with everything that a table or a test
needs; what is there already is not computed again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from brgcn.data import Dataset
from brgcn.errors import DataError, is_out_of_memory
from brgcn.experiments.kept import kept_result
from brgcn.experiments.presets import node_settings
from brgcn.tasks.device import keep_freed_memory, threads
from brgcn.tasks.environment import environment
from brgcn.tasks.inputs import NodeInputs, node_inputs
from brgcn.tasks.run_files import write_json
from brgcn.tasks.settings import NodeSettings, read_settings
from brgcn.tasks.splits import stratified_holdout
from brgcn.tasks.together import train_in_groups
from brgcn.tasks.trainer import NodeTrainer
from brgcn.tasks.training import logits

ROWS = ("brgcn", "brgcn-node", "brgcn-relation", "rgcn", "han", "gat", "gin", "gcn", "majority")
Cell = dict[str, Any]
Tell = Callable[[str], None]


def cell_path(folder: Path, dataset: str, model: str, preset: str) -> Path:
    return folder / f"{dataset}-{model}-{preset}.json"


def measure_cell(
    data: Dataset,
    model: str,
    preset: str,
    folder: Path,
    *,
    runs: int = 10,
    resplits: int = 0,
    device: torch.device | str = "cpu",
    overwrite: bool = False,
    tell: Tell = lambda text: None,
) -> Cell:
    """Measure what the file of the cell does not have yet, and keep it; that memory did not suffice is kept, too."""
    settings = node_settings(model, data.name, preset)
    path = cell_path(folder, data.name, model, preset)
    facts = {"settings": read_settings(settings), "fingerprint": data.fingerprint}
    cell = kept_result(path, facts) if not overwrite else None
    if cell is None:
        cell = {
            "dataset": data.name,
            "model": model,
            "preset": preset,
            **facts,
            "items": {name: len(split) for name, split in data.splits.items()},
            "benchmark": None,
            "resplits": None,
            "errors": {},
        }
    inputs: NodeInputs | None = None
    device = torch.device(device)
    for part, wanted in (("benchmark", runs), ("resplits", resplits)):
        have = cell[part]
        if wanted == 0 or (have is not None and len(have["accuracy"]) >= wanted):
            continue
        tell(f"{data.name}: {model}, {wanted} {'runs' if part == 'benchmark' else 're-splits'}")
        if inputs is None:
            inputs = node_inputs(data.named_graph, settings, data.features).to(device)
        begun = time.perf_counter()
        measure = _benchmark if part == "benchmark" else _resplits
        with threads(torch.get_num_threads()):
            keep_freed_memory()
            try:
                cell[part] = measure(data, inputs, settings, wanted, device)
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
                cell["errors"] = {**cell.get("errors", {}), part: f"out of memory on {device}"}
            else:
                cell["errors"] = {name: said for name, said in cell.get("errors", {}).items() if name != part}
                cell[part] |= {"seconds": round(time.perf_counter() - begun, 2), "environment": environment(device)}
        write_json(path, cell)
    return cell


def _benchmark(data: Dataset, inputs: NodeInputs, settings: NodeSettings, runs: int, device: torch.device) -> Cell:
    """``runs`` seeds on the split that comes with the data."""
    if not len(data.splits.get("test", ())):
        raise DataError(f"{data.name} has no test labels", remedy="Use --resplit N, which draws test sets.")
    right = right_answers(data, inputs, settings, range(runs), device)
    return {
        "seeds": list(range(runs)),
        "accuracy": [_share(row) for row in right],
        "right": [_bits(row) for row in right],
    }


def right_answers(
    data: Dataset, inputs: NodeInputs, settings: NodeSettings, seeds: Sequence[int], device: torch.device
) -> list[list[bool]]:
    """For each seed, whether each test item was right. Test labels are read when the weights no longer change."""
    train, test = data.splits["train"], data.splits["test"]

    def of_group(group: range) -> list[list[bool]]:
        some = [seeds[run] for run in group]
        trainer = train_together(inputs, train.nodes, train.labels, data.num_classes, settings, some, device)
        return [_right(trainer, run, inputs, test.nodes, test.labels, settings) for run in range(len(some))]

    return train_in_groups(inputs.graph, settings, len(seeds), device, of_group)


def accuracies(
    data: Dataset, inputs: NodeInputs, settings: NodeSettings, seeds: Sequence[int], device: torch.device
) -> list[float]:
    return [_share(row) for row in right_answers(data, inputs, settings, seeds, device)]


def _resplits(data: Dataset, inputs: NodeInputs, settings: NodeSettings, count: int, device: torch.device) -> Cell:
    """All labels, split ``count`` times at random into parts of the sizes that the benchmark has (a fifth for test
    where it has none), the classes in proportion. Split k is the same for every model."""
    nodes = torch.cat([split.nodes for split in data.splits.values()])
    labels = torch.cat([split.labels for split in data.splits.values()])
    tested = len(data.splits["test"]) if "test" in data.splits else 0
    share = tested / nodes.numel() if tested else 0.2
    held = torch.stack([stratified_holdout(labels, share, seed) for seed in range(count)], dim=1)  # [n, count]

    def of_group(group: range) -> list[float]:
        some = held[:, group.start : group.stop]
        trainer = train_together(inputs, nodes, labels, data.num_classes, settings, group, device, some)
        tests = [(nodes[mine], labels[mine]) for mine in some.unbind(1)]
        return [_share(_right(trainer, run, inputs, *test, settings)) for run, test in enumerate(tests)]

    accuracy = train_in_groups(inputs.graph, settings, count, device, of_group)
    return {"accuracy": accuracy, "test_share": float(held[:, 0].sum()) / float((~held[:, 0]).sum())}


def train_together(
    inputs: NodeInputs,
    nodes: Tensor,
    labels: Tensor,
    num_classes: int,
    settings: NodeSettings,
    seeds: Sequence[int],
    device: torch.device,
    held: Tensor | None = None,
) -> NodeTrainer:
    """A model for each seed, trained to the end; ``held`` [n, seeds] are labels that a run does not see."""
    trainer = NodeTrainer(
        inputs.graph,
        nodes,
        labels,
        num_classes,
        settings,
        seeds,
        device=device,
        features=inputs.features,
        watched=held,
        watch=False,
    )
    for _ in trainer.epochs():
        pass
    return trainer


def _right(
    trainer: NodeTrainer, run: int, inputs: NodeInputs, nodes: Tensor, labels: Tensor, settings: NodeSettings
) -> list[bool]:
    scores = logits(trainer.trained(run), inputs.graph, nodes, settings, inputs.features)
    return [bool(one) for one in scores.argmax(-1) == labels]


def _share(right: Sequence[bool]) -> float:
    return sum(right) / len(right)


def _bits(right: Sequence[bool]) -> str:
    """Whether each test item was right, short enough for a file with ten thousand of them."""
    return "".join("1" if one else "0" for one in right)
