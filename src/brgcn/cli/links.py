"""``brgcn train`` for link prediction, ``brgcn export`` and ``brgcn neighbours``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from brgcn.cli.console import print_json, say, stdout, warn
from brgcn.cli.held_back import hold_back_as_asked, parse_shares
from brgcn.cli.training import RunsBar, TrainRequest, differences, saying_how_to_continue, sizes
from brgcn.errors import BrgcnError

Folder = Annotated[
    Path, typer.Argument(metavar="DIR", help="A folder that `brgcn train` wrote for links.", show_default=False)
]


def register(app: typer.Typer) -> None:
    app.command("export")(export)
    app.command("neighbours")(neighbours)


def train(
    request: TrainRequest,
    *,
    encoder: str | None,
    decoder: str | None,
    regime: str,
    split: str | None,
    hold_back: bool,
) -> None:
    """``split``: the shares, where they were asked for; ``hold_back``: triples of a graph that was made for classifying
    nodes are predicted, too."""
    from brgcn.config import to_yaml
    from brgcn.data.leakage import leakage_warnings
    from brgcn.tasks.device import pick_device
    from brgcn.tasks.job_folder import check_free
    from brgcn.tasks.link_presets import link_settings
    from brgcn.tasks.link_runs import train_link_runs
    from brgcn.tasks.link_settings import without_effect

    place = pick_device(request.device)
    base = link_settings(
        request.one_name("encoder", encoder, "none"),
        request.one_name("decoder", decoder, "complex"),
        request.name,
        regime,
        device=place.type,
    )
    chosen = request.change(base)
    warn(without_effect(chosen, differences(base, chosen)))
    if request.show_config:
        typer.echo(to_yaml(chosen, explain=True), nl=False)
        return
    shares = parse_shares(split)
    if request.out is not None:
        check_free(request.out, overwrite=request.overwrite)
    data = request.data
    if data.splits and not hold_back:
        raise BrgcnError(
            f"{data.name} holds labelled nodes, and this training predicts links",
            remedy="Say --task links to hold back some triples of its graph, or leave out the options for links.",
        )
    data = hold_back_as_asked(data, shares)
    warn((*data.warnings, *leakage_warnings(data)))
    out = request.place(data, f"{chosen.encoder}-{chosen.decoder}")
    counts = ", ".join(f"{len(triples):,} {name}" for name, triples in data.triples.items())
    say(f"{data.name}: {sizes(data)}; {counts} triples; on {place}")
    with saying_how_to_continue(out), LinkBar(request.runs, chosen.epochs) as bar:
        folder = train_link_runs(
            data,
            chosen,
            out,
            runs=request.runs,
            seed=request.seed,
            regime=regime,
            changed_settings=differences(base, chosen),
            device=place,
            overwrite=request.overwrite,
            checkpoint_seconds=request.checkpoint_every,
            listener=bar.update,
        )
    _show(folder, request.as_json)


def resume(path: Path, device: str, checkpoint_every: float, *, as_json: bool) -> None:
    from brgcn.tasks.device import pick_device
    from brgcn.tasks.link_folder import LinkFolder
    from brgcn.tasks.link_runs import continue_link_runs

    folder = LinkFolder.open(path)
    if folder.finished:
        say(f"{path} is finished already.")
    else:
        place = None if device == "auto" else pick_device(device)
        with saying_how_to_continue(path), LinkBar(len(folder.seeds), folder.settings.epochs) as bar:
            continue_link_runs(folder, device=place, checkpoint_seconds=checkpoint_every, listener=bar.update)
    _show(folder, as_json)


def _show(folder: Any, as_json: bool) -> None:
    result = folder.result
    if as_json:
        print_json({**result, "out": str(folder.path)})
        return
    from brgcn.cli.link_views import ranking_table

    stdout().print(ranking_table(result))
    say(f"run folder  {folder.path}")


class LinkBar(RunsBar):
    """With the loss and the latest filtered validation MRR of the current run."""

    def __init__(self, runs: int, epochs: int) -> None:
        super().__init__(runs)
        self._epochs, self._values = epochs, {"loss": "", "mrr": ""}

    def update(self, run: int, record: dict[str, Any]) -> None:
        if "loss" in record:
            self._values["loss"] = f"loss {record['loss']:.3f}"
        if "valid" in record:
            self._values["mrr"] = f"validation MRR {record['valid']['filtered']['mrr']:.3f}"
        values = "  ".join(value for value in self._values.values() if value)
        self.show(run, record["epoch"] / self._epochs, f"epoch {int(record['epoch'])}", values)


def export(
    folder: Folder,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where to; else vectors/ in the run folder.", show_default=False)
    ] = None,
    kind: Annotated[str, typer.Option("--format", metavar="NAME", help="tsv, or npy with names beside it.")] = "tsv",
    run: Annotated[int, typer.Option(metavar="N", help="The run whose vectors are written.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the files as JSON.")] = False,
) -> None:
    """Write the vectors of entities and relations, by name.

    \b
    Example:
      brgcn export runs/fb15k-237 --format npy --out vectors
    """
    from brgcn.tasks.link_folder import LinkFolder
    from brgcn.tasks.link_use import export_vectors

    opened = LinkFolder.open(folder)
    files = export_vectors(opened, out or folder / "vectors", run, kind)
    if as_json:
        print_json({"files": [str(path) for path in files]})
        return
    for path in files:
        typer.echo(str(path))


def neighbours(
    folder: Folder,
    entity: Annotated[str, typer.Option(metavar="NAME", help="The entity to look around.", show_default=False)],
    top: Annotated[int, typer.Option(metavar="N", min=1, help="How many to show.")] = 10,
    run: Annotated[
        int | None, typer.Option(metavar="N", help="Use this run; else the mean over all.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")] = False,
) -> None:
    """Entities whose vectors point the same way.

    \b
    Example:
      brgcn neighbours runs/fb15k-237 --entity /m/02mjmr
    """
    from brgcn.cli.link_views import row_table
    from brgcn.tasks.link_predictor import LinkPredictor

    rows = LinkPredictor.load(folder, run).neighbours(entity, top)
    if as_json:
        print_json({"entity": entity, "neighbours": rows})
        return
    stdout().print(row_table(f"nearest to {entity}", rows))
