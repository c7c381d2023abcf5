"""Cross-validate settings: what a search asks for, on this machine or another.

    python -m brgcn.experiments.trials ASKED.json --out DONE.json

runs the trials that ``brgcn tune --ask`` wrote; ``brgcn tune --tell DONE.json`` takes the results. Test labels are
never read. Every trial sees the same folds; a data set with a ``valid`` split is judged on that.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from brgcn.config import build
from brgcn.data import Dataset, load_dataset
from brgcn.errors import DataError, is_out_of_memory
from brgcn.tasks.cross_validation import cross_validate
from brgcn.tasks.device import keep_freed_memory, pick_device, threads
from brgcn.tasks.environment import environment
from brgcn.tasks.inputs import NodeInputs, node_inputs
from brgcn.tasks.run_files import read_json, write_json
from brgcn.tasks.settings import NodeSettings
from brgcn.tasks.trainer import NodeTrainer

SMOOTH = 5  # epochs over which a curve is averaged before its best is taken


class Folds(NamedTuple):
    """How often, and from which seed on, the training labels are divided."""

    folds: int = 5
    repeats: int = 2
    seed: int = 0


class Trials:
    """Runs trials one after another; what a data set gives a model is prepared once."""

    def __init__(self, datasets: Sequence[Dataset], folds: Folds, device: torch.device) -> None:
        self.datasets, self.folds, self.device = datasets, folds, device
        self._inputs: dict[tuple[str, str, bool], NodeInputs] = {}
        keep_freed_memory()

    def run(self, settings: NodeSettings) -> dict[str, Any]:
        """The curve of each data set, and their best common epoch."""
        begun = time.perf_counter()
        curves = {data.name: self._curve(data, settings) for data in self.datasets}
        value, epoch, parts = best_epoch(curves)
        return {
            "value": value,
            "epochs": epoch,
            "accuracy": parts,
            "curves": {name: [round(one, 5) for one in curve.tolist()] for name, curve in curves.items()},
            "seconds": round(time.perf_counter() - begun, 2),
        }

    def _curve(self, data: Dataset, settings: NodeSettings) -> Tensor:
        """[epochs] mean accuracy on labels that are left out."""
        key = (data.name, settings.literals, settings.inverse)
        if key not in self._inputs:
            self._inputs[key] = node_inputs(data.named_graph, settings, data.features).to(self.device)
        with threads(torch.get_num_threads()):
            if len(data.splits.get("valid", ())):
                return self._on_valid(data, self._inputs[key], settings)
            return self._on_folds(data, self._inputs[key], settings)

    def _on_folds(self, data: Dataset, inputs: NodeInputs, settings: NodeSettings) -> Tensor:
        train = data.splits["train"]
        curves = cross_validate(
            inputs.graph,
            train.nodes,
            train.labels,
            data.num_classes,
            settings,
            features=inputs.features,
            device=self.device,
            **self.folds._asdict(),
        )
        return torch.tensor(curves["accuracy"], dtype=torch.double).mean(0)

    def _on_valid(self, data: Dataset, inputs: NodeInputs, settings: NodeSettings) -> Tensor:
        """A data set that brings labels for this purpose is trained once, and judged on them."""
        train, valid = data.splits["train"], data.splits["valid"]
        trainer = NodeTrainer(
            inputs.graph,
            torch.cat([train.nodes, valid.nodes]),
            torch.cat([train.labels, valid.labels]),
            data.num_classes,
            settings,
            self.folds.seed,
            device=self.device,
            features=inputs.features,
            watched=(torch.arange(len(train) + len(valid)) >= len(train)).unsqueeze(1),
        )
        measured = [record["watch_accuracy"] for records in trainer.epochs() for _, record in records]
        return torch.tensor(measured, dtype=torch.double)


def best_epoch(curves: Mapping[str, Tensor]) -> tuple[float, int, dict[str, float]]:
    """Mean accuracy over the data sets at their best common epoch, that epoch, and the accuracy of each there."""
    smooth = {name: c.unfold(0, SMOOTH, 1).mean(-1) if c.numel() >= SMOOTH else c for name, c in curves.items()}
    together = torch.stack(list(smooth.values())).mean(0)
    at = int(together.argmax())
    epoch = at + (SMOOTH + 1) // 2 if len(together) < len(next(iter(curves.values()))) else at + 1  # middle of a window
    return float(together[at]), epoch, {name: float(curve[at]) for name, curve in smooth.items()}


def run_asked(asked: Mapping[str, Any], device: torch.device, data_dir: str | None) -> Iterable[dict[str, Any]]:
    """The trials of a file that ``brgcn tune --ask`` wrote, each with its result."""
    datasets = [load_dataset(name, data_dir=data_dir) for name in asked["datasets"]]
    trials = Trials(datasets, Folds(**asked["folds"]), device)
    machine = environment(device)
    made_with = {"commit": machine["commit"], "device": machine["device"], "torch": machine["packages"]["torch"]}
    for trial in asked["trials"]:
        settings = build(NodeSettings, trial["settings"], f"trial {trial['number']}")
        yield {**trial, **_outcome(trials, settings), "made_with": made_with}


def _outcome(trials: Trials, settings: NodeSettings) -> dict[str, Any]:
    """A trial that diverges or does not fit into memory is the worst there can be; the others still count."""
    try:
        return trials.run(settings)
    except DataError as error:
        said = error.message
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        said = "out of memory"
    return {"value": 0.0, "epochs": 1, "error": said}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("asked", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--data-dir", default=None)
    args = parser.parse_args()
    asked = read_json(args.asked, "Give the file that brgcn tune --ask wrote.")
    device = pick_device(args.device)
    done = []
    for trial in run_asked(asked, device, args.data_dir):
        done.append(trial)
        said = trial.get("error") or f"{100 * trial['value']:.2f} at {trial['epochs']} ({trial['seconds']} s)"
        print(f"{trial['number']}: {said}", flush=True)
        write_json(args.out, {**asked, "trials": done})


if __name__ == "__main__":
    main()
