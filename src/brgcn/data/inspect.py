"""``inspect_dataset``: counts, distributions, an estimate of memory, and what looks suspicious, ready for JSON."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from brgcn.data.catalogue import Entry
from brgcn.data.dataset import Dataset
from brgcn.data.inspect_labels import label_warnings
from brgcn.data.inspect_links import link_facts
from brgcn.data.names import NameTable
from brgcn.data.verify import count_differences
from brgcn.graph import RelationalGraph

_TOP_RELATIONS = 20
_FLOAT_BYTES = 4


def inspect_dataset(dataset: Dataset, *, entry: Entry | None = None) -> dict[str, Any]:
    """Everything worth knowing about a data set before training on it.

    With ``entry`` (of the catalogue) its expected counts are compared. The keys ``nodes``, ``relations``, ``edges``,
    ``literals``, ``splits``, ``classes`` and ``warnings`` are always there; ``memory`` where nodes are classified,
    ``leakage`` where links are predicted.
    """
    graph = dataset.graph
    outgoing = _outgoing_pairs(graph)
    pairs_per_node = _pairs_per_node(graph, outgoing)
    degree = torch.bincount(graph.edge_target, minlength=graph.num_nodes) + torch.bincount(
        graph.edge_source, minlength=graph.num_nodes
    )
    report: dict[str, Any] = {
        "name": dataset.name,
        "task": dataset.task,
        "source": dataset.source,
        "fingerprint": dataset.fingerprint,
        "nodes": graph.num_nodes,
        "relations": graph.num_relations,
        "edges": graph.num_edges,
        "pairs": graph.num_pairs,
        "literals": len(dataset.literals),
        "blank_nodes": _blank_nodes(dataset.node_names),
        # Adding t -inverse(r)-> s for each s -r-> t makes a pair of each distinct (source, relation).
        "with_inverse": {
            "relations": 2 * graph.num_relations,
            "edges": 2 * graph.num_edges,
            "pairs": graph.num_pairs + outgoing.numel(),
        },
        "splits": {name: len(split) for name, split in (dataset.splits or dataset.triples).items()},
        "classes": _class_counts(dataset),
        "degree": distribution(degree),
        "relations_per_node": distribution(pairs_per_node),
        "isolated_nodes": int((degree == 0).sum()),
        "top_relations": _top_relations(dataset),
        "literal_datatypes": _datatype_counts(dataset),
    }
    warnings = list(dataset.warnings)
    if dataset.task == "links":
        report["leakage"], more = link_facts(dataset)
        warnings += more
    else:
        report["memory"] = training_memory(graph.num_nodes, 2 * graph.num_edges, graph.num_pairs + outgoing.numel())
        warnings += label_warnings(dataset)
        if report["isolated_nodes"]:
            warnings.append(f"{report['isolated_nodes']:,} nodes have no edge at all")
    if entry is not None and (differences := count_differences(entry, _comparable_counts(report))):
        warnings.append(f"not what the catalogue says of {entry.name}: {'; '.join(differences)}")
    report["warnings"] = warnings
    return report


def distribution(values: Tensor) -> dict[str, Any]:
    """Smallest, median, mean, 90th and 99th percentile, largest, and a histogram with bins 0, 1, 2, 3-4, 5-8, 9-16, ..

    Args:
        values: [num_nodes] one number per node.
    """
    if not values.numel():
        return {"min": 0, "median": 0, "mean": 0.0, "p90": 0, "p99": 0, "max": 0, "histogram": []}
    ordered = values.sort().values
    last = ordered.numel() - 1

    def at(share: float) -> int:
        return int(ordered[round(share * last)])

    edges = [0, 1, 2]
    while edges[-1] < int(ordered[-1]):
        edges.append(2 * edges[-1])
    upper = torch.tensor(edges, dtype=ordered.dtype)
    below = torch.searchsorted(ordered, upper, right=True).tolist()
    histogram = [
        {"from": low, "to": high, "nodes": count - before}
        for low, high, count, before in zip(
            [0, *(edge + 1 for edge in edges[:-1])], edges, below, [0, *below[:-1]], strict=True
        )
        if count - before
    ]
    return {
        "min": int(ordered[0]),
        "median": at(0.5),
        "mean": round(float(ordered.double().mean()), 3),
        "p90": at(0.9),
        "p99": at(0.99),
        "max": int(ordered[-1]),
        "histogram": histogram,
    }


def training_memory(
    num_nodes: int, num_edges: int, num_pairs: int, hidden: int = 16, bases: int = 30
) -> dict[str, Any]:
    """An estimate of the bytes that full-graph training takes; the defaults are those of the preset ``default``.

    All numbers are those of the graph with inverse relations, in which there are as many distinct (relation, source) as
    pairs. The featureless first layer has one attention weight for each (relation, source) and each pair, and a table
    of values: with bases one of ``bases * hidden`` per node, without them query, key and value per (relation, source).
    """
    row = 3 * hidden  # query, key and value, which an edge brings along
    parameters = 2 * num_pairs + (bases * hidden * num_nodes if bases else row * num_pairs)
    mixing = bases * hidden + row if bases else 0  # per (relation, source)
    activations = 2 * row * num_edges + (4 * row + 4 + mixing) * num_pairs
    layers = f"{bases} bases" if bases else "no bases"
    return {
        "bytes": _FLOAT_BYTES * (4 * parameters + activations),
        "parameter_bytes": _FLOAT_BYTES * 4 * parameters,
        "activation_bytes": _FLOAT_BYTES * activations,
        "assumes": f"BR-GCN with two layers, {hidden} hidden channels, {layers}, no node features, inverse relations, "
        "float32, Adam (weights, gradient, two moments), the whole graph; training cuts the graph to what reaches the "
        "labelled nodes, so it often takes less",
    }


def _outgoing_pairs(graph: RelationalGraph) -> Tensor:
    """[P'] distinct source * R + relation, ascending."""
    return torch.unique(graph.edge_source * max(graph.num_relations, 1) + graph.edge_type)  # type: ignore[no-any-return]


def _pairs_per_node(graph: RelationalGraph, outgoing: Tensor) -> Tensor:
    """[num_nodes] how many relations a node has, either direction counted: what relation attention ranges over."""
    incoming = graph.node_ptr[1:] - graph.node_ptr[:-1]
    return incoming + torch.bincount(outgoing // max(graph.num_relations, 1), minlength=graph.num_nodes)


def _blank_nodes(names: NameTable) -> int:
    tensors = names.tensors()
    begins = tensors["offsets"][names.starting_with("_")]
    second = (begins + 1).clamp(max=max(tensors["blob"].numel() - 1, 0))
    return int((tensors["blob"][second] == ord(":")).sum())


def _class_counts(dataset: Dataset) -> dict[str, dict[str, int]]:
    """Label -> split -> nodes."""
    counts = {
        name: torch.bincount(split.labels, minlength=dataset.num_classes).tolist()
        for name, split in dataset.splits.items()
    }
    return {label: {name: counts[name][i] for name in counts} for i, label in enumerate(dataset.label_names)}


def _top_relations(dataset: Dataset) -> list[dict[str, Any]]:
    edges = torch.bincount(dataset.graph.edge_type, minlength=dataset.graph.num_relations)
    top = edges.argsort(descending=True, stable=True)[:_TOP_RELATIONS].tolist()
    total = max(dataset.graph.num_edges, 1)
    return [
        {"relation": dataset.relation_names[r], "edges": int(edges[r]), "share": round(int(edges[r]) / total, 4)}
        for r in top
    ]


def _datatype_counts(dataset: Dataset) -> dict[str, int]:
    names = dataset.literals.datatype_names
    counts = torch.bincount(dataset.literals.datatype, minlength=len(names)).tolist()
    return dict(sorted(zip(names, counts, strict=True), key=lambda item: -item[1]))


def _comparable_counts(report: dict[str, Any]) -> dict[str, int]:
    """The counts of a report under the names that the catalogue uses."""
    counts = {**report["splits"], "relations": report["relations"]}
    if report["task"] == "links":
        return counts | {"entities": report["nodes"]}
    counts |= {what: report[what] for what in ("nodes", "edges", "literals")}
    return counts | {"classes": len(report["classes"]), "labelled": sum(report["splits"].values())}
