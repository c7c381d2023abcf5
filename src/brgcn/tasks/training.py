"""What training and use of a node classifier share: the model, the graph it sees, and its scores."""

from __future__ import annotations

import torch
from torch import Tensor

from brgcn.graph import RelationalGraph
from brgcn.nn import MODELS, NodeModel, NodeScorer
from brgcn.nn.baselines import BASELINES, NEEDS_WHOLE_GRAPH, MajorityClass, PygBaseline
from brgcn.nn.scorer import torch_seeded
from brgcn.receptive_field import ReceptiveField, receptive_field
from brgcn.tasks.settings import NodeSettings

LOGITS_CHUNK = 100_000  # nodes whose scores are computed together, so that memory stays bounded


def build_model(
    graph: RelationalGraph, num_classes: int, settings: NodeSettings, seed: int, num_features: int | None = None
) -> NodeScorer:
    """Initialised on the CPU from ``seed`` alone, whatever the device and the state of torch's random numbers."""
    with torch_seeded(seed, torch.device("cpu")):
        if settings.model in BASELINES:
            return _baseline(graph, num_classes, settings, num_features)
        node_attention, relation_attention = MODELS[settings.model]
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
            counts=settings.counts,
            negative_slope=settings.negative_slope,
            dropout=settings.dropout,
            hidden_dropout=settings.hidden_dropout,
            normalise=settings.normalise,
            rare=settings.rare,
            num_features=num_features,
            one_hot=settings.one_hot or settings.literals != "nodes",
        )


def _baseline(graph: RelationalGraph, num_classes: int, settings: NodeSettings, num_features: int | None) -> NodeScorer:
    if settings.model == "majority":
        return MajorityClass(num_classes, settings.layers)
    return PygBaseline(
        settings.model,
        graph,
        num_classes,
        num_layers=settings.layers,
        hidden=settings.hidden,
        heads=settings.heads,
        negative_slope=settings.negative_slope,
        dropout=settings.dropout,
        hidden_dropout=settings.hidden_dropout,
        normalise=settings.normalise,
        rare=settings.rare,
        num_features=num_features,
        one_hot=settings.one_hot or settings.literals != "nodes",
    )


def prepare_graph(graph: RelationalGraph, settings: NodeSettings) -> RelationalGraph:
    """With inverse relations where the settings ask for them."""
    return graph.with_inverse() if settings.inverse and not graph.has_inverse else graph


def field_for(graph: RelationalGraph, nodes: Tensor, settings: NodeSettings) -> ReceptiveField:
    """What the model must compute to score ``nodes``."""
    if settings.receptive_field and settings.model not in NEEDS_WHOLE_GRAPH:
        return receptive_field(graph, nodes, settings.layers)
    return ReceptiveField((graph,) * settings.layers, nodes.to(graph.device))


def input_rows(field: ReceptiveField, features: Tensor | None) -> Tensor | None:
    """The features that enter ``field``."""
    if features is None:
        return None
    return features if field.layers[0].origin is None else features[field.input_nodes]


@torch.no_grad()
def logits(
    model: NodeScorer, graph: RelationalGraph, nodes: Tensor, settings: NodeSettings, features: Tensor | None = None
) -> Tensor:
    """[nodes, classes] on the CPU, without dropout."""
    model.eval()
    parts = [torch.empty(0)]
    for chunk in nodes.split(LOGITS_CHUNK):
        field = field_for(graph, chunk, settings)
        parts.append(model(field.layers, input_rows(field, features))[field.rows].cpu())
    return torch.cat(parts[1:]) if len(parts) > 1 else parts[0].view(0, 1)
