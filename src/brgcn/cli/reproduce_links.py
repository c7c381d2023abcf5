"""``brgcn reproduce links``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brgcn.cli.console import print_json, say, stderr, stdout, warn
from brgcn.cli.held_back import Split, hold_back_as_asked, parse_shares
from brgcn.cli.inputs import DataDir, Device, names_of, split_names
from brgcn.errors import BrgcnError

if TYPE_CHECKING:
    from brgcn.data import Dataset


def links(
    datasets: Annotated[
        str, typer.Option(metavar="A,B", help="Data sets of triples (names, folders or files), separated by commas.")
    ] = "fb15k,wn18,fb15k-237",
    rows: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="rules; complex; brgcn:distmult, also @random or @empty; brgcn+complex, brgcn:complex+complex. Else "
            "all of the paper's. rules are always there.",
            show_default=False,
        ),
    ] = None,
    regime: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="modern, paper or rgcn-reference; the embedding of an ensemble is always modern."
        ),
    ] = "modern",
    split: Split = None,
    runs: Annotated[int, typer.Option(metavar="N", min=1, help="Seeds of each row.")] = 1,
    jobs: Annotated[
        int,
        typer.Option(
            metavar="N", min=1, help="Rows to train at the same time, which fills a GPU (or more cores) better."
        ),
    ] = 1,
    device: Device = "auto",
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where each row is kept.")] = Path("results/links"),
    models: Annotated[Path, typer.Option(metavar="DIR", help="Where the trained models are kept.")] = Path(
        "runs/links"
    ),
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Measure again what is kept already.")] = False,
    data_dir: DataDir = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON on standard output.")] = False,
) -> None:
    """Link prediction: rules, embeddings, auto-encoders and ensembles on every data set, beside the paper's figures.

    Settings and epochs are chosen on validation triples. Rows that are kept in the folder are not measured again.

    \b
    Examples:
      brgcn reproduce links --datasets wn18 --rows rules,complex
      brgcn reproduce links --datasets own.tsv --rows rules
      brgcn reproduce links --datasets fb15k-237 --device cuda --jobs 6
      brgcn reproduce links --datasets fb15k-237 --regime rgcn-reference --rows rgcn:distmult,brgcn:distmult --runs 3
    """
    from brgcn.data import load_dataset
    from brgcn.experiments.link_report import report
    from brgcn.experiments.link_table import DEFAULT_ROWS, RULES, LinkRow
    from brgcn.experiments.side_by_side import measure_rows
    from brgcn.tasks.device import pick_device

    names = DEFAULT_ROWS if rows is None else dict.fromkeys([RULES, *split_names(rows)])
    chosen = [LinkRow.parse(name) for name in names]
    named = names_of("--datasets", datasets)
    shares = parse_shares(split)
    place = pick_device(device)
    cells: list[dict[str, Any]] = []
    with _saying_how_to_continue(overwrite), stderr().status("") as status:
        for name in named:
            data = _judged(load_dataset(name, data_dir=data_dir, progress=True), name, shares)
            cells += measure_rows(
                data,
                chosen,
                regime,
                out,
                models,
                jobs=jobs,
                runs=runs,
                device=place,
                overwrite=overwrite,
                tell=status.update,
            )
    found = report(cells)
    if as_json:
        print_json(found)
        return
    for name in dict.fromkeys(row["dataset"] for row in found):
        stdout().print(_table([row for row in found if row["dataset"] == name]))
    for line in found:
        if line["remark"]:
            say(f"{line['dataset']}, {line['row']}: {line['remark']}")
    say(f"kept in {out}")


@contextlib.contextmanager
def _saying_how_to_continue(overwrite: bool) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        others = "The rows that are done are kept; name the others with --rows to measure them again, too."
        say(f"Stopped. {others if overwrite else 'The same command goes on from here.'}")
        raise


def _judged(data: Dataset, given_as: str, shares: list[float] | None) -> Dataset:
    """With validation and test triples."""
    from brgcn.tasks.link_runs import check_judged

    if data.task != "links":
        raise BrgcnError(
            f"{data.name} has no triples to predict; its graph is there to classify nodes",
            remedy=f"brgcn reproduce nodes --datasets {given_as} does that; brgcn train {given_as} --task links "
            "predicts some of its triples.",
        )
    data = hold_back_as_asked(data, shares)
    warn(data.warnings)
    check_judged(data)
    return data


def _table(rows: list[dict[str, Any]]) -> Any:
    from rich.table import Table

    from brgcn.cli.link_views import ranking_caption
    from brgcn.cli.views import percent
    from brgcn.experiments.link_table import EVERY
    from brgcn.experiments.paper_links import MEASURES

    regimes = ", ".join(dict.fromkeys(row["regime"] for row in rows if row["regime"] != EVERY)) or "rules"
    title = f"{rows[0]['dataset']} · {regimes} · test, filtered unless raw, % (the paper's in brackets)"
    said = next((row for row in rows if "filter" in row), None)
    caption = ranking_caption(said) if said else None
    table = Table(title=title, title_justify="left", caption=caption, caption_justify="left")
    for column in ("row", "n", "valid MRR", "raw MRR", "MRR", "hits@1", "hits@3", "hits@10"):
        table.add_column(column, justify="left" if column == "row" else "right", no_wrap=column == "row")
    for row in rows:
        cells = [
            percent(row[name], 1) + (f" ({100 * row['paper'][name]:.1f})" if row["paper"] else "") for name in MEASURES
        ]
        table.add_row(row["row"], str(row["n"]), percent(row["valid_mrr"], 1), *cells)
    return table
