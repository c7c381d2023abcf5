"""What was searched for the presets, and what came of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from brgcn.experiments.kept import REMEDY
from brgcn.experiments.node_table import ROWS
from brgcn.experiments.pages.markdown import percent, table
from brgcn.experiments.tuning import ATTENDING, COMMON, HEADED, OURS
from brgcn.nn import MODELS
from brgcn.tasks.run_files import read_json

HEAD = """
# Searches

`brgcn tune`, kept in `results/selection/nodes/`. Best accuracy in percent on labels that were left out of training
(folds of the training labels, or the `valid` split), in brackets the number of trials and the number of epochs that was
read off the curve, with a ! where it is the last that could be.

"""
OPTIONS = """
## What each option is worth

The best accuracy that any trial of BR-GCN, BR-GCN-node, BR-GCN-relation and R-GCN had with a value of an option, in
brackets how many trials had it. Trials differ in everything else, too: read this as what can be lost, not as an effect.
A value that no model was best with on any data set, and that nothing else needs, was removed from the code.

"""
REMOVED = {"counts": ("sum",)}


def section(results: Path) -> str:
    searches = _read(results / "selection" / "nodes")
    if not searches:
        return ""
    alone = [search for search in searches if len(search["datasets"]) == 1]
    datasets = list(dict.fromkeys(search["datasets"][0] for search in alone))
    of = {(search["model"], search["datasets"][0]): search for search in alone}
    rows = [
        [model, *(_best(of.get((model, d))) for d in datasets)]
        for model in ROWS
        if any((model, d) in of for d in datasets)
    ]
    text = HEAD + table(["model", *datasets], rows)
    for search in searches:
        if len(search["datasets"]) > 1 and _finished(search):
            best = max(_finished(search), key=lambda trial: trial["value"])
            parts = ", ".join(f"{name} {percent(value)}" for name, value in best["accuracy"].items())
            text += f"\n{search['model']} on {len(search['datasets'])} data sets together: {_best(search)}: {parts}.\n"
    return text + OPTIONS + _options(alone, datasets)


def _read(folder: Path) -> list[dict[str, Any]]:
    found = []
    for path in sorted(folder.glob("*/search.json")):
        trials = path.with_name("trials.json")
        if trials.exists():
            found.append({**read_json(path, REMEDY), **read_json(trials, REMEDY)})
    return found


def _finished(search: dict[str, Any]) -> list[dict[str, Any]]:
    return [trial for trial in search["trials"] if "error" not in trial]


def _best(search: dict[str, Any] | None) -> str:
    if search is None or not _finished(search):
        return "–"
    best = max(_finished(search), key=lambda trial: trial["value"])
    last = "!" if best["epochs"] >= search["epochs"] - 2 else ""  # the middle of the last window of five
    return f"{percent(best['value'])} ({len(search['trials'])}; {best['epochs']}{last})"


def _options(searches: list[dict[str, Any]], datasets: list[str]) -> str:
    rows = []
    for name, values in (COMMON | HEADED | OURS | ATTENDING).items():
        if values[0] == "log":
            continue
        removed = REMOVED.get(name, ())
        for value in (*values, *removed):
            cells = []
            for dataset in datasets:
                had = [
                    trial["value"]
                    for search in searches
                    if search["model"] in MODELS and search["datasets"] == [dataset]
                    for trial in _finished(search)
                    if name in trial["settings"] and trial["settings"][name] == value
                ]
                cells.append(f"{percent(max(had))} ({len(had)})" if had else "–")
            rows.append([name, f"{value} (removed)" if value in removed else str(value), *cells])
    return table(["option", "value", *datasets], rows)
