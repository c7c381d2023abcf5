"""``brgcn evaluate``, ``brgcn predict`` and ``brgcn explain``: what can be done with a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from brgcn.cli.console import print_json, say, stdout, warn
from brgcn.cli.inputs import Columns, Device, given_options, parse_columns
from brgcn.errors import DataError

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A folder that `brgcn train` wrote.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]


def register(app: typer.Typer) -> None:
    app.command("evaluate")(evaluate)
    app.command("predict")(predict)
    app.command("explain")(explain)


def evaluate(folder: Folder, device: Device = "auto", as_json: AsJson = False) -> None:
    """Compute the measures again from the stored weights: accuracy, macro-F1 and confusion matrix of classes; ranks of
    links, raw and filtered, by cardinality and relation.

    \b
    Examples:
      brgcn evaluate runs/mutag
      brgcn evaluate runs/fb15k-237 --json
    """
    from brgcn.cli.views import confusion_table, evaluation_table
    from brgcn.tasks import RunFolder, evaluate_runs
    from brgcn.tasks.device import pick_device
    from brgcn.tasks.job_folder import task_of

    if task_of(folder) == "links":
        _evaluate_links(folder, device, as_json)
        return
    result = evaluate_runs(RunFolder.open(folder), pick_device(device))
    if as_json:
        print_json(result)
        return
    stdout().print(evaluation_table(result))
    for split in ("test", "train"):
        if f"{split}_accuracy" in result:
            stdout().print(confusion_table(result, split))
            break


def _evaluate_links(folder: Path, device: str, as_json: bool) -> None:
    from brgcn.cli.link_views import parts_table, ranking_table
    from brgcn.tasks.device import pick_device
    from brgcn.tasks.link_folder import LinkFolder
    from brgcn.tasks.link_runs import evaluate_links

    result = evaluate_links(LinkFolder.open(folder), pick_device(device))
    if as_json:
        print_json(result)
        return
    stdout().print(ranking_table(result))
    for split in ("test", "valid"):
        if result[split]:
            stdout().print(parts_table(result, split))
            break


def predict(
    context: typer.Context,
    folder: Folder,
    node: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A node to classify; may be repeated.", show_default=False)
    ] = None,
    nodes: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A file with one node per line.", show_default=False)
    ] = None,
    triples: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Triples of nodes that came after training (RDF or table); those nodes are classified.",
            show_default=False,
        ),
    ] = None,
    columns: Columns = None,
    features: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Features of those nodes, as `brgcn train` had them; may be repeated.",
            show_default=False,
        ),
    ] = None,
    head: Annotated[str | None, typer.Option(metavar="NAME", help="Links: the head.", show_default=False)] = None,
    relation: Annotated[
        str | None, typer.Option(metavar="NAME", help="Links: the relation.", show_default=False)
    ] = None,
    tail: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Links: the tail; what is left out of the three is asked.", show_default=False
        ),
    ] = None,
    queries: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Links: a table of head, relation, tail with ? for what is asked.", show_default=False
        ),
    ] = None,
    top: Annotated[int, typer.Option(metavar="N", min=1, help="Links: candidates to show for each query.")] = 10,
    run: Annotated[
        int | None, typer.Option(metavar="N", help="Use this run; else the mean over all.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the table to this file (TSV).", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Class probabilities of named nodes, of all nodes, or of new ones; the likeliest links.

    \b
    Examples:
      brgcn predict runs/mutag --node http://dl-learner.org/carcinogenesis#d1
      brgcn predict runs/mutag --triples new.nt --json
      brgcn predict runs/fb15k-237 --head /m/02mjmr --relation /people/person/profession
      brgcn predict runs/fb15k-237 --queries questions.tsv --out answers.tsv
    """
    from brgcn.cli.link_predictions import predict_links
    from brgcn.cli.views import prediction_lines
    from brgcn.tasks import RunFolder, predict_nodes
    from brgcn.tasks.job_folder import task_of
    from brgcn.tasks.run_files import table_line, write_table

    links = task_of(folder) == "links"
    _refuse_other_options(context, links)
    if links:
        predict_links(
            folder, (head, relation, tail), queries, columns=columns, top=top, run=run, out=out, as_json=as_json
        )
        return
    names = list(node or [])
    if nodes is not None:
        names += _lines(nodes)
    given = node is not None or nodes is not None
    wanted = names if given else None
    opened = RunFolder.open(folder)
    predictions = predict_nodes(
        opened, wanted, triples=triples, columns=parse_columns(columns), features=features or (), run=run
    )
    warn(predictions.warnings)
    header, rows = prediction_lines(predictions)
    if out is not None:
        write_table(out, header, rows)
        say(f"{len(rows)} predictions in {out}")
    elif as_json:
        print_json(predictions.rows())
    else:
        for cells in (header, *rows):
            typer.echo(table_line(cells))


def explain(
    folder: Folder,
    node: Annotated[
        str | None, typer.Option(metavar="NAME", help="The node to look at; else a labelled one.", show_default=False)
    ] = None,
    run: Annotated[int, typer.Option(metavar="N", help="The run whose model is shown.")] = 0,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The figure (.png, .svg or .pdf).", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Draw what the model attends to: relations around nodes, neighbours inside relations.

    \b
    Example:
      brgcn explain runs/mutag --node http://dl-learner.org/carcinogenesis#d1
    """
    from brgcn.cli.views import node_table, relation_table
    from brgcn.explain import explain_run
    from brgcn.tasks import RunFolder

    explanation = explain_run(RunFolder.open(folder), run=run, node=node, out=out)
    if as_json:
        print_json(explanation.to_json())
        return
    if explanation.relations:
        stdout().print(relation_table(explanation))
    stdout().print(node_table(explanation.node))
    say(f"figure      {explanation.figure}")


def _refuse_other_options(context: typer.Context, links: bool) -> None:
    """Options that mean nothing for the task of the folder."""
    others = ("node", "nodes", "triples", "features") if links else ("head", "relation", "tail", "queries", "top")
    task = "link prediction" if links else "node classification"
    for name, option in given_options(context).items():
        if name in others:
            raise DataError(f"the folder holds {task}, which knows no {option}", remedy=f"Leave {option} out.")


def _lines(path: Path) -> list[str]:
    from brgcn.data.files import open_binary

    with open_binary(path) as stream:
        try:
            text = stream.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = error.object[: error.start].count(b"\n") + 1
            message = f"the text is not valid UTF-8 ({error.reason})"
            raise DataError(message, where=f"{path}, line {line}", remedy="Save the file as UTF-8.") from None
    names = [line.strip() for line in text.splitlines() if line.strip()]
    if not names:
        raise DataError("the file names no node", where=str(path), remedy="Write one node per line.")
    return names
