"""What a trained model attends to: relations around nodes, neighbours inside relations."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from brgcn.errors import BrgcnError, DataError
from brgcn.explain.importance import relation_importance
from brgcn.graph import RelationalGraph
from brgcn.nn import MODELS, AttentionWeights, NodeModel
from brgcn.tasks.run_folder import RunFolder
from brgcn.tasks.training import field_for, input_rows

EXPLAINABLE = tuple(name for name, attends in MODELS.items() if any(attends))

ITSELF = "the node itself"


@dataclass(frozen=True)
class RelationRow:
    """A relation in the eyes of the last layer, over the labelled nodes."""

    name: str
    nodes: int
    attention: float
    lift: float


@dataclass(frozen=True)
class Neighbour:
    name: str
    attention: float  # inside its relation


@dataclass(frozen=True)
class NodeRelation:
    name: str
    attention: float | None  # received from the relations of the node; None without relation attention
    neighbours: tuple[Neighbour, ...]  # strongest first


@dataclass(frozen=True)
class NodeExplanation:
    name: str
    label: str | None
    predicted: str
    probability: float
    relations: tuple[NodeRelation, ...]  # strongest first


@dataclass(frozen=True)
class Explanation:
    title: str
    model: str
    relations: tuple[RelationRow, ...]  # by lift, highest first; empty without relation attention
    node: NodeExplanation
    figure: Path | None = None

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "figure": str(self.figure) if self.figure else None}


def explain(folder: RunFolder, *, run: int = 0, node: str | None = None) -> Explanation:
    """Attention of the last layer of one run's model."""
    if folder.settings.model not in EXPLAINABLE:
        remedy = f"Train {', '.join(EXPLAINABLE[:-1])} or {EXPLAINABLE[-1]}."
        raise BrgcnError(f"{folder.settings.model} has no attention to show", remedy=remedy)
    inputs = folder.inputs
    graph = inputs.graph
    model = folder.load_model(run)
    assert isinstance(model, NodeModel)
    label_of = {
        int(n): int(label)
        for split in folder.splits.values()
        for n, label in zip(split.nodes, split.labels, strict=True)
    }
    labelled = torch.tensor(sorted(label_of))
    field = field_for(graph, labelled, folder.settings)
    rows: tuple[RelationRow, ...] = ()
    attention = model.attention(field.layers, input_rows(field, inputs.features))[-1]
    if attention.relation is not None:
        rows = _relation_rows(attention, field.layers[-1], folder)
    chosen = _choose(folder, graph, node)
    alone = field_for(graph, torch.tensor([chosen]), folder.settings)
    given = input_rows(alone, inputs.features)
    with torch.no_grad():
        probability = model(alone.layers, given)[alone.rows][0].softmax(-1)
    best = int(probability.argmax())
    explained = NodeExplanation(
        name=folder.named_graph.node_names[chosen],
        label=folder.classes[label_of[chosen]] if chosen in label_of else None,
        predicted=folder.classes[best],
        probability=float(probability[best]),
        relations=_node_relations(
            model.attention(alone.layers, given)[-1], alone.layers[-1], int(alone.rows[0]), folder
        ),
    )
    title = f"{folder.facts['dataset']} · {folder.settings.model}: attention of the last layer over the labelled nodes"
    return Explanation(title, folder.settings.model, rows, explained)


def _relation_rows(attention: AttentionWeights, graph: RelationalGraph, folder: RunFolder) -> tuple[RelationRow, ...]:
    assert attention.relation is not None
    importance = relation_importance(attention.relation, graph.num_relations + 1)
    occurring = (importance.nodes > 0).nonzero().squeeze(1).tolist()
    rows = [
        RelationRow(
            name=_relation_name(relation, graph, folder),
            nodes=int(importance.nodes[relation]),
            attention=float(importance.attention[relation]),
            lift=float(importance.lift[relation]),
        )
        for relation in occurring
    ]
    return tuple(sorted(rows, key=lambda row: -row.lift))


def _node_relations(
    attention: AttentionWeights, graph: RelationalGraph, position: int, folder: RunFolder
) -> tuple[NodeRelation, ...]:
    received: dict[int, float] = {}
    psi = attention.relation
    if psi is not None:
        here = psi.node == position
        weight = _mean_of_heads(psi.weight)[here]
        members = psi.relation[here].unique().numel()
        for relation, value in zip(psi.attended_relation[here].tolist(), weight.tolist(), strict=True):
            received[relation] = received.get(relation, 0.0) + value / members
    gamma = _mean_of_heads(attention.edge)
    source = graph.edge_source if graph.origin is None else graph.origin.node[graph.edge_source]
    rows = []
    for pair in range(int(graph.node_ptr[position]), int(graph.node_ptr[position + 1])):
        edges = range(int(graph.pair_ptr[pair]), int(graph.pair_ptr[pair + 1]))
        neighbours = [Neighbour(folder.named_graph.node_names[int(source[e])], float(gamma[e])) for e in edges]
        relation = int(graph.pair_relation[pair])
        rows.append(
            NodeRelation(
                _relation_name(relation, graph, folder),
                received.get(relation),
                tuple(sorted(neighbours, key=lambda neighbour: -neighbour.attention)),
            )
        )
    if graph.num_relations in received:
        rows.append(NodeRelation(ITSELF, received[graph.num_relations], ()))
    return tuple(sorted(rows, key=lambda row: -(row.attention or 0.0)))


def _choose(folder: RunFolder, graph: RelationalGraph, node: str | None) -> int:
    """The named node, or the labelled one with the most relations, because it shows most."""
    if node is not None:
        found = int(folder.named_graph.find_nodes([node])[0])
        if found < 0:
            raise DataError(f"not in the graph: {node}", remedy="Names are IRIs, literals in quotes, or _:blank nodes.")
        return found
    split = folder.splits.get("test", folder.splits["train"])
    relations = graph.node_ptr[split.nodes + 1] - graph.node_ptr[split.nodes]
    return int(split.nodes[int(relations.argmax())])


def _relation_name(relation: int, graph: RelationalGraph, folder: RunFolder) -> str:
    if relation == graph.num_relations:
        return ITSELF
    return graph.relation_label(relation, folder.named_graph.relation_names)


def _mean_of_heads(weight: Tensor) -> Tensor:
    return weight.mean(-1) if weight.dim() == 2 else weight
