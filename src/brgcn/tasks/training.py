"""One training run of a node classifier: phases, epochs, early stopping, and a state that can be saved and continued.

On the CPU a run is a pure function of (graph, labels, settings, seed, number of threads): every epoch's dropout is
derived from the seed and the epoch's number, so a run continued from a saved state goes on exactly as if it had never
stopped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from brgcn.errors import DataError
from brgcn.graph import RelationalGraph
from brgcn.nn import MODELS, NodeModel
from brgcn.ops import combine_seed
from brgcn.receptive_field import ReceptiveField, receptive_field
from brgcn.tasks.settings import NodeSettings
from brgcn.tasks.splits import stratified_holdout

LOGITS_CHUNK = 100_000  # nodes whose scores are computed together, so that memory stays bounded


def build_model(
    graph: RelationalGraph, num_classes: int, settings: NodeSettings, seed: int, num_features: int | None = None
) -> NodeModel:
    """Initialised on the CPU from ``seed`` alone, whatever the device and the state of torch's random numbers."""
    node_attention, relation_attention = MODELS[settings.model]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return NodeModel(
            graph,
            num_classes,
            node_attention=node_attention,
            relation_attention=relation_attention,
            num_layers=settings.layers,
            hidden=settings.hidden,
            num_bases=settings.bases,
            heads=settings.heads,
            self_connection=settings.self_connection,
            input_self_connection=settings.input_self_connection,
            aggregate=settings.aggregate,
            scaled=settings.scaled,
            negative_slope=settings.negative_slope,
            dropout=settings.dropout,
            num_features=num_features,
        )


def prepare_graph(graph: RelationalGraph, settings: NodeSettings) -> RelationalGraph:
    """With inverse relations where the settings ask for them."""
    return graph.with_inverse() if settings.inverse and not graph.has_inverse else graph


def field_for(graph: RelationalGraph, nodes: Tensor, settings: NodeSettings) -> ReceptiveField:
    """What the model must compute to score ``nodes``."""
    if settings.receptive_field:
        return receptive_field(graph, nodes, settings.layers)
    return ReceptiveField((graph,) * settings.layers, nodes.to(graph.device))


def input_rows(field: ReceptiveField, features: Tensor | None) -> Tensor | None:
    """The features that enter ``field``."""
    if features is None:
        return None
    return features if field.layers[0].origin is None else features[field.input_nodes]


@torch.no_grad()
def logits(
    model: NodeModel, graph: RelationalGraph, nodes: Tensor, settings: NodeSettings, features: Tensor | None = None
) -> Tensor:
    """[nodes, classes] on the CPU, without dropout."""
    model.eval()
    parts = [torch.empty(0)]
    for chunk in nodes.split(LOGITS_CHUNK):
        field = field_for(graph, chunk, settings)
        parts.append(model(field.layers, input_rows(field, features))[field.rows].cpu())
    return torch.cat(parts[1:]) if len(parts) > 1 else parts[0].view(0, 1)


@dataclass
class Progress:
    """Where a run stands; with the weights and Adam's moments it is all that is needed to go on."""

    phase: str  # "select" while early stopping looks for the number of epochs, then "fit"
    epoch: int = 0  # epochs done in this phase
    best_epoch: int = 0
    best_accuracy: float = -1.0
    best_loss: float = float("inf")
    fit_epochs: int = 0  # epochs that the phase "fit" takes


class NodeTrainer:
    """Trains one model with one seed.

    ``for record in trainer.epochs()`` runs epoch after epoch and yields what was measured; between two of them
    ``state()`` can be saved, and ``restore()`` puts it into a new trainer made with the same arguments.
    """

    def __init__(
        self,
        graph: RelationalGraph,
        nodes: Tensor,
        labels: Tensor,
        num_classes: int,
        settings: NodeSettings,
        seed: int,
        *,
        device: torch.device | str = "cpu",
        features: Tensor | None = None,
        watch: tuple[Tensor, Tensor] | None = None,
    ) -> None:
        """Args:
        graph: with inverse relations where they are wanted (``prepare_graph``), on ``device``.
        nodes, labels: [n] the training labels.
        watch: other nodes and labels whose accuracy is measured after each epoch (cross-validation uses it; it does
            not influence training).
        """
        if nodes.numel() == 0:
            raise DataError("there are no training labels")
        self.graph = graph
        self.nodes, self.labels = nodes, labels
        self.num_classes = num_classes
        self.settings = settings
        self.seed = seed
        self.device = torch.device(device)
        self.features = features
        self.held = torch.zeros(nodes.numel(), dtype=torch.bool)
        if settings.patience:
            self.held = stratified_holdout(labels, settings.validation, seed)
        self.watch = self._measured(*watch) if watch is not None else None
        self.progress = Progress("select" if self.held.any() else "fit", fit_epochs=settings.epochs)
        self.best_weights: dict[str, Tensor] = {}
        self._begin_phase()

    def _begin_phase(self) -> None:
        """A fresh model on the labels of the phase: without the held-back ones while selecting, with all in the end."""
        self.model = build_model(
            self.graph.to("cpu"), self.num_classes, self.settings, self.seed, _width(self.features)
        ).to(self.device)
        self.optimizer = torch.optim.Adam(_parameter_groups(self.model, self.settings), lr=self.settings.learning_rate)
        used = ~self.held if self.progress.phase == "select" else torch.ones_like(self.held)
        self.train_part = self._measured(self.nodes[used], self.labels[used])
        self.validation = (
            self._measured(self.nodes[self.held], self.labels[self.held]) if self.progress.phase == "select" else None
        )
        self.class_weights = (
            _class_weights(self.labels[used], self.num_classes) if self.settings.class_weights else None
        )
        if self.class_weights is not None:
            self.class_weights = self.class_weights.to(self.device)

    def _measured(self, nodes: Tensor, labels: Tensor) -> tuple[ReceptiveField, Tensor | None, Tensor]:
        field = field_for(self.graph, nodes, self.settings)
        return field, input_rows(field, self.features), labels.to(self.device)

    def epochs(self) -> Iterator[dict[str, Any]]:
        """Train to the end, one record per epoch."""
        while True:
            limit = self.settings.epochs if self.progress.phase == "select" else self.progress.fit_epochs
            while self.progress.epoch < limit and not self._out_of_patience():
                yield self._epoch()
            if self.progress.phase == "fit":
                return
            if not self.settings.refit:
                self.model.load_state_dict(self.best_weights)
                return
            self.progress.phase, self.progress.epoch = "fit", 0
            self.progress.fit_epochs = self.progress.best_epoch
            self._begin_phase()

    def _epoch(self) -> dict[str, Any]:
        progress = self.progress
        field, x, labels = self.train_part
        self.model.train()
        self.optimizer.zero_grad(set_to_none=True)
        scores = self.model(field.layers, x, seed=combine_seed(self.seed, progress.epoch))[field.rows]
        loss = F.cross_entropy(scores, labels, self.class_weights)
        loss.backward()
        self.optimizer.step()
        progress.epoch += 1
        record: dict[str, Any] = {
            "phase": progress.phase,
            "epoch": progress.epoch,
            "loss": float(loss.detach()),
            "train_accuracy": _accuracy(scores, labels),
        }
        if not torch.isfinite(loss):
            raise DataError(
                f"the loss became {float(loss.detach())} in epoch {progress.epoch}",
                remedy="Lower learning_rate, or look for extreme values in the features.",
            )
        if self.validation is not None:
            record["validation_loss"], record["validation_accuracy"] = self._measure(self.validation)
            self._remember_best(record)
        if self.watch is not None:
            record["watch_loss"], record["watch_accuracy"] = self._measure(self.watch)
        return record

    @torch.no_grad()
    def _measure(self, part: tuple[ReceptiveField, Tensor | None, Tensor]) -> tuple[float, float]:
        field, x, labels = part
        self.model.eval()
        scores = self.model(field.layers, x)[field.rows]
        return float(F.cross_entropy(scores, labels)), _accuracy(scores, labels)

    def _remember_best(self, record: dict[str, Any]) -> None:
        """Higher accuracy is better; at equal accuracy, lower loss."""
        progress = self.progress
        accuracy, loss = record["validation_accuracy"], record["validation_loss"]
        if (accuracy, -loss) > (progress.best_accuracy, -progress.best_loss):
            progress.best_accuracy, progress.best_loss, progress.best_epoch = accuracy, loss, progress.epoch
            if not self.settings.refit:
                self.best_weights = {name: value.detach().clone() for name, value in self.model.state_dict().items()}

    def _out_of_patience(self) -> bool:
        waited = self.progress.epoch - self.progress.best_epoch
        return self.progress.phase == "select" and waited >= self.settings.patience

    # ------------------------------------------------------------------ saving and continuing

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Tensors and plain values; all on the CPU."""
        tensors = {f"model.{name}": value for name, value in self.model.state_dict().items()}
        tensors |= {f"best.{name}": value for name, value in self.best_weights.items()}
        for name, parameter in self.model.named_parameters():
            for moment, value in self.optimizer.state.get(parameter, {}).items():
                tensors[f"adam.{moment}.{name}"] = torch.as_tensor(value)
        return {name: value.detach().cpu().contiguous() for name, value in tensors.items()}, asdict(self.progress)

    def restore(self, tensors: dict[str, Tensor], progress: dict[str, Any]) -> None:
        self.progress = Progress(**progress)
        self._begin_phase()
        part = {name: value for name, value in tensors.items() if name.startswith("model.")}
        self.model.load_state_dict({name.removeprefix("model."): value for name, value in part.items()})
        self.best_weights = {
            name.removeprefix("best."): value.to(self.device)
            for name, value in tensors.items()
            if name.startswith("best.")
        }
        for name, parameter in self.model.named_parameters():
            moments = {moment: tensors.get(f"adam.{moment}.{name}") for moment in ("step", "exp_avg", "exp_avg_sq")}
            if all(value is not None for value in moments.values()):
                state = {moment: value.clone() for moment, value in moments.items() if value is not None}
                # Adam keeps its step counter on the CPU
                self.optimizer.state[parameter] = {
                    moment: value if moment == "step" else value.to(self.device) for moment, value in state.items()
                }

    @property
    def epochs_trained(self) -> int:
        """Epochs behind the weights that the run ends with."""
        return self.progress.best_epoch if self.progress.phase == "select" else self.progress.epoch


def _parameter_groups(model: NodeModel, settings: NodeSettings) -> list[dict[str, Any]]:
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


def _width(features: Tensor | None) -> int | None:
    return None if features is None else features.size(1)


def _accuracy(scores: Tensor, labels: Tensor) -> float:
    return float((scores.detach().argmax(-1) == labels).double().mean())


def _class_weights(labels: Tensor, num_classes: int) -> Tensor:
    """[classes] n / (classes that occur * size of the class), so that every class counts the same."""
    size = torch.bincount(labels, minlength=num_classes)
    occurring = int((size > 0).sum())
    return labels.numel() / (occurring * size.clamp(min=1).double()).float()
