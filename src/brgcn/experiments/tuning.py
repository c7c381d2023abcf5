"""A search for settings with Optuna, kept as plain JSON.

The folder of a search holds ``search.json`` (what is searched, on what) and ``trials.json`` (every trial with settings,
value, curves). Optuna's own study is made anew from them each time, so a search goes on after any interruption, and its
trials can be run on another machine that has no Optuna: ask, run, tell.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from brgcn.errors import BrgcnError, RunError
from brgcn.nn import BASELINES
from brgcn.tasks.run_files import write_json

# name: ("log", low, high), or the values to choose from. Every model has these ...
COMMON: dict[str, tuple[Any, ...]] = {
    "learning_rate": ("log", 1e-3, 3e-2),
    "l2": ("log", 1e-5, 1e-1),
    "hidden": (16, 32),
    "dropout": (0.0, 0.2, 0.4, 0.6),
    "rare": (0, 2, 5, 20, 50, 100, 200),
    "literals": ("nodes", "features", "both"),
}
# ... those with heads these, and ours these as well. The number of epochs is read off the curve of each trial.
HEADED: dict[str, tuple[Any, ...]] = {"heads": (1, 2, 4)}
OURS: dict[str, tuple[Any, ...]] = {
    "hidden_dropout": (0.0, 0.2, 0.4, 0.6, 0.8),
    "attention_l2": ("log", 1e-6, 1e-2),
    "counts": ("none", "log", "sqrt", "sum"),
    "self_connection": ("inside", "outside", "none"),
    "aggregate": ("sum", "mean"),
    "bases": (0, 10, 30),
}
ATTENDING = {"scaled": (False, True)}


def space(model: str) -> dict[str, tuple[Any, ...]]:
    """What is searched for a model."""
    if model in BASELINES:
        return COMMON | (HEADED if model in ("gat", "han") else {})
    return COMMON | HEADED | OURS | (ATTENDING if model in ("brgcn", "brgcn-relation") else {})


class Search:
    """The folder of a search."""

    def __init__(self, path: Path, facts: dict[str, Any], trials: list[dict[str, Any]]) -> None:
        self.path, self.facts, self.trials = path, facts, trials

    @classmethod
    def open(cls, path: Path, *, model: str, datasets: Sequence[str], folds: dict[str, int], epochs: int) -> Search:
        """Begin a search, or go on with one that was begun with the same facts."""
        facts = {"model": model, "datasets": list(datasets), "folds": folds, "epochs": epochs}
        kept = path / "search.json"
        if not kept.exists():
            write_json(kept, facts)
            return cls(path, facts, [])
        before = json.loads(kept.read_text(encoding="utf-8"))
        changed = [name for name, value in facts.items() if before.get(name) != value]
        if changed:
            raise RunError(
                f"the folder holds a search with other {' and '.join(changed)}",
                where=str(path),
                remedy="Choose another --out, or the options that it was begun with.",
            )
        file = path / "trials.json"
        return cls(path, facts, json.loads(file.read_text(encoding="utf-8")) if file.exists() else [])

    def ask(self, count: int) -> dict[str, Any]:
        """Trials to run next, as ``experiments.trials`` takes them."""
        study = self._study()
        first = max((trial["number"] for trial in self.trials), default=-1) + 1
        asked = []
        for number in range(first, first + count):
            values = study.ask(_distributions(self.facts["model"])).params
            settings = {"model": self.facts["model"], "epochs": self.facts["epochs"], **values}
            asked.append({"number": number, "settings": settings})
        return {**self.facts, "trials": asked}

    def tell(self, trials: Sequence[dict[str, Any]]) -> None:
        """Keep finished trials; one that is known already stays as it was."""
        known = {trial["number"] for trial in self.trials}
        self.trials = sorted(
            [*self.trials, *(trial for trial in trials if trial["number"] not in known)],
            key=lambda trial: int(trial["number"]),
        )
        write_json(self.path / "trials.json", self.trials)

    def ranked(self) -> list[dict[str, Any]]:
        return sorted(self.trials, key=lambda trial: -float(trial["value"]))

    def _study(self) -> Any:
        optuna = _optuna()
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        # constant_liar: trials that are asked for together do not all try the same
        sampler = optuna.samplers.TPESampler(seed=len(self.trials), multivariate=True, constant_liar=True)
        study = optuna.create_study(direction="maximize", sampler=sampler)
        distributions = _distributions(self.facts["model"])
        for trial in self.trials:
            values = {name: trial["settings"][name] for name in distributions}
            study.add_trial(optuna.trial.create_trial(params=values, distributions=distributions, value=trial["value"]))
        return study


def _distributions(model: str) -> dict[str, Any]:
    optuna = _optuna()
    found = {}
    for name, values in space(model).items():
        if values[0] == "log":
            found[name] = optuna.distributions.FloatDistribution(values[1], values[2], log=True)
        else:
            found[name] = optuna.distributions.CategoricalDistribution(values)
    return found


def _optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise BrgcnError(
            "the search needs Optuna, which is not installed", remedy="pip install 'brgcn[tune]'"
        ) from error
    return optuna
