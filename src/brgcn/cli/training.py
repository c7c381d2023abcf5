"""What trainings of both tasks share at the terminal."""

from __future__ import annotations

import contextlib
import dataclasses
import shlex
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from brgcn.cli.console import say, stderr
from brgcn.cli.inputs import read_dataset
from brgcn.errors import BrgcnError

if TYPE_CHECKING:
    from brgcn.data import Dataset
    from brgcn.data.catalogue import Entry

T = TypeVar("T")


@dataclass(frozen=True)
class TrainRequest:
    """The options of ``brgcn train`` that both tasks know."""

    dataset: str | None
    entry: Entry | None  # of the catalogue, where the data set is named there
    runs: int
    seed: int
    epochs: int | None
    device: str
    out: Path | None
    overwrite: bool
    assignments: tuple[str, ...]
    config: Path | None
    show_config: bool
    checkpoint_every: float
    figure: bool
    as_json: bool
    labels: Path | None
    test_labels: Path | None
    node_column: str | None
    label_column: str | None
    drop_relation: list[str] | None
    columns: str | None
    features: list[Path] | None
    valid: Path | None
    test: Path | None
    data_dir: Path | None

    @property
    def name(self) -> str:
        """As the presets know it."""
        return self.entry.name if self.entry else "data of your own"

    @cached_property
    def from_config(self) -> dict[str, Any]:
        from brgcn.config import read_yaml

        return read_yaml(self.config) if self.config is not None else {}

    @cached_property
    def from_set(self) -> dict[str, Any]:
        from brgcn.config import parse_assignments

        return parse_assignments(list(self.assignments))

    def change(self, settings: T) -> T:
        """With what the config, --set and --epochs say."""
        from brgcn.config import update

        settings = update(update(settings, self.from_config, str(self.config)), self.from_set, "--set")
        return settings if self.epochs is None else update(settings, {"epochs": self.epochs}, "--epochs")

    def one_name(self, what: str, option: str | None, default: str) -> str:
        """The name that the option, --set and the config agree on; the preset depends on it."""
        named = (option, self.from_set.get(what), self.from_config.get(what))
        names = list(dict.fromkeys(str(name) for name in named if name is not None))
        if len(names) > 1:
            raise BrgcnError(
                f"two {what}s were named: {' and '.join(names)}", remedy=f"Name one, with --{what} or in the config."
            )
        return names[0] if names else default

    @cached_property
    def data(self) -> Dataset:
        """Read when it is first asked for."""
        if self.dataset is None:
            raise BrgcnError("no data set was named", remedy="For example: brgcn train mutag. All: brgcn data list.")
        return read_dataset(
            self.dataset,
            labels=self.labels,
            test_labels=self.test_labels,
            node_column=self.node_column,
            label_column=self.label_column,
            drop_relation=self.drop_relation,
            columns=self.columns,
            features=self.features,
            valid=self.valid,
            test=self.test,
            data_dir=self.data_dir,
        )

    def place(self, data: Dataset, model: str) -> Path:
        """The run folder."""
        name = f"{file_name(data.name)}-{model}-{time.strftime('%Y%m%d-%H%M%S')}"
        return self.out or Path("runs") / name


def differences(base: Any, chosen: Any) -> dict[str, Any]:
    before: Mapping[str, Any] = dataclasses.asdict(base)
    return {name: value for name, value in dataclasses.asdict(chosen).items() if value != before[name]}


@contextlib.contextmanager
def saying_how_to_continue(path: Path) -> Iterator[None]:
    """When training is interrupted, or the disk is full, once there is something to continue."""
    try:
        yield
    except (KeyboardInterrupt, OSError):
        if (path / "run.json").exists():
            say(f"Stopped. Continue with: brgcn train --resume {shlex.quote(str(path))}")
        raise


class RunsBar:
    """One bar over all runs."""

    def __init__(self, runs: int) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self._runs = runs
        self._shares = [0.0] * runs
        console = stderr()
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[values]}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task("training", total=runs, values="")

    def __enter__(self) -> Any:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def show(self, run: int, share: float, what: str, values: str) -> None:
        """``share`` 0..1 of the run is done."""
        self._shares[run] = share
        self._progress.update(
            self._task, completed=sum(self._shares), description=f"run {run + 1}/{self._runs}, {what}", values=values
        )


def sizes(data: Dataset) -> str:
    graph = data.graph
    return f"{graph.num_nodes:,} nodes, {graph.num_relations:,} relations, {graph.num_edges:,} edges"


def file_name(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in Path(name).name).strip(".-") or "graph"
