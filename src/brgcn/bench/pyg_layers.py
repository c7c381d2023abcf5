"""PyG's contenders: its relational layers, and its layers for typed graphs on the form with one type of nodes.

``RGCNConv`` and ``FastRGCNConv`` take no features (``x=None``); the others have no such form and get a trainable table
of the hidden width. torch-geometric is imported only here.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from brgcn.bench.contender import PLAIN_LOOP, PYG, RELATIONAL, Contender, epoch_step, layer_step
from brgcn.bench.task import BASES, HIDDEN, Built, EpochTask, LayerTask, tensor_bytes
from brgcn.errors import BrgcnError
from brgcn.graph import RelationalGraph
from brgcn.nn.baselines import NODE, edges_by_relation, relation_names

UNTYPED = ("GATConv",)  # sees edges without their relation
# Takes the node features (None: one-hot nodes) to those of all nodes of the graph.
Forward = Callable[[Tensor | None], Tensor]
# Tried: the others look at numbers on the host (which relations have edges), and a recording that fails leaves CUDA's
# random numbers unusable for the rest of the process.
_RECORDABLE = ("FastRGCNConv", "RGATConv")


def pyg_contenders(*, typed: bool = True) -> list[Contender]:
    """All of them; without ``typed`` those alone that take edge types as numbers."""
    library()
    chosen = [
        _contender("RGCNConv", "RGCNConv", featureless=True),
        _contender("FastRGCNConv", "FastRGCNConv", featureless=True),
        _contender(f"RGCNConv, {BASES} bases", "RGCNConv", featureless=True, epoch_only=True, num_bases=BASES),
        _contender(f"FastRGCNConv, {BASES} bases", "FastRGCNConv", featureless=True, epoch_only=True, num_bases=BASES),
        _contender("RGATConv", "RGATConv"),
    ]
    if typed:
        chosen += [_contender(kind, kind) for kind in ("HGTConv", "HANConv")]
    return chosen


def plain_contenders() -> list[Contender]:
    """The relational layers in the loop that most programs have."""
    library()
    return [
        _contender(kind + PLAIN_LOOP, kind, featureless=kind != "RGATConv", epoch_only=True, fused=False)
        for kind in RELATIONAL
    ]


def library() -> Any:
    try:
        import torch_geometric.nn
    except ImportError as error:
        raise BrgcnError(
            "the benchmark compares with PyG, which is not installed", remedy="pip install 'brgcn[bench]'"
        ) from error
    return torch_geometric.nn


def extensions() -> list[str]:
    """The compiled extensions that PyG uses where it finds them; with pyg-lib its layers have faster paths."""
    return [name for name in ("pyg_lib", "torch_scatter", "torch_sparse") if importlib.util.find_spec(name)]


def single(kind: str) -> Contender:
    """One of PyG's layers by its name."""
    library()
    return _contender(kind, kind)


def _contender(
    name: str, kind: str, *, featureless: bool = False, epoch_only: bool = False, fused: bool = True, **options: Any
) -> Contender:
    return Contender(
        name,
        PYG,
        epoch=partial(_epoch, kind=kind, featureless=featureless, options=options, fused=fused),
        layer=None if epoch_only else partial(_layer, kind=kind, options=options),
        recordable=kind in _RECORDABLE,
        keeps_memory=fused,
    )


def _epoch(task: EpochTask, kind: str, featureless: bool, options: dict[str, Any], fused: bool) -> Built:
    torch.manual_seed(0)
    first, second = task.field.layers
    rows = task.field.rows.to(task.device)
    with task.device:
        table = None if featureless else nn.Parameter(torch.randn(first.num_nodes, HIDDEN))
        width = first.num_nodes if featureless else HIDDEN
        layer_1, forward_1, indices_1 = _on_graph(kind, first, width, HIDDEN, task.device, options)
        layer_2, forward_2, indices_2 = _on_graph(
            kind, second, HIDDEN, task.subject.num_classes, task.device, options, same_edges=(first, indices_1)
        )
    parameters = [*layer_1.parameters(), *layer_2.parameters(), *([] if table is None else [table])]

    def scores() -> Tensor:
        # The targets come first among the nodes; those of the first graph are the nodes of the second.
        hidden = forward_1(table)[: first.num_targets].relu()
        return forward_2(hidden).index_select(0, rows)

    indices = {id(index): index for index in (*indices_1, *indices_2)}.values()
    return Built(epoch_step(scores, parameters, task, fused), tensor_bytes(parameters), tensor_bytes(indices))


def _layer(task: LayerTask, kind: str, options: dict[str, Any]) -> Built:
    torch.manual_seed(0)
    d = task.width
    with task.device:
        conv, forward, indices = _on_graph(kind, task.graph, d, d, task.device, options)
        x = torch.randn(task.graph.num_nodes, d)
    parameters = list(conv.parameters())
    step = layer_step(lambda: forward(x)[: task.graph.num_targets], x, parameters, task)
    return Built(step, tensor_bytes(parameters), tensor_bytes(indices))


def _on_graph(
    kind: str,
    graph: RelationalGraph,
    d_in: int,
    d_out: int,
    device: torch.device,
    options: dict[str, Any],
    same_edges: tuple[RelationalGraph, list[Tensor]] | None = None,
) -> tuple[nn.Module, Forward, list[Tensor]]:
    """A layer, its application to this graph, and the index arrays it reads."""
    make = getattr(library(), kind)
    if same_edges is not None and same_edges[0] is graph:
        edge_index, edge_type = same_edges[1]
    else:
        edge_index = graph.edge_index.to(device, copy=True)
        edge_type = graph.edge_type.to(device, copy=True)
    indices = [edge_index, edge_type]
    if kind in RELATIONAL:
        conv = make(d_in, d_out, graph.num_relations, **options)
        return conv, lambda x: conv(x, edge_index, edge_type), indices
    if kind in UNTYPED:
        plain = make(d_in, d_out, **options)
        return plain, lambda x: plain(x, edge_index), [edge_index]
    typed = make(d_in, d_out, ([NODE], relation_names(graph.num_relations)), heads=1, **options)
    edges_of = edges_by_relation(edge_index, edge_type, graph.num_relations)
    return typed, lambda x: typed({NODE: x}, edges_of)[NODE], indices
