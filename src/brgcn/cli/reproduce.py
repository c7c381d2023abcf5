"""``brgcn reproduce``: the paper's tables and figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brgcn.cli.console import print_json, say, stderr, stdout, warn
from brgcn.cli.inputs import DataDir, Device, NodeDatasets, split_names
from brgcn.cli.reproduce_ablation import ablation
from brgcn.cli.reproduce_cost import cost
from brgcn.cli.reproduce_links import links
from brgcn.errors import BrgcnError, SettingsError

if TYPE_CHECKING:
    from rich.table import Table

reproduce_app = typer.Typer(name="reproduce", help="The paper's experiments, honestly.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    reproduce_app.command("links")(links)
    reproduce_app.command("ablation")(ablation)
    reproduce_app.command("cost")(cost)
    app.add_typer(reproduce_app)


@reproduce_app.command("nodes")
def nodes(
    datasets: NodeDatasets = "aifb,mutag",
    models: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Rows of the table; else brgcn, brgcn-node, brgcn-relation, rgcn, han, gat, gin, gcn, majority.",
            show_default=False,
        ),
    ] = None,
    runs: Annotated[int, typer.Option(metavar="N", min=0, help="Seeds on the benchmark's split; 0: none.")] = 10,
    resplit: Annotated[
        int, typer.Option(metavar="N", min=0, help="Random re-splits of all labels, the same for every model.")
    ] = 0,
    preset: Annotated[str, typer.Option(metavar="NAME", help="default or paper.")] = "default",
    device: Device = "auto",
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where each row is kept.")] = Path("results/nodes"),
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Measure again what is kept already.")] = False,
    data_dir: DataDir = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON on standard output.")] = False,
) -> None:
    """Node classification: every model on every data set, beside the paper's figures.

    p is that of a paired test against BR-GCN: on the benchmark's split over its test items, on re-splits over the
    splits (Nadeau and Bengio). Rows that are kept in the folder are not measured again.

    \b
    Examples:
      brgcn reproduce nodes
      brgcn reproduce nodes --datasets mutag --models brgcn,rgcn --resplit 30
    """
    from brgcn.data import load_dataset
    from brgcn.experiments.kept import all_results
    from brgcn.experiments.node_figure import draw
    from brgcn.experiments.node_report import report
    from brgcn.experiments.node_table import ROWS, measure_cell
    from brgcn.tasks.device import pick_device
    from brgcn.tasks.node_runs import check_trainable

    chosen = split_names(models) if models is not None else list(ROWS)
    unknown = [name for name in chosen if name not in ROWS]
    if unknown:
        raise SettingsError(f"unknown model {unknown[0]!r}", remedy=f"Known: {', '.join(ROWS)}.")
    if runs == resplit == 0:
        raise BrgcnError("there is nothing to measure", remedy="Ask for --runs or --resplit.")
    place = pick_device(device)
    cells: list[dict[str, Any]] = []
    with stderr().status("") as status:
        for name in split_names(datasets):
            data = load_dataset(name, data_dir=data_dir, progress=True)
            check_trainable(data)
            for model in chosen:
                try:
                    cell = measure_cell(
                        data,
                        model,
                        preset,
                        out,
                        runs=runs,
                        resplits=resplit,
                        device=place,
                        overwrite=overwrite,
                        tell=status.update,
                    )
                except SettingsError as error:
                    if preset == "default":
                        raise
                    warn([str(error)])  # the paper has no settings for this row; the others still count
                    continue
                cells.append(cell)
    rows = report(cells)
    by_data = {
        name: [row for row in rows if row["dataset"] == name] for name in dict.fromkeys(r["dataset"] for r in rows)
    }
    everything = report(all_results(out))  # the figure shows all that is kept, not the rows of this call alone
    for name in by_data:
        shown = [row for row in everything if (row["dataset"], row["preset"]) == (name, preset)]
        say(f"figure      {draw(shown, out / f'{name}-{preset}.png')}")
    if as_json:
        print_json(rows)
        return
    for of_data in by_data.values():
        for table in node_tables(of_data):
            stdout().print(table)
    for row in rows:
        if row["remark"]:
            say(f"{row['dataset']}, {row['model']}: {row['remark']}")
    say(f"kept in {out}")


def node_tables(rows: list[dict[str, Any]]) -> list[Table]:
    """The rows of one data set, accuracies in percent; a table for each part, so that they fit a narrow terminal."""
    from rich.table import Table

    from brgcn.cli.views import percent

    first, tables = rows[0], []
    kinds = {"benchmark": f"{first['test_items']} test items", "resplits": "re-splits"}
    for part in (part for part in kinds if any(row[part] for row in rows)):
        title = f"{first['dataset']} · {first['preset']} · {kinds[part]}"
        table = Table("model", title=title, title_justify="left")
        for column in ("mean", "sd", "s.e.", "n", "p", "paper"):
            table.add_column(column, justify="right", no_wrap=True)
        for row in rows:
            cells = ["–"] * 5
            if (measured := row[part]) is not None:
                cells = [percent(measured[key]) for key in ("mean", "std", "sem")]
                cells += [str(measured["n"]), "" if measured["p"] is None else f"{measured['p']:.3f}"]
            table.add_row(row["model"], *cells, percent(row["paper"]))
        tables.append(table)
    return tables
