"""The options that say what to read, shared by the commands that read data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brgcn.errors import BrgcnError, DataError

if TYPE_CHECKING:
    from brgcn.data import Dataset

Labels = Annotated[Path | None, typer.Option(metavar="FILE", help="Table of training labels.", show_default=False)]
TestLabels = Annotated[Path | None, typer.Option(metavar="FILE", help="Table of test labels.", show_default=False)]
NodeColumn = Annotated[
    str | None, typer.Option(metavar="NAME", help="Column of the label tables that names the node.", show_default=False)
]
LabelColumn = Annotated[
    str | None, typer.Option(metavar="NAME", help="Column of the label tables with the label.", show_default=False)
]
DropRelation = Annotated[
    list[str] | None,
    typer.Option(
        metavar="IRI",
        help="A relation to leave out of the graph, such as the one that holds the labels; may be repeated.",
        show_default=False,
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        metavar="H,R,T",
        help="Columns of head, relation and tail in a table of triples, by name or position from 0.",
        show_default=False,
    ),
]
Features = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        help="A table of numbers that nodes come with (node, then columns; or .npz); one for each type of node.",
        show_default=False,
    ),
]
ValidTriples = Annotated[
    Path | None,
    typer.Option(
        "--valid",
        metavar="FILE",
        help="For links: validation triples, beside a file of training triples.",
        show_default=False,
    ),
]
TestTriples = Annotated[
    Path | None, typer.Option("--test", metavar="FILE", help="For links: test triples.", show_default=False)
]
NodeDatasets = Annotated[str, typer.Option(metavar="A,B", help="Data sets with labelled nodes, separated by commas.")]
Device = Annotated[str, typer.Option(metavar="NAME", help="auto, cpu or cuda.")]
DataDir = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="A local mirror with one folder per data set; else $BRGCN_DATA.", show_default=False
    ),
]


def read_dataset(
    name_or_path: str,
    *,
    labels: Path | None,
    test_labels: Path | None,
    node_column: str | None,
    label_column: str | None,
    drop_relation: list[str] | None,
    columns: str | None,
    data_dir: Path | None,
    features: list[Path] | None = None,
    valid: Path | None = None,
    test: Path | None = None,
) -> Dataset:
    from brgcn.data import load_dataset

    return load_dataset(
        name_or_path,
        labels=labels,
        test_labels=test_labels,
        node_column=node_column,
        label_column=label_column,
        drop_relations=tuple(drop_relation or ()),
        columns=parse_columns(columns),
        features=features or (),
        valid=valid,
        test=test,
        data_dir=data_dir,
        progress=True,
    )


def given_options(context: typer.Context) -> dict[str, str]:
    """Parameters that stand on the command line -> how they are written."""
    found = {}
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if parameter.name and source is not None and source.name == "COMMANDLINE":
            found[parameter.name] = parameter.opts[0]
    return found


def split_names(text: str) -> list[str]:
    """``"aifb, mutag"``."""
    return [part.strip() for part in text.split(",") if part.strip()]


def names_of(option: str, text: str) -> list[str]:
    """The different names that an option gives, at least one."""
    names = list(dict.fromkeys(split_names(text)))
    if not names:
        raise BrgcnError(f"{option} names nothing", remedy="Give one name or more, separated by commas.")
    return names


def parse_columns(text: str | None) -> tuple[str | int, str | int, str | int] | None:
    """``"0,2,1"`` or ``"from,kind,to"``."""
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 3 or not all(parts):
        message = f"--columns {text!r} does not name three columns"
        raise DataError(message, remedy="For example --columns head,relation,tail or --columns 0,1,2")
    head, relation, tail = (int(part) if part.isdigit() else part for part in parts)
    return head, relation, tail
