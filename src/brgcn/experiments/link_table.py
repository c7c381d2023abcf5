"""The paper's tables of link prediction, row by row, each kept as a JSON file and never measured twice.

Rows: ``rules``; an embedding alone (``complex``); an auto-encoder (``brgcn:distmult``, encoder and decoder), also with
its message graph replaced (``brgcn:distmult@random``, ``@empty``); an ensemble as the paper's text defines it
(``brgcn+complex``: 0.4 of the auto-encoder with DistMult, 0.6 of an embedding trained by itself), or of an auto-encoder
with another decoder (``brgcn:complex+complex``). Models are kept as run folders, so that ensembles find their parts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from brgcn.config import update
from brgcn.data import Dataset
from brgcn.errors import SettingsError
from brgcn.experiments.kept import kept_result
from brgcn.message_graph import MESSAGE_GRAPHS
from brgcn.nn.decoders import DECODERS
from brgcn.nn.frame import MODELS
from brgcn.tasks.environment import environment
from brgcn.tasks.known_triples import KnownTriples, ranking_facts
from brgcn.tasks.link_ensemble import PAPER_BETA, compare_ensembles
from brgcn.tasks.link_folder import LinkFolder
from brgcn.tasks.link_presets import link_settings
from brgcn.tasks.link_runs import continue_link_runs, train_link_runs
from brgcn.tasks.rules import judge_rules
from brgcn.tasks.run_files import write_json

RULES = "rules"  # in every table: on two of the paper's data sets they are better than all of its rows
EVERY = "every"  # the regime of what is not trained
Tell = Callable[[str], None]
PLAIN = "distmult"  # decoder of the auto-encoders that stand without a letter
EMBEDDINGS = ("distmult", "transe", "hole", "complex")
DEFAULT_ROWS = (
    RULES,
    *EMBEDDINGS,
    *(f"{encoder}:{decoder}" for encoder in ("rgcn", "brgcn") for decoder in EMBEDDINGS),
    *(f"brgcn:{decoder}@{graph}" for decoder in (PLAIN, "complex") for graph in ("random", "empty")),
    *(f"{encoder}+{decoder}" for encoder in ("rgcn", "brgcn") for decoder in EMBEDDINGS),
    "brgcn:complex+complex",
)


@dataclass(frozen=True)
class LinkRow:
    """``encoder`` is none for an embedding alone; an ensemble has the embedding's name in ``beside``."""

    name: str
    encoder: str = "none"
    decoder: str = ""
    graph: str = "true"
    beside: str = ""

    @property
    def file_name(self) -> str:
        return self.name.replace(":", "-").replace("@", "-on-").replace("+", "-with-")

    @classmethod
    def parse(cls, name: str) -> LinkRow:
        rest, _, graph = name.partition("@")
        model, _, beside = rest.partition("+")
        encoder, _, decoder = model.partition(":")
        decoder = decoder or PLAIN
        if name == RULES:
            return cls(name)
        if encoder in MODELS and decoder in DECODERS and graph != "true":  # a row has one name
            if beside in DECODERS and not graph:
                return cls(name, encoder, decoder, beside=beside)
            if ":" in model and not beside and graph in ("", *MESSAGE_GRAPHS):
                return cls(name, encoder, decoder, graph or "true")
        if name in DECODERS:
            return cls(name, decoder=name)
        raise SettingsError(
            f"unknown row {name!r}",
            remedy="Rows are rules, a decoder (complex), encoder:decoder (brgcn:distmult), the same @random or @empty, "
            "and an ensemble of encoder, with DistMult or another decoder, and embedding (brgcn+complex, "
            "brgcn:complex+complex).",
        )


def measure_row(
    data: Dataset,
    row: LinkRow,
    regime: str,
    folder: Path,
    models: Path,
    *,
    runs: int = 1,
    device: torch.device | str = "cpu",
    overwrite: bool = False,
    tell: Tell = lambda text: None,
) -> dict[str, Any]:
    """One row on one data set; what is kept in ``folder`` with as many runs and the same settings is not measured
    again. With ``overwrite`` a model is trained anew, the parts of an ensemble are used as they are."""
    device = torch.device(device)
    kept = None if overwrite else kept_row(data, row, regime, folder, runs=runs, device=device)
    if kept is not None:
        return kept
    tell(f"{data.name}: {row.name}, {regime}")
    made = environment(device)  # with the commit that begins it
    if row.name == RULES:
        found = _rules(data)
    elif row.beside:
        found = _ensemble(data, row, regime, models, runs, device, tell)
    else:
        found = _trained(data, row, regime, models, runs, device, overwrite, tell)
    cell = {
        "dataset": data.name,
        "row": row.name,
        "regime": _kept_as(row, data.name, regime, device),
        **_facts(data, row, regime, device),
        **ranking_facts(data.triples, data.graph.num_nodes),
        **found,
        "environment": made,
    }
    write_json(_path(data, row, regime, folder, device), cell)
    return cell


def kept_row(
    data: Dataset, row: LinkRow, regime: str, folder: Path, *, runs: int, device: torch.device
) -> dict[str, Any] | None:
    kept = kept_result(_path(data, row, regime, folder, device), _facts(data, row, regime, device))
    return kept if kept is not None and len(kept["runs"]) >= (1 if row.name == RULES else runs) else None


def _path(data: Dataset, row: LinkRow, regime: str, folder: Path, device: torch.device) -> Path:
    kept_as = _kept_as(row, data.name, regime, device)
    return folder / kept_file({"dataset": data.name, "row": row.name, "regime": kept_as})


def kept_file(cell: dict[str, Any]) -> str:
    """Its name, of what is in it."""
    return f"{cell['dataset']}-{LinkRow.parse(cell['row']).file_name}-{cell['regime']}.json"


def _facts(data: Dataset, row: LinkRow, regime: str, device: torch.device) -> dict[str, Any]:
    return {"fingerprint": data.fingerprint, **_settings_facts(row, data.name, regime, device)}


def _settings(row: LinkRow, dataset: str, regime: str, device: torch.device) -> Any:
    chosen = link_settings(row.encoder, row.decoder, dataset, regime, device=device.type)
    return update(chosen, {"message_graph": row.graph}, "the message graph")


def _settings_facts(row: LinkRow, dataset: str, regime: str, device: torch.device) -> dict[str, Any]:
    """What a row is trained with, as it is kept; of an ensemble both parts."""
    if row.name == RULES:
        return {"settings": None}
    facts = {"settings": vars(_settings(row, dataset, regime, device))}
    if row.beside:
        _, (embedding, of) = parts_of(row, regime)
        facts["settings_beside"] = vars(_settings(embedding, dataset, of, device))
    return facts


def made_as_today(cell: dict[str, Any]) -> bool:
    """Whether the row would be trained with the same settings now."""
    return all(cell.get(name) == value for name, value in _settings_facts(*_asked(cell)).items())


def _kept_as(row: LinkRow, dataset: str, regime: str, device: torch.device) -> str:
    """The regime, marked where a machine without a GPU has settings of its own, if only for the embedding of an
    ensemble."""
    if row.name == RULES:
        return EVERY
    here, of_gpu = (_settings_facts(row, dataset, regime, place) for place in (device, torch.device("cuda")))
    return regime if here == of_gpu else f"{regime}-{device.type}"


def kept_parts(cell: dict[str, Any]) -> list[tuple[LinkRow, str]]:
    """The parts of an ensemble, each with the regime that a row of its own is kept as."""
    row, dataset, regime, device = _asked(cell)
    return [(part, _kept_as(part, dataset, of, device)) for part, of in parts_of(row, regime)]


def _asked(cell: dict[str, Any]) -> tuple[LinkRow, str, str, torch.device]:
    """Row, data set, regime and device that a kept row was asked for with."""
    device = torch.device("cpu" if cell["environment"]["device"] == "cpu" else "cuda")
    return LinkRow.parse(cell["row"]), cell["dataset"], cell["regime"].removesuffix(f"-{device.type}"), device


def _rules(data: Dataset) -> dict[str, Any]:
    judged = judge_rules(
        data.triples, KnownTriples(data.triples.values(), data.graph.num_nodes, data.graph.num_relations)
    )
    return {"rules": judged.pop("rules"), "runs": [judged]}


def _trained(
    data: Dataset,
    row: LinkRow,
    regime: str,
    models: Path,
    runs: int,
    device: torch.device,
    overwrite: bool,
    tell: Tell,
) -> dict[str, Any]:
    opened = trained_folder(data, row, regime, models, runs, device, overwrite=overwrite, tell=tell)
    reports = [opened.report(run) for run in range(runs)]
    kept = ("seed", "epochs", "best_epoch", "seconds", "valid", "test")
    return {"runs": [{name: report[name] for name in kept if name in report} for report in reports]}


def trained_folder(
    data: Dataset,
    row: LinkRow,
    regime: str,
    models: Path,
    runs: int,
    device: torch.device,
    *,
    overwrite: bool = False,
    tell: Tell = lambda text: None,
) -> LinkFolder:
    """The run folder of a row, trained now where it is not there, continued where it was stopped or has fewer runs."""
    settings = _settings(row, data.name, regime, device)
    kept_as = _kept_as(row, data.name, regime, device)
    path = models / f"{data.name}-{kept_as}-{row.encoder}-{row.decoder}-{row.graph}"

    def listen(run: int, record: dict[str, Any]) -> None:
        if "loss" in record:
            score = f", MRR {record['valid']['filtered']['mrr']:.3f}" if "valid" in record else ""
            tell(f"{data.name}: {row.name}, {regime}, run {run + 1}/{runs}, epoch {record['epoch']}{score}")

    if not overwrite and (path / "run.json").exists():
        opened = LinkFolder.open(path)
        same = opened.settings == settings and opened.facts["fingerprint"] == data.fingerprint
        if same and opened.finished and len(opened.seeds) >= runs:
            return opened  # without asking to be its only writer: several ensembles may read it at the same time
        if same:
            if len(opened.seeds) < runs:
                opened = continue_link_runs(opened, device=device, listener=listen).with_seeds(range(runs))
            return continue_link_runs(opened, device=device, listener=listen)
    return train_link_runs(
        data, settings, path, runs=runs, regime=regime, device=device, overwrite=True, listener=listen
    )


def parts_of(row: LinkRow, regime: str) -> list[tuple[LinkRow, str]]:
    """What an ensemble is made of: the embedding is trained in the regime ``modern``, as one would if one wanted it to
    be good."""
    if not row.beside:
        return []
    return [(LinkRow.parse(f"{row.encoder}:{row.decoder}"), regime), (LinkRow.parse(row.beside), "modern")]


def _ensemble(
    data: Dataset,
    row: LinkRow,
    regime: str,
    models: Path,
    runs: int,
    device: torch.device,
    tell: Tell,
) -> dict[str, Any]:
    encoder, embedding = (
        trained_folder(data, part, of, models, runs, device, tell=tell) for part, of in parts_of(row, regime)
    )
    found = []
    for run in range(runs):
        other = (run + 1) % runs  # of one seed both start from the same table, and err more alike
        compared = compare_ensembles(encoder, embedding, beta=PAPER_BETA, run=run, second_run=other, device=device)
        for component in compared["components"]:
            component.pop("folder")
        # the paper adds up scores as they are
        fixed = next(e for e in compared["ensembles"] if e["kind"] == "logits" and not e["tuned"])
        # by what each weight was chosen by, whose filter has seen nothing of test
        best = max((e for e in compared["ensembles"] if e["tuned"]), key=lambda e: e["curve"][e["beta"]])
        found.append({"valid": fixed["valid"], "test": fixed["test"], "chosen_on_valid": best, **compared})
    return {"runs": found}
