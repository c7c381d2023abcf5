"""``brgcn reproduce ablation``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brgcn.cli.console import print_json, say, stderr, stdout
from brgcn.cli.inputs import DataDir, Device, NodeDatasets, split_names
from brgcn.errors import SettingsError

if TYPE_CHECKING:
    from rich.table import Table


def ablation(
    datasets: NodeDatasets = "aifb,mutag",
    models: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Models to train on the cuts; else brgcn, brgcn-node, brgcn-relation, rgcn, han, gat.",
            show_default=False,
        ),
    ] = None,
    by: Annotated[
        str,
        typer.Option(
            metavar="MEASURE",
            help="What orders the relation types: the attention they receive, or its lift over uniform attention.",
        ),
    ] = "attention",
    runs: Annotated[int, typer.Option(metavar="N", min=1, help="Seeds on every cut.")] = 3,
    draws: Annotated[int, typer.Option(metavar="N", min=0, help="Random orders.")] = 5,
    device: Device = "auto",
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where results and figures are kept.")] = Path(
        "results/ablation"
    ),
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Measure again what is kept already.")] = False,
    data_dir: DataDir = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON on standard output.")] = False,
) -> None:
    """Relation types kept in tenths by the attention that they receive, and every model trained anew on each cut.

    Leaves a file per model and a figure per data set; what is kept in the folder is not measured again.

    \b
    Examples:
      brgcn reproduce ablation --datasets aifb --models brgcn,rgcn
      brgcn reproduce ablation --datasets am-standin --by lift
    """
    from brgcn.data import load_dataset
    from brgcn.experiments.ablation import MEASURES, MODELS, measure_ablation, measure_importance
    from brgcn.experiments.ablation_report import cut_results, draw, report
    from brgcn.tasks.device import pick_device
    from brgcn.tasks.node_runs import check_trainable

    chosen = split_names(models) if models is not None else list(MODELS)
    for name, known in [*((model, MODELS) for model in chosen), (by, MEASURES)]:
        if name not in known:
            raise SettingsError(f"there is no {name!r} here", remedy=f"Known: {', '.join(known)}.")
    place = pick_device(device)
    results: list[dict[str, Any]] = []
    with stderr().status("") as status:
        for name in split_names(datasets):
            data = load_dataset(name, data_dir=data_dir, progress=True)
            check_trainable(data)
            common: dict[str, Any] = {"runs": runs, "device": place, "overwrite": overwrite, "tell": status.update}
            importance = measure_importance(data, out, **common)
            of_data = [measure_ablation(data, model, importance, out, by=by, draws=draws, **common) for model in chosen]
            results += of_data
            everything = cut_results(out, data.name, by)  # the figure shows all that is kept
            say(f"figure      {draw(everything, out / f'{data.name}-{by}.png')}")
    rows = report(results)
    if as_json:
        print_json(rows)
        return
    for name in dict.fromkeys(row["dataset"] for row in rows):
        for table in ablation_tables([row for row in rows if row["dataset"] == name]):
            stdout().print(table)
    say(f"kept in {out}")


def ablation_tables(rows: list[dict[str, Any]]) -> list[Table]:
    """The rows of one data set in percent: accuracies, and gains; together they would not fit a narrow terminal."""
    from rich.table import Table

    from brgcn.cli.views import percent
    from brgcn.experiments.ablation import ORDERS
    from brgcn.experiments.ablation_report import gain_text

    first = rows[0]
    kept = f"{first['dataset']} · relation types kept by {first['by']}"
    accuracy = Table("model", title=f"{kept} · test accuracy", title_justify="left")
    accuracy.caption = "highest, random, lowest: mean over 10 to 90 %"
    gain = Table("model", title=f"{kept} · what leaving out the others gains", title_justify="left")
    for column in (*(f"top {share} %" for share in first["top"]), *ORDERS):
        accuracy.add_column(column, justify="right", no_wrap=True)
    for share in first["gain"]:
        gain.add_column(f"top {share} %", justify="right", no_wrap=True)
    for row in rows:
        means = [row["mean_over_steps"][order] for order in ORDERS]
        accuracy.add_row(row["model"], *(percent(value) for value in (*row["top"].values(), *means)))
        gain.add_row(row["model"], *(gain_text(one) for one in row["gain"].values()))
    return [accuracy, gain]
