"""From tables of labels to the splits of a data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import torch

from brgcn.data.dataset import NodeSplit
from brgcn.data.labels import LabelTable
from brgcn.data.named_graph import NamedGraph, join_names
from brgcn.errors import DataError


def node_splits(
    named_graph: NamedGraph, tables: Mapping[str, LabelTable]
) -> tuple[dict[str, NodeSplit], tuple[str, ...], list[str]]:
    """Splits with ids, the sorted names of the labels, and warnings."""
    warnings: list[str] = []
    labelled = {split: _labels_of_nodes(named_graph, table, warnings) for split, table in tables.items()}
    label_names = tuple(sorted({label for labels in labelled.values() for label in labels.values()}))
    class_ids = {label: i for i, label in enumerate(label_names)}
    if "train" in labelled:
        _check_classes(labelled, tables["train"].where, warnings)
    _warn_of_overlap(named_graph, labelled, warnings)
    splits = {
        split: NodeSplit(
            torch.tensor(list(labels), dtype=torch.int64),
            torch.tensor([class_ids[label] for label in labels.values()], dtype=torch.int64),
        )
        for split, labels in labelled.items()
    }
    return splits, label_names, warnings


def warn_of_unused_drops(wanted: Sequence[str], dropped: frozenset[str] | set[str]) -> list[str]:
    """One warning for each relation that was to be dropped and never occurred: it may be misspelt."""
    unused = [relation for relation in wanted if not {relation, relation.strip("<>")} & dropped]
    return [f"the relation to be dropped does not occur: {relation}" for relation in unused]


def _labels_of_nodes(named_graph: NamedGraph, table: LabelTable, warnings: list[str]) -> dict[int, str]:
    """Node id -> label, for the nodes of the table that are in the graph."""
    ids = named_graph.find_nodes(table.nodes).tolist()
    line_of: dict[int, int] = {}
    labels: dict[int, str] = {}
    missing: list[str] = []
    for node, name, label, line in zip(ids, table.nodes, table.labels, table.lines, strict=True):
        if node < 0:
            missing.append(name)
        elif labels.setdefault(node, label) != label:
            raise DataError(
                f"{name} has two labels: {labels[node]} in line {line_of[node]}, {label} in line {line}",
                where=f"{table.where}, line {line}",
                remedy="A node has one label; correct the table.",
            )
        else:
            line_of.setdefault(node, line)
    if not labels:
        raise DataError(
            f"none of the labelled nodes is in the graph, for instance {join_names(missing)}",
            where=table.where,
            remedy="Check that the labels belong to this graph, and that nodes are named as in it (IRIs in full).",
        )
    if missing:
        warnings.append(
            f"{len(missing)} of {len(table.nodes)} labelled nodes of {table.short_name} are not in the graph and were "
            f"left out: {join_names(missing)}"
        )
    return labels


def _check_classes(labelled: Mapping[str, dict[int, str]], where: str, warnings: list[str]) -> None:
    classes = set(labelled["train"].values())
    if len(classes) == 1:
        raise DataError(
            f"all {len(labelled['train'])} training nodes have the label {next(iter(classes))}",
            where=where,
            remedy="Classification needs at least two classes; check which column holds the labels.",
        )
    for split, labels in labelled.items():
        unseen = sorted(set(labels.values()) - classes)
        if unseen:
            warnings.append(f"{len(unseen)} classes of {split} have no training node: {join_names(unseen)}")


def _warn_of_overlap(named_graph: NamedGraph, labelled: Mapping[str, dict[int, str]], warnings: list[str]) -> None:
    for one, other in combinations(labelled, 2):
        shared = [node for node in labelled[one] if node in labelled[other]]
        if shared:
            names = join_names([named_graph.node_names[node] for node in shared])
            differ = sum(labelled[one][node] != labelled[other][node] for node in shared)
            but = f", {differ} of them with another label" if differ else ""
            warnings.append(f"{len(shared)} nodes are in {one} and in {other}{but}: {names}")
