"""``brgcn tune``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brgcn.cli.console import print_json, say, stderr, stdout
from brgcn.cli.inputs import DataDir, Device
from brgcn.errors import DataError

if TYPE_CHECKING:
    from rich.table import Table


def register(app: typer.Typer) -> None:
    app.command("tune")(tune)


def tune(
    datasets: Annotated[
        list[str], typer.Argument(metavar="DATASETS...", help="One or more; settings are judged by their mean.")
    ],
    model: Annotated[str, typer.Option(metavar="NAME", help="As for brgcn train.")] = "brgcn",
    trials: Annotated[int, typer.Option(metavar="N", min=0, help="Trials that the search has in the end.")] = 50,
    epochs: Annotated[int, typer.Option(metavar="N", min=1, help="Most epochs of a trial.")] = 150,
    folds: Annotated[int, typer.Option(metavar="N", min=2, help="Folds of the training labels.")] = 5,
    repeats: Annotated[int, typer.Option(metavar="N", min=1, help="How often they are drawn.")] = 2,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of folds and initial weights.")] = 0,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Not searched but fixed; may be repeated.")
    ] = None,
    device: Device = "auto",
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The search; else tune/MODEL-DATASETS.", show_default=False)
    ] = None,
    ask: Annotated[
        int, typer.Option(metavar="N", min=0, help="Only write N trials to run elsewhere into DIR/asked.json.")
    ] = 0,
    tell: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Only take the results of trials that ran elsewhere.", show_default=False),
    ] = None,
    data_dir: DataDir = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the trials as JSON, best first.")] = False,
) -> None:
    """Search for settings by cross-validation on the training labels; test labels are never read.

    Go on with a search by the same command. A data set with a valid split is judged on that instead of folds. The best
    settings are left in DIR/best.yaml, for `brgcn train --config`.

    Trials can run on another machine, which needs no Optuna: --ask, there
    `python -m brgcn.experiments.trials asked.json --out done.json`, and --tell.

    \b
    Examples:
      brgcn tune mutag --trials 100
      brgcn tune aifb mutag --model rgcn --ask 50
      brgcn tune aifb mutag --model rgcn --tell done.json
    """
    from brgcn.config import parse_assignments
    from brgcn.experiments.tuning import Search
    from brgcn.tasks.run_files import write_json

    out = out or Path("tune") / f"{model}-{'-'.join(Path(name).name for name in datasets)}"
    plan = {"folds": folds, "repeats": repeats, "seed": seed}
    fixed = parse_assignments(settings or [])
    search = Search.open(out, model=model, datasets=datasets, folds=plan, epochs=epochs, fixed=fixed)
    if tell is not None:
        search.tell(_told(tell, search.facts))
    elif ask:
        write_json(out / "asked.json", search.ask(ask))
        say(f"{out / 'asked.json'}: {ask} trials; run them with python -m brgcn.experiments.trials")
        return
    else:
        _run(search, trials, device, data_dir)
    if as_json:
        print_json({**search.facts, "trials": search.ranked()})
        return
    stdout().print(search_table(search.ranked()[:10], search.facts))
    best = f"; train with the best: brgcn train --config {out / 'best.yaml'}" if search.ranked() else ""
    say(f"{len(search.trials)} trials in {out}{best}")


def _run(search: Any, wanted: int, device: str, data_dir: Path | None) -> None:
    from brgcn.experiments.trials import run_asked
    from brgcn.tasks.device import pick_device

    place = pick_device(device)
    with stderr().status("") as status:
        while len(search.trials) < wanted:
            best = f", best {100 * search.ranked()[0]['value']:.2f} %" if search.ranked() else ""
            status.update(f"trial {len(search.trials) + 1} of {wanted}{best}")
            search.tell(list(run_asked(search.ask(1), place, str(data_dir) if data_dir else None)))


def _told(path: Path, facts: dict[str, Any]) -> list[dict[str, Any]]:
    try:
        done = json.loads(path.read_text(encoding="utf-8"))
        same = all(done[name] == value for name, value in facts.items())
        trials = list(done["trials"])
        complete = all({"number", "settings", "value", "epochs"} <= set(trial) for trial in trials)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError("these are no results of trials", where=str(path), remedy="See brgcn tune --help.") from error
    if not same or not complete:
        what = "they are results of another search" if not same else "some trials have no result"
        raise DataError(what, where=str(path), remedy="Run what --ask wrote, with python -m brgcn.experiments.trials.")
    return trials


def search_table(trials: list[dict[str, Any]], facts: dict[str, Any]) -> Table:
    """The best trials, accuracies in percent."""
    from rich.table import Table

    title = f"{facts['model']} on {', '.join(facts['datasets'])}: accuracy on left-out folds"
    table = Table(title=title, title_justify="left")
    for column in ("trial", "%", *facts["datasets"], "epochs", "settings"):
        table.add_column(column, justify="left" if column == "settings" else "right")
    for trial in trials:
        values = {name: value for name, value in trial["settings"].items() if name not in ("model", "epochs")}
        shown = " ".join(f"{n}={v:.2g}" if isinstance(v, float) else f"{n}={v}" for n, v in values.items())
        parts = [f"{100 * part:.2f}" for part in trial["accuracy"].values()]
        table.add_row(str(trial["number"]), f"{100 * trial['value']:.2f}", *parts, str(trial["epochs"]), shown)
    return table
