"""How the preset ``default`` was chosen: cross-validation on training labels over a list of candidates.

    python -m brgcn.experiments.selection --datasets aifb mutag --out selection.json

Test labels are never read. Every candidate sees the same folds; the number of epochs is read off the mean curve.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from brgcn.config import build
from brgcn.data import load_dataset
from brgcn.tasks.cross_validation import cross_validate
from brgcn.tasks.device import pick_device
from brgcn.tasks.environment import environment
from brgcn.tasks.run_files import write_json
from brgcn.tasks.settings import NodeSettings
from brgcn.tasks.training import prepare_graph

GRIDS: dict[str, dict[str, list[Any]]] = {
    "structure": {
        "self_connection": ["inside", "outside", "relation", "none"],
        "input_self_connection": ["inside", "none"],
        "aggregate": ["sum", "mean"],
        "scaled": [False, True],
    },
    "optimisation": {
        "learning_rate": [0.003, 0.01],
        "l2": [0.0, 5e-4, 5e-3],
        "dropout": [0.0, 0.3, 0.6],
        "bases": [0, 10],
    },
    "attention": {
        "l2": [2e-3, 5e-3, 1e-2],
        "attention_l2": [0.0, 1e-4, 5e-4],
        "dropout": [0.0, 0.3],
        "self_connection": ["outside", "none"],
    },
    "regularisation": {
        "l2": [2e-3, 5e-3, 1e-2, 3e-2],
        "aggregate": ["sum", "mean"],
        "self_connection": ["outside", "none"],
        "bases": [0, 10],
    },
}


def candidates(grid: dict[str, list[Any]], fixed: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for values in itertools.product(*grid.values()):
        yield {**fixed, **dict(zip(grid, values, strict=True))}


def measure(job: tuple[str, dict[str, Any], dict[str, Any]]) -> dict[str, Any]:
    """One candidate on one data set."""
    name, values, options = job
    torch.set_num_threads(1)
    device = pick_device(options["device"])
    data = load_dataset(name, data_dir=options["data_dir"])
    settings = build(NodeSettings, values, "candidate")
    graph = prepare_graph(data.graph, settings).to(device)
    train = data.splits["train"]
    begun = time.perf_counter()
    curves = cross_validate(
        graph,
        train.nodes,
        train.labels,
        data.num_classes,
        settings,
        folds=options["folds"],
        repeats=options["repeats"],
        seed=options["seed"],
        device=device,
    )
    accuracy = torch.tensor(curves["accuracy"], dtype=torch.double)  # [repeats * folds, epochs]
    return {
        "dataset": name,
        "settings": values,
        "accuracy": [round(a, 5) for a in accuracy.mean(0).tolist()],
        "loss": [round(v, 5) for v in torch.tensor(curves["loss"]).mean(0).tolist()],
        "seconds": round(time.perf_counter() - begun, 2),
    }


def best_of(rows: list[dict[str, Any]]) -> list[tuple[float, int, dict[str, Any], dict[str, float]]]:
    """Candidates by mean accuracy over the data sets at their best common epoch, the curve smoothed over 5 epochs."""
    by_settings: dict[str, dict[str, torch.Tensor]] = {}
    for row in rows:
        curve = torch.tensor(row["accuracy"], dtype=torch.double)
        smooth = curve.unfold(0, 5, 1).mean(-1) if curve.numel() >= 5 else curve
        by_settings.setdefault(json.dumps(row["settings"]), {})[row["dataset"]] = smooth
    ranked = []
    for key, curves in by_settings.items():
        together = torch.stack(list(curves.values())).mean(0)
        at = int(together.argmax())
        epoch = at + 3 if len(together) > 1 else 1  # the middle of the window
        ranked.append((float(together[at]), epoch, json.loads(key), {d: float(c[at]) for d, c in curves.items()}))
    return sorted(ranked, key=lambda row: -row[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", default=["aifb", "mutag"])
    parser.add_argument("--models", nargs="+", default=["brgcn"])
    parser.add_argument("--grid", choices=sorted(GRIDS), default="structure")
    parser.add_argument("--candidates", type=Path, help="a JSON list of settings, instead of a grid")
    parser.add_argument("--fixed", default="{}", help="settings of all candidates, as JSON")
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0, help="of folds and initial weights")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--data-dir", default=None)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    options = {key: getattr(args, key) for key in ("device", "data_dir", "folds", "repeats", "seed")}
    fixed = {"epochs": args.epochs, **json.loads(args.fixed)}
    if args.candidates is not None:
        wanted = [{**fixed, **values} for values in json.loads(args.candidates.read_text())]
    else:
        wanted = list(candidates(GRIDS[args.grid], fixed))
    jobs = [
        (dataset, {"model": model, **values}, options)
        for model in args.models
        for values in wanted
        for dataset in args.datasets
    ]
    rows = []
    with multiprocessing.get_context("spawn").Pool(args.workers) as pool:
        for done, row in enumerate(pool.imap_unordered(measure, jobs), 1):
            rows.append(row)
            print(f"{done}/{len(jobs)} {row['dataset']} {row['seconds']} s", flush=True)
    facts = {"folds": args.folds, "repeats": args.repeats, "seed": args.seed}
    write_json(args.out, {**facts, "environment": environment(pick_device(args.device)), "rows": rows})
    for datasets in [args.datasets, *([one] for one in args.datasets)]:
        print(f"\nbest on {' and '.join(datasets)}")
        for score, epoch, values, parts in best_of([row for row in rows if row["dataset"] in datasets])[:5]:
            shown = " ".join(f"{k}={v}" for k, v in values.items() if k != "epochs")
            print(
                f"{100 * score:.2f} at {epoch:3d}  " + " ".join(f"{d} {100 * a:.2f}" for d, a in parts.items()), shown
            )


if __name__ == "__main__":
    main()
