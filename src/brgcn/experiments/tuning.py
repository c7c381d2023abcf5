"""A search for settings with Optuna, kept as plain JSON.

The folder of a search holds ``search.json`` (what is searched, on what), ``trials.json`` (every trial with settings,
value, curves) and ``best.yaml`` (the best settings, for ``brgcn train --config``). Optuna's own study is made anew from
them each time, so a search goes on after any interruption, and its trials can be run on another machine that has no
Optuna: ask, run, tell.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from brgcn.config import build
from brgcn.errors import BrgcnError, RunError, SettingsError
from brgcn.nn import BASELINES
from brgcn.tasks.run_files import read_json, write_json, write_text
from brgcn.tasks.settings import NodeSettings

Space = dict[str, tuple[Any, ...]]
# name: ("log", low, high), or the values to choose from. Every model has these ...
COMMON: Space = {
    "learning_rate": ("log", 1e-3, 3e-2),
    "l2": ("log", 1e-5, 1e-1),
    "hidden": (16, 32),
    "hidden_dropout": (0.0, 0.25, 0.5, 0.75),
    "normalise": (False, True),
    "rare": (0, 2, 5, 20, 50, 100, 200),
    "literals": ("nodes", "features", "both"),
}
# ... those with heads these, and ours these as well. The number of epochs is read off the curve of each trial.
HEADED: Space = {"heads": (1, 2, 4), "dropout": (0.0, 0.2, 0.4, 0.6)}
OURS: Space = {
    "attention_l2": ("log", 1e-6, 1e-2),
    "counts": ("none", "log", "sqrt"),
    "self_connection": ("inside", "outside", "none"),
    "aggregate": ("sum", "mean"),
    "bases": (0, 10, 30),
}
REMEDY = "The folder of the search is damaged; choose another --out, or put the file back."
STARTUP = 12  # trials before the sampler begins to learn: the known ones, then drawn ones, the same for every model
ATTENDING: Space = {"scaled": (False, True)}
# Every search begins with these, as far as the model knows the setting (docs/protocol.md): what was good on AIFB and on
# MUTAG before the search existed, the first with literals as features, too, and what was best for BR-GCN on four data
# sets together in an earlier search. Defaults have changed since; these stay, so that searches remain comparable.
_USUAL: dict[str, Any] = {
    "learning_rate": 0.01,
    "l2": 0.005,
    "hidden": 16,
    "hidden_dropout": 0.0,
    "normalise": False,
    "rare": 0,
    "literals": "nodes",
    "heads": 1,
    "dropout": 0.0,
    "attention_l2": 1e-4,
    "counts": "none",
    "self_connection": "outside",
    "aggregate": "sum",
    "bases": 10,
    "scaled": True,
}
_IDENTITIES: dict[str, Any] = {**_USUAL, "l2": 1e-5, "attention_l2": 1e-6, "dropout": 0.6}
_INPUTS: dict[str, Any] = {**_USUAL, "rare": 50, "literals": "features", "counts": "log", "learning_rate": 0.003}
STARTS: tuple[dict[str, Any], ...] = (
    _IDENTITIES,
    {**_INPUTS, "l2": 0.02, "hidden_dropout": 0.5},
    {**_IDENTITIES, "literals": "both"},
    {**_INPUTS, "l2": 1e-4, "hidden_dropout": 0.25, "dropout": 0.6, "self_connection": "inside", "aggregate": "mean"},
)


def space(model: str, fixed: Iterable[str] = ()) -> Space:
    """What is searched for a model, but for what is ``fixed``."""
    if model in BASELINES:
        searched = COMMON | (HEADED if model in ("gat", "han") else {})
    else:
        searched = COMMON | HEADED | OURS | (ATTENDING if model in ("brgcn", "brgcn-relation") else {})
    return {name: values for name, values in searched.items() if name not in set(fixed)}


def starts(searched: Iterable[str]) -> list[dict[str, Any]]:
    """The settings that a search begins with."""
    return [{name: start[name] for name in searched} for start in STARTS]


def drawn(number: int, searched: Iterable[str]) -> dict[str, Any]:
    """Settings at random, but the same for every model, as far as it knows them: what is compared are models, not their
    luck."""
    rng = random.Random(number)
    everything = {
        name: math.exp(rng.uniform(math.log(values[1]), math.log(values[2])))
        if values[0] == "log"
        else rng.choice(values)
        for name, values in (COMMON | HEADED | OURS | ATTENDING).items()
    }
    return {name: everything[name] for name in searched}


class Search:
    """The folder of a search."""

    def __init__(self, path: Path, facts: dict[str, Any], trials: list[dict[str, Any]]) -> None:
        self.path, self.facts, self.trials = path, facts, trials

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        model: str,
        datasets: Sequence[str],
        folds: dict[str, int],
        epochs: int,
        fixed: Mapping[str, Any] | None = None,
    ) -> Search:
        """Begin a search, or go on with one that was begun with the same facts. ``fixed`` settings are not searched."""
        fixed = dict(fixed or {})
        for name in {"model", "epochs", "patience"} & set(fixed):
            raise SettingsError(
                f"{name} cannot be fixed in a search",
                remedy="A search has one --model and a number of --epochs; the best one is read off each curve.",
            )
        build(NodeSettings, {**fixed, "model": model, "epochs": epochs}, "the settings of the search")
        facts = {"model": model, "datasets": list(datasets), "folds": folds, "epochs": epochs, "fixed": fixed}
        kept = path / "search.json"
        if not kept.exists():
            write_json(kept, facts)
            return cls(path, facts, [])
        before = read_json(kept, REMEDY)
        changed = [name for name, value in facts.items() if before.get(name) != value]
        if changed:
            raise RunError(
                f"the folder holds a search with other {' and '.join(changed)}",
                where=str(path),
                remedy="Choose another --out, or the options that it was begun with.",
            )
        file = path / "trials.json"
        return cls(path, facts, read_json(file, REMEDY)["trials"] if file.exists() else [])

    def ask(self, count: int) -> dict[str, Any]:
        """Trials to run next, as ``experiments.trials`` takes them."""
        study = self._study()
        first = max((trial["number"] for trial in self.trials), default=-1) + 1
        asked = []
        model, fixed = self.facts["model"], self.facts["fixed"]
        searched = space(model, fixed)
        known = starts(searched)
        for number in range(first, first + count):
            if number < STARTUP:
                study.enqueue_trial(known[number] if number < len(known) else drawn(number, searched))
            values = study.ask(_distributions(searched)).params
            settings = {"model": model, "epochs": self.facts["epochs"], **fixed, **values}
            asked.append({"number": number, "settings": settings})
        return {**self.facts, "trials": asked}

    def tell(self, trials: Sequence[dict[str, Any]]) -> None:
        """Keep finished trials; one that is known already stays as it was."""
        known = {trial["number"] for trial in self.trials}
        self.trials = sorted(
            [*self.trials, *(trial for trial in trials if trial["number"] not in known)],
            key=lambda trial: int(trial["number"]),
        )
        write_json(self.path / "trials.json", {"trials": self.trials})
        if self.ranked():
            write_text(self.path / "best.yaml", self._best())

    def ranked(self) -> list[dict[str, Any]]:
        """The trials that came to an end, the best first."""
        finished = [trial for trial in self.trials if "error" not in trial]
        return sorted(finished, key=lambda trial: -float(trial["value"]))

    def _best(self) -> str:
        """What ``brgcn train --config`` takes."""
        best = self.ranked()[0]
        says = f"{100 * best['value']:.2f} % on left-out labels: trial {best['number']} of {len(self.trials)}"
        facts = ", ".join(f"{name} {value}" for name, value in self.facts.items() if name != "epochs")
        return f"# {says}; {facts}\n" + yaml.safe_dump({**best["settings"], "epochs": best["epochs"]}, sort_keys=False)

    def _study(self) -> Any:
        optuna = _optuna()
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        # constant_liar: trials that are asked for together do not all try the same
        sampler = optuna.samplers.TPESampler(
            seed=len(self.trials), multivariate=True, constant_liar=True, n_startup_trials=0
        )
        study = optuna.create_study(direction="maximize", sampler=sampler)
        searched = space(self.facts["model"], self.facts["fixed"])
        distributions = _distributions(searched)
        for trial in self.trials:
            values = {name: trial["settings"][name] for name in distributions}
            if any(options[0] != "log" and values[name] not in options for name, options in searched.items()):
                continue  # with a value that was removed since
            study.add_trial(optuna.trial.create_trial(params=values, distributions=distributions, value=trial["value"]))
        return study


def _distributions(searched: Space) -> dict[str, Any]:
    optuna = _optuna()
    found = {}
    for name, values in searched.items():
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
