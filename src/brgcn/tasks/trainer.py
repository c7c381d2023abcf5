"""Training runs of a node classifier: phases, epochs, early stopping, and a state that can be saved and continued.

Runs that differ in their seed alone (or in the labels they see, as the folds of cross-validation do) are trained
together as one wide model: their parameters lie side by side, and every gradient belongs to one run. Each is the same,
up to rounding, as if it had been trained alone (but for baselines with dropout, whose random numbers are torch's).
Every epoch's dropout is derived from the run's seed and the epoch's number, so runs continued from a saved state go on
exactly as if they had never stopped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch import Tensor

from brgcn.errors import DataError
from brgcn.graph import RelationalGraph
from brgcn.nn import NodeScorer
from brgcn.tasks.epoch_seeds import EpochSeeds
from brgcn.tasks.parts import Part, loss_and_accuracy, part_of
from brgcn.tasks.settings import NodeSettings
from brgcn.tasks.splits import stratified_holdout
from brgcn.tasks.step import Step
from brgcn.tasks.training import build_model

# Epochs that are computed before anybody looks at the numbers. On CUDA a look makes the device wait for the host.
LOOK_EVERY = {"cpu": 1, "cuda": 16}
Records = list[tuple[int, dict[str, Any]]]  # (run of the group, what an epoch measured)


@dataclass
class RunProgress:
    """Where one run stands."""

    best_epoch: int = 0
    best_accuracy: float = -1.0
    best_loss: float = float("inf")
    fit_epochs: int = 0  # epochs that the phase "fit" takes


@dataclass
class Progress:
    """Where the runs stand; with the weights and Adam's moments it is all that is needed to go on."""

    phase: str  # "select" while early stopping looks for the number of epochs, then "fit"
    epoch: int = 0  # epochs done in this phase
    runs: list[RunProgress] = field(default_factory=list)


class NodeTrainer:
    """Trains one model per seed, all together.

    ``for records in trainer.epochs()`` runs epoch after epoch and yields what was measured; between two of them
    ``state()`` can be saved, and ``restore()`` puts it into a new trainer made with the same arguments. In the end
    ``trained(k)`` is the model of run k.
    """

    def __init__(
        self,
        graph: RelationalGraph,
        nodes: Tensor,
        labels: Tensor,
        num_classes: int,
        settings: NodeSettings,
        seeds: int | Sequence[int],
        *,
        device: torch.device | str = "cpu",
        features: Tensor | None = None,
        watched: Tensor | None = None,
        watch: bool = True,
    ) -> None:
        """Args:
        graph: with inverse relations where they are wanted (``prepare_graph``), on ``device``.
        nodes, labels: [n] the training labels.
        watched: [n, runs] labels that a run does not train on; its accuracy on them is measured after each epoch
            (cross-validation uses it; it does not influence training).
        watch: measure that; otherwise they are just left out.
        """
        self.watch = watch
        self.seeds = [seeds] if isinstance(seeds, int) else list(seeds)
        self.watched = torch.zeros(nodes.numel(), len(self.seeds), dtype=torch.bool) if watched is None else watched
        if not (~self.watched).any(0).all():
            raise DataError("there are no training labels")
        self.graph = graph
        self.nodes, self.labels = nodes, labels
        self.num_classes = num_classes
        self.settings = settings
        self.device = torch.device(device)
        self.features = features
        self.held = torch.zeros_like(self.watched)
        if settings.patience:
            for run, seed in enumerate(self.seeds):
                mine = ~self.watched[:, run]
                self.held[mine, run] = stratified_holdout(labels[mine], settings.validation, seed)
        selecting = bool(self.held.any())
        runs = [RunProgress(fit_epochs=settings.epochs) for _ in self.seeds]
        self.progress = Progress("select" if selecting else "fit", runs=runs)
        self.kept: dict[int, dict[str, Tensor]] = {}  # weights of runs that are ahead of the others, or were better
        self._begin_phase()

    def _begin_phase(self) -> None:
        """Fresh models on the labels of the phase: without the held-back ones while selecting, with all in the end."""
        whole = self.graph.to("cpu")
        width = None if self.features is None else self.features.size(1)
        models = [build_model(whole, self.num_classes, self.settings, seed, width) for seed in self.seeds]
        self.model = type(models[0]).together(models).to(self.device)
        self.optimizer = torch.optim.Adam(
            _parameter_groups(self.model, self.settings),
            lr=self.settings.learning_rate,
            fused=True,
            capturable=self.device.type == "cuda",
        )
        selecting = self.progress.phase == "select"
        used = ~self.watched & ~self.held if selecting else ~self.watched
        self.parts = {"train": self._part(used, self.num_classes if self.settings.class_weights else 0)}
        if selecting:
            self.parts["validation"] = self._part(self.held)
        if self.watch and self.watched.any():
            self.parts["watch"] = self._part(self.watched)
        self._seeds = EpochSeeds(
            self.seeds,
            self.settings.layers,
            self.settings.heads,
            self.device,
            draws=self.model.draws,
            done=self.progress.epoch,
        )
        self._step = Step(self._compute, self.device)

    def _part(self, counts: Tensor, weighted_classes: int = 0) -> Part:
        return part_of(
            self.graph, self.features, self.nodes, self.labels, counts, self.settings, weighted_classes=weighted_classes
        )

    # ------------------------------------------------------------------ epochs

    def epochs(self) -> Iterator[Records]:
        """Train to the end; what some epochs measured, each time."""
        while True:
            while wanted := self._epochs_to_look():
                yield self._epochs(wanted)
            if self.progress.phase == "fit" or not self.settings.refit:
                return
            for run in self.progress.runs:
                run.fit_epochs = run.best_epoch
            self.progress.phase, self.progress.epoch = "fit", 0
            self._begin_phase()

    def _epochs_to_look(self) -> int:
        """Epochs until somebody must look at the numbers, 0 at the end of the phase."""
        going_on = [run for run in range(len(self.seeds)) if self._active(run)]
        if not going_on or self.progress.phase == "select":
            return len(going_on[:1])
        next_end = min(self.progress.runs[run].fit_epochs for run in going_on)
        return min(LOOK_EVERY[self.device.type], next_end - self.progress.epoch)

    def _active(self, run: int) -> bool:
        now, progress = self.progress.epoch, self.progress.runs[run]
        if self.progress.phase == "fit":
            return now < progress.fit_epochs
        return now < self.settings.epochs and now - progress.best_epoch < self.settings.patience

    def _epochs(self, count: int) -> Records:
        active = [run for run in range(len(self.seeds)) if self._active(run)]
        measured = torch.stack([self.step() for _ in range(count)]).tolist()  # [count][runs][measures]
        names = [f"{part}_{what}" for part in self.parts for what in ("loss", "accuracy")]
        records: Records = []
        for rows in measured:
            self.progress.epoch += 1
            for run in active:
                numbers = dict(zip(names, rows[run], strict=True))
                loss = numbers.pop("train_loss")
                if loss != loss or loss in (float("inf"), float("-inf")):
                    raise DataError(
                        f"the loss became {loss} in epoch {self.progress.epoch}",
                        remedy="Lower learning_rate, or look for extreme values in the features.",
                    )
                head = {"phase": self.progress.phase, "epoch": self.progress.epoch, "loss": loss}
                records.append((run, {**head, **numbers}))
                if self.progress.phase == "select":
                    self._remember_best(run, numbers)
        if self.progress.phase == "fit":
            for run in active:  # the others go on, so this is the moment to take its weights
                if not self._active(run) and any(self._active(other) for other in active):
                    self.kept[run] = _weights(self.model.apart(run))
        return records

    def step(self) -> Tensor:
        """One epoch -> [runs, measures] on the device."""
        with self._seeds.next_epoch():
            return self._step()

    def _compute(self) -> Tensor:
        """One epoch -> [runs, measures]; no number is looked at, so that a device need not wait."""
        self.model.train()
        self.optimizer.zero_grad(set_to_none=True)
        scores = self._scores(self.parts["train"], self._seeds.current())
        losses, accuracies = loss_and_accuracy(scores, self.parts["train"])
        losses.sum().backward()
        self.optimizer.step()
        self._seeds.advance()
        measures = [losses.detach(), accuracies]
        for name, part in self.parts.items():
            if name != "train":
                measures += self.measure(part)
        return torch.stack([measure.double() for measure in measures], dim=-1)

    @torch.no_grad()
    def measure(self, part: Part) -> tuple[Tensor, Tensor]:
        """Loss and accuracy [runs] without dropout."""
        self.model.eval()
        return loss_and_accuracy(self._scores(part, None), part)

    def _scores(self, part: Part, seed: Tensor | None) -> Tensor:
        """[n, runs, classes]"""
        scores: Tensor = self.model(part.field.layers, part.features, seed=seed)
        return scores.view(scores.size(0), len(self.seeds), self.num_classes).index_select(0, part.field.rows)

    def _remember_best(self, run: int, numbers: dict[str, float]) -> None:
        """Higher accuracy is better; at equal accuracy, lower loss."""
        progress = self.progress.runs[run]
        accuracy, loss = numbers["validation_accuracy"], numbers["validation_loss"]
        if (accuracy, -loss) > (progress.best_accuracy, -progress.best_loss):
            progress.best_accuracy, progress.best_loss, progress.best_epoch = accuracy, loss, self.progress.epoch
            if not self.settings.refit:
                self.kept[run] = _weights(self.model.apart(run))

    # ------------------------------------------------------------------ results, saving and continuing

    def trained(self, run: int = 0) -> NodeScorer:
        """The model of one run, after the last epoch."""
        model = self.model.apart(run)
        if run in self.kept:
            model.load_state_dict(self.kept[run])
        return model

    def epochs_trained(self, run: int = 0) -> int:
        """Epochs behind the weights that the run ends with."""
        progress = self.progress.runs[run]
        return progress.best_epoch if self.progress.phase == "select" else progress.fit_epochs

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Tensors and plain values; all on the CPU."""
        tensors = {f"model.{name}": value for name, value in self.model.state_dict().items()}
        for run, weights in self.kept.items():
            tensors |= {f"kept.{run}.{name}": value for name, value in weights.items()}
        for name, parameter in self.model.named_parameters():
            for moment, value in self.optimizer.state.get(parameter, {}).items():
                tensors[f"adam.{moment}.{name}"] = torch.as_tensor(value)
        return {name: value.detach().cpu().contiguous() for name, value in tensors.items()}, asdict(self.progress)

    def restore(self, tensors: dict[str, Tensor], progress: dict[str, Any]) -> None:
        runs = [RunProgress(**run) for run in progress["runs"]]
        self.progress = Progress(progress["phase"], progress["epoch"], runs)
        self._begin_phase()
        self.model.load_state_dict(_below("model", tensors))
        self.kept = {}
        for run in range(len(self.seeds)):
            weights = _below(f"kept.{run}", tensors)
            if weights:
                self.kept[run] = {name: value.to(self.device) for name, value in weights.items()}
        for name, parameter in self.model.named_parameters():
            moments = {moment: tensors.get(f"adam.{moment}.{name}") for moment in ("step", "exp_avg", "exp_avg_sq")}
            found = {moment: value for moment, value in moments.items() if value is not None}
            if len(found) == len(moments):
                self.optimizer.state[parameter] = {m: value.clone().to(self.device) for m, value in found.items()}


def _weights(model: NodeScorer) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def _below(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    cut = len(prefix) + 1
    return {name[cut:]: value for name, value in tensors.items() if name.startswith(f"{prefix}.")}


def _parameter_groups(model: NodeScorer, settings: NodeSettings) -> list[dict[str, Any]]:
    """Adam's weight decay drives what has no other gradient to zero, and attention without its queries and keys is
    uniform; so what decides on attention has a decay of its own."""
    attention: list[Tensor] = []
    rest: list[Tensor] = []
    for name, parameter in model.named_parameters():
        kind = name.rsplit(".", 1)[-1]
        (attention if kind.startswith(("attention_", "query", "key", "root_")) else rest).append(parameter)
    groups = [
        {"params": rest, "weight_decay": settings.l2},
        {"params": attention, "weight_decay": settings.attention_l2},
    ]
    return [group for group in groups if group["params"]]
