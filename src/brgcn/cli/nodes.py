"""``brgcn train`` for node classification."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from brgcn.cli.console import print_json, say, stdout, warn
from brgcn.cli.training import RunsBar, TrainRequest, differences, saying_how_to_continue, sizes

if TYPE_CHECKING:
    from brgcn.data import Dataset
    from brgcn.tasks import NodeSettings


def train(request: TrainRequest, *, model: str | None, preset: str, together: int | None) -> None:
    from brgcn.config import to_yaml
    from brgcn.experiments.presets import node_settings
    from brgcn.tasks import train_runs
    from brgcn.tasks.device import pick_device
    from brgcn.tasks.job_folder import check_free
    from brgcn.tasks.node_runs import check_task, check_trainable

    base = node_settings(request.one_name("model", model, "brgcn"), request.name, preset)
    chosen = request.change(base)
    if request.show_config:
        typer.echo(to_yaml(chosen, explain=True), nl=False)
        return
    # What can be known before the data are fetched and read is said before.
    place = pick_device(request.device)
    if request.entry is not None:
        check_task(request.entry.name, request.entry.task)
    if request.out is not None:
        check_free(request.out, overwrite=request.overwrite)
    data = request.data
    check_trainable(data)
    warn(data.warnings)
    if data.features:
        say(_features(data))
        warn(_nameless(data, chosen))
    out = request.place(data, chosen.model)
    say(f"{data.name}: {sizes(data)}, {len(data.splits['train']):,} training labels, on {place}")
    with saying_how_to_continue(out), TrainingBar(request.runs, chosen) as bar:
        folder = train_runs(
            data,
            chosen,
            out,
            runs=request.runs,
            seed=request.seed,
            preset=preset,
            changed_settings=differences(base, chosen),
            device=place,
            overwrite=request.overwrite,
            checkpoint_seconds=request.checkpoint_every,
            together=together,
            listener=bar.update,
        )
    _show(folder, request.figure, request.as_json)


def resume(path: Path, device: str, checkpoint_every: float, *, figure: bool, as_json: bool) -> None:
    from brgcn.tasks import RunFolder, continue_runs
    from brgcn.tasks.device import pick_device

    folder = RunFolder.open(path)
    if folder.finished:
        say(f"{path} is finished already.")
    else:
        place = None if device == "auto" else pick_device(device)
        with saying_how_to_continue(path), TrainingBar(len(folder.seeds), folder.settings) as bar:
            continue_runs(folder, device=place, checkpoint_seconds=checkpoint_every, listener=bar.update)
    _show(folder, figure, as_json)


def _features(data: Dataset) -> str:
    tables, columns = len(data.features), sum(len(table.columns) for table in data.features)
    nodes = sum(table.nodes.numel() for table in data.features)
    return f"{tables} table{'s' * (tables > 1)} of features, {columns} columns, {nodes:,} rows"


def _nameless(data: Dataset, settings: NodeSettings) -> list[str]:
    """Nodes that a model without one-hot vectors cannot tell from each other."""
    known = {node for table in data.features for node in table.nodes.tolist()}
    alike = data.graph.num_nodes - len(known)
    if not alike or settings.one_hot or settings.literals != "nodes":
        return []
    return [
        f"{alike:,} of {data.graph.num_nodes:,} nodes are in no table of features; before the first layer they are all "
        "alike. --set one_hot=true tells them apart."
    ]


def _show(folder: Any, figure: bool, as_json: bool) -> None:
    result = folder.result
    picture = None
    from brgcn.explain import EXPLAINABLE, explain_run

    if figure and folder.settings.model in EXPLAINABLE:
        try:
            picture = explain_run(folder).figure
        except OSError as error:  # the training is done and its result shall be seen
            warn([f"the figure could not be written ({error.strerror or error}); brgcn explain draws it"])
    if as_json:
        print_json({**result, "out": str(folder.path), "figure": str(picture) if picture else None})
        return
    from brgcn.cli.views import result_table

    stdout().print(result_table(result))
    say(f"run folder  {folder.path}")
    if picture:
        say(f"figure      {picture}")


class TrainingBar(RunsBar):
    """With loss and accuracy of the current run."""

    def __init__(self, runs: int, settings: NodeSettings) -> None:
        super().__init__(runs)
        self._settings = settings

    def update(self, run: int, record: dict[str, Any]) -> None:
        values = f"loss {record['loss']:.3f}  train {100 * record['train_accuracy']:.1f} %"
        if "validation_accuracy" in record:
            values += f"  validation {100 * record['validation_accuracy']:.1f} %"
        phase = "" if record["phase"] == "fit" else " (choosing epochs)"
        self.show(run, self._share_of_run(record), f"epoch {record['epoch']}{phase}", values)

    def _share_of_run(self, record: dict[str, Any]) -> float:
        """0..1; where the number of epochs is chosen first, that is the first half."""
        share = float(record["epoch"]) / self._settings.epochs
        if not self._settings.patience:
            return share
        return share / 2 if record["phase"] == "select" else (1 + share) / 2
