"""The least that must pass through memory, and the time it takes at the rate of a plain copy.

``layer_bytes``: each input, parameter, gradient, optimizer state and output once; what a single kernel that keeps
everything else on the chip would move. ``operator_bytes``: what every operator of ours reads and writes, each of its
arrays once; this much does pass through memory as long as the operators are kernels of their own.

``parameters`` are bytes everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence

from brgcn.bench.task import EpochTask, LayerTask
from brgcn.graph import RelationalGraph
from brgcn.ops import source_rows

_FLOAT, _INDEX, _INT32_MAX = 4, 4, 2**31 - 1
ADAM_ARRAYS = 4  # of the size of the parameters: themselves, gradients, two moments


def index_bytes(graph: RelationalGraph) -> int:
    """The layout: where the pairs of each target begin, where the edges of each pair begin, the relation of each pair,
    the source of each edge; as the operators hold them, in four bytes where the numbers fit."""
    numbers = (graph.num_targets + 1) + (graph.num_pairs + 1) + graph.num_pairs + graph.num_edges
    largest = max(graph.num_nodes, graph.num_edges, graph.num_relations)
    return numbers * (_INDEX if largest <= _INT32_MAX else 2 * _INDEX)


def index_bytes_of_all(graphs: Sequence[RelationalGraph]) -> int:
    """Of the graphs of all layers, each once: on the full graph they are one and the same."""
    return sum(index_bytes(graph) for graph in {id(graph): graph for graph in graphs}.values())


def epoch_bytes(task: EpochTask, parameters: int, indices: int, runs: int = 1) -> int:
    """Parameters, gradients and moments of all runs, index arrays, labels, and the scores with their gradient."""
    labels = task.subject.labels.numel()
    scores = labels * task.subject.num_classes * runs * _FLOAT
    return ADAM_ARRAYS * parameters + indices + labels * 8 + 2 * scores


def layer_bytes(task: LayerTask, parameters: int, indices: int) -> int:
    """Features, output, parameters and index arrays; with the way back also the gradients of the first three."""
    features = task.graph.num_nodes * task.width * _FLOAT
    output = task.graph.num_targets * task.width * _FLOAT
    moved = features + output + parameters
    return (2 if task.backward else 1) * moved + indices


def operator_layer_bytes(task: LayerTask, parameters: int, projections: int) -> int:
    """The operators of one layer for given features; their backward pass moves twice as much as the forward one."""
    graph, d = task.graph, task.width
    forward = feature_operator_bytes(graph, d, d, projections) + parameters + index_bytes(graph)
    return (3 if task.backward else 1) * forward


def feature_operator_bytes(graph: RelationalGraph, d_in: int, d_out: int, projections: int) -> int:
    """Node level: features -> pairs; typed linear: pairs -> query, key, value; relation level: those and the root ->
    targets. ``projections``: 3, or 1 where relations are only added up."""
    pairs, targets = graph.num_pairs, graph.num_targets
    node_level = (graph.num_nodes + pairs) * d_in
    typed_linear = pairs * (d_in + projections * d_out)
    relation_level = pairs * projections * d_out + 2 * targets * d_out
    return (node_level + typed_linear + relation_level) * _FLOAT


def featureless_operator_bytes(graph: RelationalGraph, d_out: int, projections: int) -> int:
    """Without features: bases -> rows of the occurring (relation, source); node level: rows -> pairs; relation level:
    pairs -> targets. The bases themselves are parameters and counted as such."""
    rows = source_rows(graph)[0].row.numel()
    mixing = rows * projections * d_out
    node_level = (rows + graph.num_pairs) * projections * d_out
    relation_level = graph.num_pairs * projections * d_out + graph.num_targets * d_out
    return (mixing + node_level + relation_level) * _FLOAT


def operator_epoch_bytes(task: EpochTask, hidden: int, parameters: int, projections: int, runs: int = 1) -> int:
    """Both layers, forward and backward, and the optimizer's pass over its arrays."""
    first, second = task.field.layers
    activations = featureless_operator_bytes(first, hidden, projections)
    activations += feature_operator_bytes(second, hidden, task.subject.num_classes, projections)
    indices = index_bytes_of_all(task.field.layers)
    return 3 * (runs * activations + parameters + indices) + ADAM_ARRAYS * parameters
