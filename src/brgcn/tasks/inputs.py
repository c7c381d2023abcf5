"""What a model sees of a named graph: its edges, and the features of its nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from brgcn.data import NamedGraph
from brgcn.data.feature_tables import FeatureTable, table_like
from brgcn.data.literal_features import LiteralEncoder
from brgcn.graph import RelationalGraph
from brgcn.tasks.settings import NodeSettings
from brgcn.tasks.training import prepare_graph


class NodeInputs(NamedTuple):
    graph: RelationalGraph  # as ``prepare_graph`` makes it
    features: Tensor | None  # [N, features]

    def to(self, device: torch.device | str) -> NodeInputs:
        return NodeInputs(self.graph.to(device), None if self.features is None else self.features.to(device))

    @property
    def num_features(self) -> int | None:
        return None if self.features is None else self.features.size(1)


def node_inputs(
    named: NamedGraph,
    settings: NodeSettings,
    tables: Sequence[FeatureTable] = (),
    *,
    known: NamedGraph | None = None,
    new_tables: Sequence[FeatureTable] = (),
) -> NodeInputs:
    """What a model sees.

    Args:
        tables: features that nodes come with.
        known: the graph that training saw, where ``named`` has grown from it; its values say how to read others.
        new_tables: features of nodes that have come since, with the columns of one of ``tables``.
    """
    parts = [table.matrix(named.graph.num_nodes) for table in tables]
    for given in new_tables:
        number = table_like(given, tables)
        parts[number][given.nodes] = given.matrix(named.graph.num_nodes, known=tables[number])[given.nodes]
    graph = named.graph
    if settings.literals != "nodes":
        encoder = LiteralEncoder.fit(named if known is None else known)
        if encoder.width:
            parts.append(encoder.encode(named))
        if settings.literals == "features":
            graph = without_literals(named)
    return NodeInputs(prepare_graph(graph, settings), torch.cat(parts, dim=1) if parts else None)


def without_literals(named: NamedGraph) -> RelationalGraph:
    """All nodes, and the edges that do not lead to a literal."""
    graph = named.graph
    is_literal = torch.zeros(graph.num_nodes, dtype=torch.bool)
    is_literal[named.literals.nodes] = True
    kept = ~is_literal[graph.edge_target]
    return RelationalGraph.from_edges(
        graph.edge_index[:, kept], graph.edge_type[kept], graph.num_nodes, graph.num_relations
    )
