"""Our contenders: the trainer as ``brgcn train`` runs it, and the layer as it stands in somebody's own model."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor

from brgcn.bench import limit
from brgcn.bench.contender import OURS, Contender, layer_step
from brgcn.bench.task import BASES, HIDDEN, LAYERS, Built, EpochTask, LayerTask, own_copy, tensor_bytes
from brgcn.nn import MODELS, BRGCNConv
from brgcn.ops import use_backend
from brgcn.tasks.device import threads
from brgcn.tasks.settings import NodeSettings
from brgcn.tasks.trainer import NodeTrainer

EPOCHS = 10**9  # the trainer never comes to its end
TOGETHER = 10  # runs with different seeds in one trainer


def ours(model: str, backend: str | None, *, runs: int = 1, title: str | None = None) -> Contender:
    """One of the models; ``runs`` of them trained together; ``backend`` None: what the device suggests."""

    return Contender(
        title or model,
        OURS,
        epoch=partial(_epoch, model=model, runs=runs),
        layer=partial(_layer, model=model) if runs == 1 else None,
        surroundings=partial(_surroundings, backend),
        runs=runs,
    )


@contextlib.contextmanager
def _surroundings(backend: str | None, device: torch.device) -> Iterator[None]:
    with use_backend(backend), threads(torch.get_num_threads()) if device.type == "cpu" else _nothing():
        yield


def _epoch(task: EpochTask, model: str, runs: int) -> Built:
    settings = NodeSettings(
        model=model,
        layers=LAYERS,
        hidden=HIDDEN,
        bases=BASES,
        self_connection="outside",
        rare=0,
        counts="none",
        dropout=0.0,
        hidden_dropout=0.0,  # what PyG's layers are measured without
        epochs=EPOCHS,
        receptive_field=task.scope == "field",
    )
    subject = task.subject
    trainer = NodeTrainer(
        own_copy(subject.graph, task.device),
        subject.nodes,
        subject.labels,
        subject.num_classes,
        settings,
        range(runs),
        device=task.device,
    )
    parameters = tensor_bytes(trainer.model.parameters())
    return Built(
        trainer.step,  # what ``epochs()`` repeats; that adds the looking at numbers, which others do not do here
        parameters,
        limit.index_bytes_of_all(task.field.layers),
        lambda: limit.operator_epoch_bytes(task, HIDDEN, parameters, _projections(model), runs),
    )


def _layer(task: LayerTask, model: str) -> Built:
    torch.manual_seed(0)
    node_attention, relation_attention = MODELS[model]
    graph, d = own_copy(task.graph, task.device), task.width
    with task.device:
        conv = BRGCNConv(
            d, d, graph.num_relations, node_attention=node_attention, relation_attention=relation_attention
        )
        x = torch.randn(graph.num_nodes, d)
    parameters = tensor_bytes(conv.parameters())

    def forward() -> Tensor:
        out: Tensor = conv(x, graph)
        return out

    return Built(
        layer_step(forward, x, list(conv.parameters()), task),
        parameters,
        limit.index_bytes(graph),
        lambda: limit.operator_layer_bytes(task, parameters, _projections(model)),
    )


def _projections(model: str) -> int:
    """Query, key and value, or the value alone."""
    return 3 if MODELS[model][1] else 1


@contextlib.contextmanager
def _nothing() -> Iterator[None]:
    yield
