"""Does one relation alone give the label away? Then a target relation was probably left in the graph."""

from __future__ import annotations

import torch
from torch import Tensor

from brgcn.data.dataset import Dataset

SUSPICIOUS_ACCURACY = 0.99
SUSPICIOUS_COVERAGE = 0.9
CLEARLY_ABOVE = 0.05  # how much better than always naming the most frequent class
_MOST_NODES = 20_000  # labelled nodes looked at; more would not change the verdict
_FEWEST_NODES = 10  # below this, agreement is chance


def label_warnings(dataset: Dataset) -> list[str]:
    """Warnings about relations that predict the label of the training nodes by themselves, and of missing splits."""
    if not dataset.splits:
        return ["no node has a label, so there is nothing to train on"]
    warnings = []
    for relation, direction, accuracy, coverage in telling_relations(dataset):
        name = dataset.relation_names[relation]
        warnings.append(
            f"one relation alone predicts the label: {name} ({direction}) is right for {accuracy:.1%} of the training "
            f"nodes that share a neighbour over it, which are {coverage:.1%}; if it is the target, drop it"
        )
    return warnings


def telling_relations(dataset: Dataset) -> list[tuple[int, str, float, float]]:
    """(relation, "outgoing" or "incoming", accuracy, coverage) of the suspicious relations.

    The label of a node is guessed by majority among the other training nodes that share a neighbour with it over the
    relation. A node is left out of its own vote, so that a neighbour of its own (a name, an identifier) says nothing.
    """
    train = dataset.splits.get("train")
    if train is None or len(train) < _FEWEST_NODES:
        return []
    step = -(-len(train) // _MOST_NODES)  # every step-th node
    nodes, labels = train.nodes[::step], train.labels[::step]
    frequency = torch.bincount(labels, minlength=dataset.num_classes)
    threshold = max(SUSPICIOUS_ACCURACY, float(frequency.max()) / nodes.numel() + CLEARLY_ABOVE)
    row_of_node = torch.full((dataset.graph.num_nodes,), -1)
    row_of_node[nodes] = torch.arange(nodes.numel())

    graph = dataset.graph
    found: list[tuple[int, str, float, float]] = []
    for direction, own, other in (
        ("outgoing", graph.edge_source, graph.edge_target),
        ("incoming", graph.edge_target, graph.edge_source),
    ):
        chosen = (row_of_node[own] >= 0).nonzero().squeeze(1)
        relation, row, neighbour = graph.edge_type[chosen], row_of_node[own[chosen]], other[chosen]
        order = relation.argsort(stable=True)
        sizes = torch.bincount(relation, minlength=graph.num_relations).tolist()
        parts = zip(row[order].split(sizes), neighbour[order].split(sizes), strict=True)
        for r, (rows, neighbours) in enumerate(parts):
            if rows.numel() < SUSPICIOUS_COVERAGE * nodes.numel():
                continue  # cannot reach enough nodes
            accuracy, coverage = _left_out_accuracy(rows, neighbours, labels, dataset.num_classes)
            if accuracy >= threshold and coverage >= SUSPICIOUS_COVERAGE:
                found.append((r, direction, accuracy, coverage))
    return found


def _left_out_accuracy(rows: Tensor, neighbours: Tensor, labels: Tensor, num_classes: int) -> tuple[float, float]:
    """Accuracy on the nodes that get a vote, and their share among all.

    Args:
        rows: [K] position of the labelled node of each edge.
        neighbours: [K] the node at its other end.
        labels: [n] class of each labelled node.
    """
    group, members = torch.unique(neighbours, return_inverse=True, return_counts=True)[1:]
    shared = members[group] > 1  # a neighbour of one node alone has no vote
    rows, group = rows[shared], group[shared]
    _, group = torch.unique(group, return_inverse=True)
    if not rows.numel():
        return 0.0, 0.0
    num_groups = int(group.max()) + 1
    by_class = torch.zeros(num_groups, num_classes)
    by_class.index_put_((group, labels[rows]), torch.ones(rows.numel()), accumulate=True)
    votes = torch.zeros(labels.numel(), num_classes)
    votes.index_add_(0, rows, by_class[group])
    # Each of its edges put the node's own label once into the group.
    votes.index_put_((rows, labels[rows]), -torch.ones(rows.numel()), accumulate=True)
    covered = votes.sum(dim=1) > 0.5
    if not bool(covered.any()):
        return 0.0, 0.0
    right = votes[covered].argmax(dim=1) == labels[covered]
    return float(right.double().mean()), float(covered.double().mean())
