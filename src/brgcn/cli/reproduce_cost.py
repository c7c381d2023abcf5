"""``brgcn reproduce cost``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brgcn.cli.console import print_json, say, stderr, stdout
from brgcn.cli.inputs import Device

if TYPE_CHECKING:
    from rich.table import Table


def cost(
    device: Device = "auto",
    seconds: Annotated[float, typer.Option(metavar="S", min=0, help="Time for each measurement.")] = 1.0,
    limit: Annotated[
        float, typer.Option(metavar="S", min=1, help="A layer that takes longer, with its preparation, gives up.")
    ] = 60.0,
    quick: Annotated[bool, typer.Option("--quick", help="Tiny and inaccurate, to see that it works.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Where it is kept; else results/cost, with --quick cost-quick.", show_default=False
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")] = False,
) -> None:
    """Time and memory of a layer against nodes, edges, relations and width, beside the paper's complexity.

    Exponents are slopes on logarithmic axes: 1 is proportional, 0 does not matter. Needs torch-geometric.

    \b
    Example:
      brgcn reproduce cost --device cpu
    """
    from brgcn.bench import Budget
    from brgcn.bench.figure import draw
    from brgcn.experiments.cost import measure_cost
    from brgcn.tasks.device import pick_device
    from brgcn.tasks.run_files import write_json

    out = out or (Path("cost-quick") if quick else Path("results") / "cost")
    place = pick_device(device)
    with stderr().status("") as status:
        budget = None if quick else Budget(seconds=seconds, limit=limit)
        result = measure_cost(place, budget=budget, quick=quick, tell=status.update)
    write_json(out / f"{place.type}.json", result)
    figure = draw(result, out / f"{place.type}.png")
    if as_json:
        print_json(result)
        return
    for table in cost_tables(result):
        stdout().print(table)
    say(f"result  {out / f'{place.type}.json'}")
    say(f"figure  {figure}")


def cost_tables(result: dict[str, Any]) -> list[Table]:
    """Exponents of time and of memory."""
    from rich.table import Table

    from brgcn.experiments.cost import PAPER, VARIED, exponent_texts

    tables = []
    for what, measure, place in (("time", "ms", 1), ("memory", "peak_bytes", 2)):
        table = Table(title=f"exponents of {what}, one layer forward and backward", title_justify="left")
        table.add_column("model")
        for letter, name in VARIED.items():
            table.add_column(f"{name} {letter}", justify="right")
        table.add_column("paper, for one node")
        for model, facts in PAPER.items():
            shown = exponent_texts(result, model, measure)
            table.add_row(model, *shown, facts[place])
            if any(text.endswith("*") for text in shown):
                table.caption = "* from fewer points: the layer failed at some size"
        tables.append(table)
    return tables
