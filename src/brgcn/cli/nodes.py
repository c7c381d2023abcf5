"""``brgcn train``."""

from __future__ import annotations

import contextlib
import dataclasses
import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brgcn.cli.console import print_json, say, stderr, stdout, warn
from brgcn.cli.inputs import (
    Columns,
    DataDir,
    Device,
    DropRelation,
    Features,
    LabelColumn,
    Labels,
    NodeColumn,
    TestLabels,
    read_dataset,
)
from brgcn.errors import BrgcnError

if TYPE_CHECKING:
    from brgcn.data import Dataset
    from brgcn.tasks import NodeSettings

# What may stand beside --resume; everything else is in the run folder.
_WITH_RESUME = ("resume", "dataset", "device", "checkpoint_every", "figure", "as_json", "show_config")


def register(app: typer.Typer) -> None:
    app.command("train")(train)


def train(
    context: typer.Context,
    dataset: Annotated[
        str | None,
        typer.Argument(
            help="A name from `brgcn data list`, a folder, or an RDF file or table of triples.", show_default=False
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="brgcn (the default), brgcn-node, brgcn-relation, rgcn; baselines: han, gat, gin, gcn, majority.",
            show_default=False,
        ),
    ] = None,
    preset: Annotated[
        str, typer.Option(metavar="PRESET", help="default, or paper: the settings of the paper's appendix.")
    ] = "default",
    runs: Annotated[int, typer.Option(metavar="N", min=1, help="Train so many models with consecutive seeds.")] = 1,
    seed: Annotated[int, typer.Option(metavar="N", min=0, max=2**32 - 1, help="The first seed.")] = 0,
    epochs: Annotated[
        int | None, typer.Option(metavar="N", help="Short for --set epochs=N.", show_default=False)
    ] = None,
    device: Device = "auto",
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The run folder; else a new one below runs/.", show_default=False)
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the run folder if it exists.")] = False,
    resume: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Continue this run folder after an interruption.", show_default=False),
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a setting; may be repeated.")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A YAML file of settings, read before --set.", show_default=False),
    ] = None,
    show_config: Annotated[
        bool, typer.Option("--show-config", help="Print every setting with its explanation, and stop.")
    ] = False,
    labels: Labels = None,
    test_labels: TestLabels = None,
    node_column: NodeColumn = None,
    label_column: LabelColumn = None,
    drop_relation: DropRelation = None,
    columns: Columns = None,
    features: Features = None,
    data_dir: DataDir = None,
    checkpoint_every: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="Seconds between checkpoints.")
    ] = 10.0,
    together: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Runs trained as one wide model; else what pays and fits.", show_default=False
        ),
    ] = None,
    figure: Annotated[bool, typer.Option(help="Draw what the model attends to.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")] = False,
) -> None:
    """Train a node classifier and leave a run folder.

    \b
    Examples:
      brgcn train mutag --runs 10
      brgcn train graph.nt.gz --labels train.tsv --test-labels test.tsv
      brgcn train graph.nt.gz --labels train.tsv --features persons.tsv --features papers.tsv
      brgcn train --resume runs/mutag-brgcn-20260101-120000
    """
    from brgcn.config import parse_assignments, read_yaml, to_yaml, update
    from brgcn.data import catalogue
    from brgcn.experiments.presets import node_settings

    entry = catalogue.find(dataset) if dataset else None
    changes = read_yaml(config) if config is not None else {}
    given = parse_assignments(settings or [])
    model = _one_model(model, given.get("model"), changes.get("model"))
    base = node_settings(model, entry.name if entry else "data of your own", preset)
    chosen = update(update(base, changes, str(config)), given, "--set")
    if epochs is not None:
        chosen = update(chosen, {"epochs": epochs}, "--epochs")
    if show_config:
        typer.echo(to_yaml(chosen, explain=True), nl=False)
        return
    if resume is not None:
        _refuse_beside_resume(context, dataset)
        folder = _resume(resume, device, checkpoint_every)
    elif dataset is None:
        raise BrgcnError("no data set was named", remedy="For example: brgcn train mutag. All: brgcn data list.")
    else:
        from brgcn.tasks import train_runs
        from brgcn.tasks.device import pick_device
        from brgcn.tasks.node_runs import check_task, check_trainable
        from brgcn.tasks.run_folder import check_free

        # What can be known before the data are fetched and read is said before.
        place = pick_device(device)
        if entry is not None:
            check_task(entry.name, entry.task)
        if out is not None:
            check_free(out, overwrite=overwrite)
        data = read_dataset(
            dataset,
            labels=labels,
            test_labels=test_labels,
            node_column=node_column,
            label_column=label_column,
            drop_relation=drop_relation,
            columns=columns,
            features=features,
            data_dir=data_dir,
        )
        check_trainable(data)
        warn(data.warnings)
        if data.features:
            say(_features(data))
            warn(_nameless(data, chosen))
        out = out or Path("runs") / f"{_file_name(data.name)}-{chosen.model}-{time.strftime('%Y%m%d-%H%M%S')}"
        say(f"{data.name}: {_sizes(data)}, {len(data.splits['train']):,} training labels, on {place}")
        with _saying_how_to_continue(out), TrainingBar(runs, chosen) as bar:
            folder = train_runs(
                data,
                chosen,
                out,
                runs=runs,
                seed=seed,
                preset=preset,
                changed_settings=_differences(base, chosen),
                device=place,
                overwrite=overwrite,
                checkpoint_seconds=checkpoint_every,
                together=together,
                listener=bar.update,
            )
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


def _one_model(*named: Any) -> str:
    """The model that the option, --set and the config agree on; the preset depends on it."""
    names = list(dict.fromkeys(str(name) for name in named if name is not None))
    if len(names) > 1:
        raise BrgcnError(
            f"two models were named: {' and '.join(names)}", remedy="Name one, with --model or in the config."
        )
    return names[0] if names else "brgcn"


def _differences(base: NodeSettings, chosen: NodeSettings) -> dict[str, Any]:
    before = dataclasses.asdict(base)
    return {name: value for name, value in dataclasses.asdict(chosen).items() if value != before[name]}


def _refuse_beside_resume(context: typer.Context, dataset: str | None) -> None:
    if dataset is not None:
        raise BrgcnError("--resume takes the data set from the run folder", remedy=f"Leave {dataset!r} out.")
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if parameter.name not in _WITH_RESUME and source is not None and source.name == "COMMANDLINE":
            option = parameter.opts[0]
            message = f"--resume goes on as the run folder says, without {option}"
            raise BrgcnError(message, remedy=f"Leave {option} out.")


@contextlib.contextmanager
def _saying_how_to_continue(path: Path) -> Iterator[None]:
    """When training is interrupted, or the disk is full, once there is something to continue."""
    try:
        yield
    except (KeyboardInterrupt, OSError):
        if (path / "run.json").exists():
            say(f"Stopped. Continue with: brgcn train --resume {shlex.quote(str(path))}")
        raise


def _resume(path: Path, device: str, checkpoint_every: float) -> Any:
    from brgcn.tasks import RunFolder, continue_runs
    from brgcn.tasks.device import pick_device

    folder = RunFolder.open(path)
    if folder.finished:
        say(f"{path} is finished already.")
        return folder
    place = None if device == "auto" else pick_device(device)
    with _saying_how_to_continue(path), TrainingBar(len(folder.seeds), folder.settings) as bar:
        return continue_runs(folder, device=place, checkpoint_seconds=checkpoint_every, listener=bar.update)


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


class TrainingBar:
    """One bar over all runs, with loss and accuracy of the current one."""

    def __init__(self, runs: int, settings: NodeSettings) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self._runs = runs
        self._shares = [0.0] * runs
        console = stderr()
        self._settings = settings
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

    def __enter__(self) -> TrainingBar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self._progress.stop()

    def update(self, run: int, record: dict[str, Any]) -> None:
        values = f"loss {record['loss']:.3f}  train {100 * record['train_accuracy']:.1f} %"
        if "validation_accuracy" in record:
            values += f"  validation {100 * record['validation_accuracy']:.1f} %"
        phase = "" if record["phase"] == "fit" else " (choosing epochs)"
        self._shares[run] = self._share_of_run(record)
        self._progress.update(
            self._task,
            completed=sum(self._shares),
            description=f"run {run + 1}/{self._runs}, epoch {record['epoch']}{phase}",
            values=values,
        )

    def _share_of_run(self, record: dict[str, Any]) -> float:
        """0..1; where the number of epochs is chosen first, that is the first half."""
        share = float(record["epoch"]) / self._settings.epochs
        if not self._settings.patience:
            return share
        return share / 2 if record["phase"] == "select" else (1 + share) / 2


def _sizes(data: Dataset) -> str:
    graph = data.graph
    return f"{graph.num_nodes:,} nodes, {graph.num_relations:,} relations, {graph.num_edges:,} edges"


def _file_name(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in Path(name).name).strip(".-") or "graph"
