"""Train several link predictors into a folder, continue them after an interruption, and evaluate them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from brgcn.data import Dataset
from brgcn.errors import DataError
from brgcn.tasks.device import keep_freed_memory, pick_device
from brgcn.tasks.job_folder import seeds_of
from brgcn.tasks.known_triples import ranking_facts
from brgcn.tasks.link_folder import LinkFolder
from brgcn.tasks.link_scores import EntityScores
from brgcn.tasks.link_settings import LinkSettings
from brgcn.tasks.link_trainer import LinkTrainer
from brgcn.tasks.metrics import summary as spread
from brgcn.tasks.rank_metrics import breakdown, summary
from brgcn.tasks.ranking import rank
from brgcn.tasks.rules import judge_rules
from brgcn.tasks.run_log import RunLog, seconds_of_runs

_FACTS_OF_RESULT = ("task", "dataset", "encoder", "decoder", "changed_settings", "fingerprint")
Listener = Callable[[int, dict[str, Any]], None]  # called with the run and a record: of an epoch, or of a step
SHARE_OF_SAVING = 20  # training lasts at least so many times as long as saving it
JUDGED = ("valid", "test")  # splits that are ranked


def train_link_runs(
    dataset: Dataset,
    settings: LinkSettings,
    out: Path,
    *,
    runs: int = 1,
    seed: int = 0,
    regime: str = "modern",
    changed_settings: dict[str, Any] | None = None,
    device: torch.device | str = "cpu",
    overwrite: bool = False,
    checkpoint_seconds: float = 10.0,
    listener: Listener | None = None,
) -> LinkFolder:
    """Train ``runs`` models with the seeds seed, seed + 1, .., one after another, and leave them in ``out``."""
    check_links(dataset)
    folder = LinkFolder.create(
        out,
        dataset,
        settings,
        regime=regime,
        seeds=seeds_of(seed, runs),
        device=torch.device(device),
        changed_settings=changed_settings,
        overwrite=overwrite,
    )
    return continue_link_runs(folder, checkpoint_seconds=checkpoint_seconds, listener=listener)


def check_links(dataset: Dataset) -> None:
    if not len(dataset.triples.get("train", ())):
        raise DataError(
            f"{dataset.name} has no training triples",
            remedy="with_splits(dataset) of brgcn.data.split_triples holds back some of a graph's own.",
        )


def check_judged(dataset: Dataset) -> None:
    """There must be triples to choose by and to test on."""
    check_links(dataset)
    for split in JUDGED:
        if not len(dataset.triples.get(split, ())):
            raise DataError(f"{dataset.name} has no {split} triples", remedy="Put them beside the training triples.")


def continue_link_runs(
    folder: LinkFolder,
    *,
    device: torch.device | str | None = None,
    checkpoint_seconds: float = 10.0,
    listener: Listener | None = None,
) -> LinkFolder:
    """Go on from the folder's checkpoint; nothing is done where training is finished."""
    with folder.going_on():
        if not folder.finished:
            keep_freed_memory()
            place = pick_device(folder.facts["device"]) if device is None else torch.device(device)
            _continue(folder, place, checkpoint_seconds, listener)
    return folder


def _continue(folder: LinkFolder, device: torch.device, checkpoint_seconds: float, listener: Listener | None) -> None:
    first, tensors, progress = folder.read_checkpoint()
    for run in range(first, len(folder.seeds)):
        trainer = LinkTrainer(
            folder.named_graph.graph,
            folder.triples["train"],
            folder.settings,
            folder.seeds[run],
            valid=folder.triples.get("valid"),
            device=device,
        )
        if listener is not None:
            trainer.on_step = _steps_to(listener, run, trainer)
        if progress is not None:
            with folder.restoring():
                trainer.restore(tensors, progress)
        with folder.noting_divergence():
            _train(folder, trainer, run, checkpoint_seconds, listener)
            model, seconds = trainer.trained(), sum(seconds_of_runs(folder.path)[run])
            judged = judge(folder, EntityScores(model, trainer.graph))
        report = {"run": run, "seed": folder.seeds[run], "epochs": trainer.progress.epoch, "seconds": seconds}
        report["best_epoch"] = trainer.progress.best_epoch or trainer.progress.epoch
        report |= judged
        folder.write_run(run, model, report)
        progress = None
        del trainer, model  # before the next is built
        folder.write_checkpoint(run + 1, None)
    folder.finish(summarise(folder))


def _steps_to(listener: Listener, run: int, trainer: LinkTrainer) -> Callable[[int, int], None]:
    def on_step(done: int, steps: int) -> None:
        listener(run, {"epoch": trainer.progress.epoch + done / steps})

    return on_step


def _train(
    folder: LinkFolder, trainer: LinkTrainer, run: int, checkpoint_seconds: float, listener: Listener | None
) -> None:
    saved, wait = time.monotonic(), checkpoint_seconds
    with RunLog(folder.path) as log:
        begun = time.perf_counter()
        for record in trainer.epochs():
            seconds = time.perf_counter() - begun
            log.write({"run": run, **record}, {"run": run, "epoch": record["epoch"], "seconds": seconds})
            if listener is not None:
                listener(run, record)
            if time.monotonic() - saved >= wait:
                log.sync()
                saving = time.monotonic()
                folder.write_checkpoint(run, trainer.state())
                saved = time.monotonic()
                wait = max(checkpoint_seconds, SHARE_OF_SAVING * (saved - saving))
            begun = time.perf_counter()


def judge(folder: LinkFolder, scores: EntityScores, *, parts: bool = False) -> dict[str, Any]:
    """Raw and filtered measures of the validation and test triples, known triples being those of all splits; with
    ``parts`` also by side, cardinality and relation."""
    found: dict[str, Any] = {}
    known = folder.known.to(scores.entities.device)
    for split in JUDGED:
        triples = folder.triples.get(split)
        if triples is None or not len(triples):
            continue
        ranks = rank(triples, scores.tails, scores.heads, known)
        found[split] = summary(ranks)
        if parts:
            names = folder.named_graph.relation_names
            detail = breakdown(ranks, folder.triples["train"], len(names))
            detail["relation"] = {names[relation]: row for relation, row in detail["relation"].items()}
            found[split]["by"] = detail
    return found


def evaluate_links(folder: LinkFolder, device: torch.device | str = "cpu") -> dict[str, Any]:
    """Every finished run, ranked anew with the stored weights."""
    reports = []
    for run in folder.usable_runs():
        found = judge(folder, folder.scores(run, device), parts=True)
        reports.append({"run": run, "seed": folder.seeds[run], **found})
    return _result(folder, reports)


def summarise(folder: LinkFolder) -> dict[str, Any]:
    """The result as ``--json`` prints it: the runs, the means over them, and the baseline of rules."""
    return _result(folder, [folder.report(run) for run in range(len(folder.seeds))])


def _result(folder: LinkFolder, reports: list[dict[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {name: folder.facts[name] for name in _FACTS_OF_RESULT}
    result |= {"regime": folder.facts["preset"], "runs": reports, "valid": None, "test": None}
    for split in JUDGED:
        if not reports or split not in reports[0]:
            continue
        result[split] = mean_measures([report[split] for report in reports])
        result[f"{split}_mrr"] = spread([report[split]["filtered"]["mrr"] for report in reports])
    result["rules"] = judge_rules(folder.triples, folder.known)
    return {**result, **ranking_facts(folder.triples, folder.named_graph.graph.num_nodes)}


def mean_measures(rows: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Of the raw and filtered measures of several runs."""
    return {
        setting: {name: sum(row[setting][name] for row in rows) / len(rows) for name in rows[0][setting]}
        for setting in ("raw", "filtered")
    }
