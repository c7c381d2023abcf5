"""``brgcn ensemble``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from brgcn.cli.console import print_json, say, stdout
from brgcn.cli.inputs import Device, names_of


def register(app: typer.Typer) -> None:
    app.command("ensemble")(ensemble)


def ensemble(
    first: Annotated[Path, typer.Argument(metavar="DIR", help="A link predictor, such as an auto-encoder.")],
    second: Annotated[Path, typer.Argument(metavar="DIR", help="Another one, trained on the same data.")],
    beta: Annotated[float, typer.Option(metavar="SHARE", min=0, max=1, help="Weight of the first.")] = 0.4,
    kinds: Annotated[
        str, typer.Option(metavar="A,B", help="What is added up: logits, sigmoid, z or reciprocal (ranks).")
    ] = "logits,sigmoid,z,reciprocal",
    run: Annotated[int, typer.Option(metavar="N", help="The run of each folder.")] = 0,
    device: Device = "auto",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the result as JSON.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")] = False,
) -> None:
    """Rank with two link predictors together, beside each of them alone.

    The weight is fixed (--beta, as in the paper), and chosen on the validation triples.

    \b
    Example:
      brgcn ensemble runs/brgcn-distmult runs/complex
    """
    from brgcn.tasks.device import pick_device
    from brgcn.tasks.link_ensemble import compare_ensembles
    from brgcn.tasks.link_folder import LinkFolder
    from brgcn.tasks.run_files import write_json

    result = compare_ensembles(
        LinkFolder.open(first),
        LinkFolder.open(second),
        kinds=names_of("--kinds", kinds),
        beta=beta,
        run=run,
        device=pick_device(device),
    )
    if out is not None:
        write_json(out, result)
        say(f"result      {out}")
    if as_json:
        print_json(result)
    else:
        stdout().print(_table(result))


def _table(result: dict[str, Any]) -> Any:
    from rich.table import Table

    from brgcn.cli.link_views import measured_cells, ranking_caption

    title = f"{result['dataset']}: two models and their ensembles"
    table = Table(title=title, title_justify="left", caption=ranking_caption(result), caption_justify="left")
    table.add_column("model")
    split = "test" if "test" in result["components"][0] else "valid"
    for column in ("valid MRR %", f"{split} raw MRR %", "MRR %", "hits@1 %", "hits@3 %", "hits@10 %", "mean rank"):
        table.add_column(column, justify="right")

    def add(name: str, row: dict[str, Any]) -> None:
        valid = f"{100 * row['valid']['filtered']['mrr']:.2f}" if "valid" in row else "–"
        cells = measured_cells(row[split]) if split in row else ["–"] * 6
        table.add_row(name, valid, *cells)

    for row in result["components"]:
        add(f"{row['encoder']} · {row['decoder']}", row)
    add("rules", result["rules"])
    table.add_section()
    for row in result["ensembles"]:
        weight = f"{row['beta']:.2f}{' (chosen on valid)' if row['tuned'] else ''}"
        add(f"{row['kind']}, weight of the first {weight}", row)
    return table
