"""``brgcn train``: one command for both tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from brgcn.cli import links, nodes
from brgcn.cli.held_back import Split
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
    TestTriples,
    ValidTriples,
    given_options,
)
from brgcn.cli.training import TrainRequest
from brgcn.errors import BrgcnError

TASKS = ("nodes", "links")
# What may stand beside --resume; everything else is in the run folder.
_WITH_RESUME = ("resume", "dataset", "device", "checkpoint_every", "figure", "as_json", "show_config")
# Options that mean something for one task alone.
_OF_TASK = {
    "nodes": (
        "model",
        "preset",
        "labels",
        "test_labels",
        "node_column",
        "label_column",
        "features",
        "together",
        "figure",
    ),
    "links": ("encoder", "decoder", "regime", "split", "valid", "test"),
}

# What serves the purpose of an option in the other task.
_INSTEAD = {
    "model": " (for links: --encoder and --decoder)",
    "preset": " (for links: --regime)",
    "encoder": " (for nodes: --model)",
    "regime": " (for nodes: --preset)",
}


def register(app: typer.Typer) -> None:
    app.command("train", context_settings={"allow_extra_args": True})(train)


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
            metavar="NAME",
            help="brgcn (the default), brgcn-node, brgcn-relation, rgcn; baselines: han, gat, gin, gcn, majority.",
            show_default=False,
        ),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="For links: none (the default), rgcn, brgcn, brgcn-node, brgcn-relation.",
            show_default=False,
        ),
    ] = None,
    decoder: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="For links: complex (the default), distmult, hole, transe, transe-l2.",
            show_default=False,
        ),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="nodes or links; else what the data are made for. links holds back some triples of a graph.",
            show_default=False,
        ),
    ] = None,
    preset: Annotated[
        str, typer.Option(metavar="NAME", help="For nodes: default, or paper, the settings of its appendix.")
    ] = "default",
    regime: Annotated[
        str, typer.Option(metavar="NAME", help="For links: modern, paper, or rgcn-reference.")
    ] = "modern",
    split: Split = None,
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
    valid: ValidTriples = None,
    test: TestTriples = None,
    data_dir: DataDir = None,
    checkpoint_every: Annotated[float, typer.Option(metavar="S", min=0, help="Seconds between checkpoints.")] = 10.0,
    together: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Runs trained as one wide model; else what pays and fits.", show_default=False
        ),
    ] = None,
    figure: Annotated[bool, typer.Option(help="For nodes: draw what the model attends to.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")] = False,
) -> None:
    """Train a node classifier or a link predictor and leave a run folder.

    \b
    Examples:
      brgcn train mutag --runs 10
      brgcn train graph.nt.gz --labels train.tsv --test-labels test.tsv
      brgcn train graph.nt.gz --labels train.tsv --features persons.tsv --features papers.tsv
      brgcn train fb15k-237 --encoder brgcn --decoder complex
      brgcn train train.tsv --valid valid.tsv --test test.tsv
      brgcn train graph.nt.gz --task links --split 0.05,0.05
      brgcn train --resume runs/mutag-brgcn-20260101-120000
    """
    from brgcn.data import catalogue

    _refuse_more_files(context)
    if task is not None and task not in TASKS:
        raise BrgcnError(f"there is no task {task!r}", remedy=f"Known: {', '.join(TASKS)}.")
    if resume is not None and not show_config:
        _refuse_beside_resume(context, dataset)
        from brgcn.tasks.job_folder import task_of

        if task_of(resume) == "links":
            links.resume(resume, device, checkpoint_every, as_json=as_json)
        else:
            nodes.resume(resume, device, checkpoint_every, figure=figure, as_json=as_json)
        return
    entry = catalogue.find(dataset) if dataset else None
    given = given_options(context)
    request = TrainRequest(
        dataset=dataset,
        entry=entry,
        runs=runs,
        seed=seed,
        epochs=epochs,
        device=device,
        out=out,
        overwrite=overwrite,
        assignments=tuple(settings or ()),
        config=config,
        show_config=show_config,
        checkpoint_every=checkpoint_every,
        figure=figure,
        as_json=as_json,
        labels=labels,
        test_labels=test_labels,
        node_column=node_column,
        label_column=label_column,
        drop_relation=drop_relation,
        columns=columns,
        features=features,
        valid=valid,
        test=test,
        data_dir=data_dir,
    )
    wanted = task or _task_of(request, given)
    _refuse_other_task(given, wanted)
    if wanted == "nodes":
        nodes.train(request, model=model, preset=preset, together=together)
    else:
        links.train(request, encoder=encoder, decoder=decoder, regime=regime, split=split, hold_back=task == "links")


def _refuse_more_files(context: typer.Context) -> None:
    if context.args:
        context.fail(
            f"Got unexpected extra argument ({' '.join(context.args)}). A training reads one data set: beside a file "
            "of training triples, name the others with --valid FILE and --test FILE; a table of labels with "
            "--labels FILE."
        )


def _task_of(request: TrainRequest, given: dict[str, str]) -> str:
    """What the data are made for; the options, where there are no data to ask."""
    if request.entry is not None and request.labels is None:
        return request.entry.task
    if any(name in given for name in _OF_TASK["links"]):
        return "links"
    # --preset says little: it is easily written for --regime, and the paper has no preset for data of one's own.
    if request.dataset is None or any(name in given for name in _OF_TASK["nodes"] if name != "preset"):
        return "nodes"
    return "nodes" if request.show_config else request.data.task


def _refuse_other_task(given: dict[str, str], task: str) -> None:
    other = "links" if task == "nodes" else "nodes"
    what = {"nodes": "classifies nodes", "links": "predicts links"}
    for name in _OF_TASK[other]:
        if name in given:
            raise BrgcnError(
                f"{given[name]} is for a training that {what[other]}, and this one {what[task]}",
                remedy=f"Leave {given[name]} out{_INSTEAD.get(name, '')}, or say --task {other}.",
            )


def _refuse_beside_resume(context: typer.Context, dataset: str | None) -> None:
    if dataset is not None:
        raise BrgcnError("--resume takes the data set from the run folder", remedy=f"Leave {dataset!r} out.")
    for name, option in given_options(context).items():
        if name not in _WITH_RESUME:
            message = f"--resume goes on as the run folder says, without {option}"
            raise BrgcnError(message, remedy=f"Leave {option} out.")
