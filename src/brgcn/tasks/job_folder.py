"""The folder that a training leaves behind, whatever the task: everything needed to resume, evaluate and predict, and
nothing pickled.

- ``run.json``: what was run; written last, a folder without it never began
- ``settings.yaml``: every setting
- ``environment.json``: versions, machine, command
- ``graph.safetensors``: the graph with the names of nodes and relations
- ``metrics.jsonl``: a line per epoch; the seconds are in ``timings.jsonl``, so that metrics of two runs can be compared
- ``checkpoint.safetensors``: where training stands; gone when it is finished
- ``runs/00/``: of each run ``weights.safetensors``, ``report.json``, and what the task adds
- ``stopped.json``: why training cannot go on, when a model diverged
- ``result.json``: the summary that ``--json`` prints; its presence says that training is finished

``RunFolder`` and ``LinkFolder`` add what their task brings.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from brgcn.config import to_yaml
from brgcn.data import Dataset, NamedGraph
from brgcn.data.named_graph import read_tensors, write_tensors
from brgcn.errors import DataError, RunError
from brgcn.tasks.device import threads
from brgcn.tasks.environment import environment
from brgcn.tasks.lock import only_writer
from brgcn.tasks.run_files import DAMAGED, damage_of, file_size, read_json, write_json, write_text
from brgcn.tasks.run_log import LOGS

FORMAT = 2
TASK_NAMES = {"nodes": "node classification", "links": "link prediction"}
REMEDY = "Give a folder that brgcn train wrote."
_FACTS = {
    **dict.fromkeys(("task", "dataset", "preset", "fingerprint", "device"), str),
    "seeds": list,
    "threads": int,
}
_RESULT = {"dataset": str, "runs": list, "splits": dict}
_STOPPED = "stopped.json"
_BEFORE_IT_BEGINS = {
    "settings.yaml",
    "environment.json",
    "graph.safetensors",
    "features.safetensors",
    "labels.tsv",
    "triples.safetensors",
}


@dataclass(frozen=True)
class JobFolder:
    path: Path
    facts: dict[str, Any]  # run.json

    task: ClassVar[str]
    task_facts: ClassVar[dict[str, type]] = {}  # of run.json
    task_result: ClassVar[dict[str, type]] = {}  # of result.json
    large_products: ClassVar[bool] = False  # whether most of the work is torch's matrix products

    # ------------------------------------------------------------------ making and opening

    @classmethod
    def begin(
        cls,
        path: Path,
        dataset: Dataset,
        settings: Any,
        *,
        preset: str,
        seeds: Sequence[int],
        device: torch.device,
        changed_settings: dict[str, Any] | None,
        overwrite: bool,
        facts: dict[str, Any],
        write: Callable[[Path], None],
    ) -> Self:
        """Build the folder beside its place and move it there: it appears whole or not at all. ``write`` adds what the
        task needs."""
        check_free(path, overwrite=overwrite)
        facts = {
            "format": FORMAT,
            "task": cls.task,
            "dataset": dataset.name,
            "source": dataset.source,
            "fingerprint": dataset.fingerprint,
            "preset": preset,
            "changed_settings": changed_settings or {},
            "seeds": list(seeds),
            "device": str(device),
            "threads": torch.get_num_threads(),
            **facts,
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            beside.mkdir()
            write_text(beside / "settings.yaml", to_yaml(settings))
            write_json(beside / "environment.json", environment(device))
            dataset.named_graph.save(beside / "graph.safetensors")
            write(beside)
            write_json(beside / "run.json", facts)
            if path.exists():
                shutil.rmtree(path)
            beside.rename(path)
        except OSError as error:
            error.filename, error.filename2 = str(path), None  # the place that was asked for, not the one beside it
            raise
        finally:  # a full disk, an interruption: nothing is left that never began
            shutil.rmtree(beside, ignore_errors=True)
        return cls(path, facts)

    @classmethod
    def open(cls, path: Path) -> Self:
        facts = _read_facts(path)
        if facts.get("task") in TASK_NAMES and facts["task"] != cls.task:
            message = f"the folder holds {TASK_NAMES[facts['task']]}, and this is about {TASK_NAMES[cls.task]}"
            raise RunError(message, where=str(path), remedy="Give another folder.")
        _check_kinds(facts, _FACTS | cls.task_facts, path / "run.json")
        return cls(path, facts)

    def remove_leftovers(self) -> None:
        """What a killed writer left beside its target, and why one stopped; for the one who goes on writing, not for
        readers."""
        for leftover in self.path.rglob(".*.part"):
            leftover.unlink(missing_ok=True)
        (self.path / _STOPPED).unlink(missing_ok=True)
        if self.finished:
            (self.path / "checkpoint.safetensors").unlink(missing_ok=True)

    # ------------------------------------------------------------------ what was given

    @cached_property
    def named_graph(self) -> NamedGraph:
        path = self.path / "graph.safetensors"
        with damage_of(path):
            return NamedGraph.load(path)

    @property
    def seeds(self) -> list[int]:
        return list(self.facts["seeds"])

    # ------------------------------------------------------------------ what came out

    @property
    def finished(self) -> bool:
        return (self.path / "result.json").exists()

    @property
    def result(self) -> dict[str, Any]:
        if not self.finished:
            raise self._unfinished("training is not finished")
        path = self.path / "result.json"
        result = read_json(path)
        _check_kinds(result, _RESULT | self.task_result, path)
        return result

    def run_path(self, run: int) -> Path:
        return self.path / "runs" / f"{run:02d}"

    def report(self, run: int) -> dict[str, Any]:
        return read_json(self.run_path(run) / "report.json")

    def finished_runs(self) -> list[int]:
        return [run for run in range(len(self.seeds)) if (self.run_path(run) / "report.json").exists()]

    def usable_runs(self) -> list[int]:
        """The finished runs, of which there must be one."""
        finished = self.finished_runs()
        if not finished:
            raise self._unfinished("no run is finished yet")
        return finished

    def _unfinished(self, message: str) -> RunError:
        remedy = f"Finish it with brgcn train --resume {self.path}"
        note = self.path / _STOPPED
        if note.exists():
            message += f": {read_json(note).get('message')}"
            remedy = (
                "To go on would end the same way. Train anew with a smaller --set learning_rate=.. and --overwrite."
            )
        return RunError(message, where=str(self.path), remedy=remedy)

    @contextlib.contextmanager
    def noting_divergence(self) -> Iterator[None]:
        """Around what finds that a model has diverged: whoever uses the folder later shall know."""
        try:
            yield
        except DataError as error:
            write_json(self.path / _STOPPED, {"message": error.message})
            raise

    def load_weights(self, run: int, model: torch.nn.Module) -> None:
        """Put the weights of a finished run into ``model``."""
        path = self.run_path(run) / "weights.safetensors"
        with damage_of(path):
            weights, _ = read_tensors(path, "weights")
        try:
            model.load_state_dict(weights)
        except RuntimeError as error:
            message = "the weights do not fit the graph and the settings of the folder"
            raise RunError(message, where=str(path), remedy=DAMAGED) from error

    def check_run(self, run: int) -> None:
        """There must be such a run, and it must be finished."""
        finished = self.usable_runs()
        if run not in finished:
            message = f"run {run} is not finished" if 0 <= run < len(self.seeds) else f"there is no run {run}"
            remedy = f"Finished runs: {', '.join(map(str, finished))}."
            raise RunError(message, where=str(self.path), remedy=remedy)

    def write_weights(self, run: int, model: torch.nn.Module) -> None:
        weights = {name: value.detach().cpu() for name, value in model.state_dict().items()}
        place = self.run_path(run) / "weights.safetensors"
        write_tensors(place, "weights", weights, {"run": run, "seed": self.seeds[run]})

    # ------------------------------------------------------------------ where training stands

    def write_checkpoint(self, run: int, state: tuple[dict[str, Tensor], dict[str, Any]] | None) -> None:
        """``state`` of the trainer, or None between two runs. The sizes of the logs say what belongs to it."""
        tensors, progress = state if state is not None else ({}, None)
        sizes = {name: file_size(self.path / name) for name in LOGS}
        facts = {"run": run, "progress": progress, "sizes": sizes}
        write_tensors(self.path / "checkpoint.safetensors", "checkpoint", tensors, facts)

    def read_checkpoint(self) -> tuple[int, dict[str, Tensor], dict[str, Any] | None]:
        """Run, tensors and progress to go on from; what was logged after the checkpoint is cut off."""
        path = self.path / "checkpoint.safetensors"
        run, progress = 0, None
        tensors: dict[str, Tensor] = {}
        sizes = dict.fromkeys(LOGS, 0)
        if path.exists():
            with damage_of(path, f"Remove it; brgcn train --resume {self.path} then begins anew."):
                tensors, facts = read_tensors(path, "checkpoint")
                run, progress, sizes = facts["run"], facts["progress"], facts["sizes"]
        for name, size in sizes.items():
            if (self.path / name).exists():
                with (self.path / name).open("r+b") as log:
                    log.truncate(size)
        return run, tensors, progress

    @contextlib.contextmanager
    def restoring(self) -> Iterator[None]:
        """Around putting a checkpoint into a trainer."""
        try:
            yield
        except (LookupError, RuntimeError, TypeError) as error:
            raise RunError(
                "the checkpoint does not fit the settings of the folder",
                where=str(self.path / "checkpoint.safetensors"),
                remedy=f"Remove it; brgcn train --resume {self.path} then begins anew.",
            ) from error

    @contextlib.contextmanager
    def going_on(self) -> Iterator[None]:
        """Around training: nobody else writes, and as many threads compute as when it began."""
        with only_writer(self.path), threads(self.facts["threads"], products=self.large_products):
            self.remove_leftovers()
            yield

    def with_seeds(self, seeds: Sequence[int]) -> Self:
        """The folder of finished training with more runs to come, whose seeds are ``seeds`` from the first on."""
        if not self.finished or list(seeds)[: len(self.seeds)] != self.seeds:
            raise RunError("runs can only be added behind those that are finished", where=str(self.path))
        facts = {**self.facts, "seeds": list(seeds)}
        with only_writer(self.path):  # after an interruption anywhere here training can go on
            self.write_checkpoint(len(self.seeds), None)
            (self.path / "result.json").unlink()
            write_json(self.path / "run.json", facts)
        return type(self)(self.path, facts)

    def finish(self, result: dict[str, Any]) -> None:
        write_json(self.path / "result.json", result)
        (self.path / "checkpoint.safetensors").unlink(missing_ok=True)


def seeds_of(seed: int, runs: int) -> range:
    """seed, seed + 1, ..: one for each run."""
    if runs < 1:
        raise DataError(f"the number of runs must be at least 1, not {runs}")
    if not 0 <= seed <= seed + runs <= 2**63:
        raise DataError(f"the seeds must lie between 0 and 2**63, and the first is {seed}")
    return range(seed, seed + runs)


def _read_facts(path: Path) -> dict[str, Any]:
    """run.json of the run folder at ``path``, which must be one."""
    if not path.is_dir():
        raise RunError("there is no such folder", where=str(path), remedy=REMEDY)
    if not (path / "run.json").exists():
        started = (path / "settings.yaml").exists()
        message = "training was stopped before it began" if started else "this is not a run folder"
        remedy = "Remove it and train again." if started else REMEDY
        raise RunError(message, where=str(path), remedy=remedy)
    facts = read_json(path / "run.json")
    if "format" not in facts:
        raise RunError("this is not the run.json of a run folder", where=str(path / "run.json"), remedy=REMEDY)
    if facts["format"] != FORMAT:
        message = f"the folder has format {facts['format']}, this brgcn reads {FORMAT}"
        raise RunError(message, where=str(path), remedy="Train again, or use the version that wrote it.")
    return facts


def _check_kinds(content: dict[str, Any], kinds: dict[str, type], path: Path) -> None:
    for name, kind in kinds.items():
        if not isinstance(content.get(name), kind):
            raise RunError(f"{name!r} is missing or not what it should be", where=str(path), remedy=DAMAGED)


def task_of(path: Path) -> str:
    """The task of the run folder at ``path``, nodes or links."""
    return "links" if _read_facts(path).get("task") == "links" else "nodes"


def check_free(path: Path, *, overwrite: bool = False) -> None:
    """Raise the error that fits when no run folder can be made at ``path``."""
    where, elsewhere = str(path), "Choose another --out"
    above = path.absolute()
    while not above.exists():
        above = above.parent
    if not above.is_dir():
        what = "this is a file" if path.exists() else f"{above} is a file"
        raise RunError(f"{what}, but a folder is needed", where=where, remedy=f"{elsewhere}.")
    if not os.access(above, os.W_OK):
        raise RunError(f"{above} may not be written to", where=where, remedy=f"{elsewhere}.")
    inside = {entry.name for entry in path.iterdir() if not entry.name.endswith(".part")} if path.exists() else set()
    if not inside:
        return
    replaceable = "run.json" in inside or inside <= _BEFORE_IT_BEGINS
    if overwrite and not replaceable:
        message = "--overwrite replaces run folders only, and this is none"
        raise RunError(message, where=where, remedy=f"{elsewhere}.")
    if not overwrite:
        resume = f"Continue it with --resume {path}, choose another --out" if "run.json" in inside else elsewhere
        remedy = f"{resume}, or replace it with --overwrite." if replaceable else f"{resume}."
        raise RunError("the folder exists already", where=where, remedy=remedy)
