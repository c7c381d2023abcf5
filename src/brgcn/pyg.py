"""To and from PyG's ``Data`` and ``HeteroData``; the methods of ``RelationalGraph`` with these names lead here."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from brgcn.errors import BrgcnError, GraphError
from brgcn.graph import RelationalGraph

if TYPE_CHECKING:
    from torch_geometric.data import Data, HeteroData


def graph_from_pyg(data: Data | HeteroData) -> RelationalGraph:
    """Edges in the given order; a ``HeteroData``'s node types are numbered one after another, its edge types are the
    relations, both in the order in which it lists them."""
    if hasattr(data, "edge_types"):
        return _from_hetero(data)
    if getattr(data, "edge_index", None) is None or getattr(data, "edge_type", None) is None:
        raise GraphError(
            "the PyG Data needs edge_index [2, E] and edge_type [E]",
            remedy="Set data.edge_type to the relation id of each edge.",
        )
    num_relations = data.num_relations if "num_relations" in data else None
    graph = RelationalGraph.from_edges(data.edge_index, data.edge_type, data.num_nodes, num_relations)
    return replace(graph, has_inverse=bool(data.has_inverse)) if "has_inverse" in data else graph


def _from_hetero(data: HeteroData) -> RelationalGraph:
    offset: dict[str, int] = {}
    num_nodes = 0
    for node_type in data.node_types:
        size = data[node_type].num_nodes
        if size is None:
            raise GraphError(f"the number of nodes of type {node_type!r} is not known", remedy="Set its num_nodes.")
        offset[node_type] = num_nodes
        num_nodes += int(size)
    edges, types = [torch.empty(2, 0, dtype=torch.long)], [torch.empty(0, dtype=torch.long)]
    for relation, (source_type, name, target_type) in enumerate(data.edge_types):
        index = data[source_type, name, target_type].edge_index
        shift = index.new_tensor([[offset[source_type]], [offset[target_type]]])
        edges.append(index + shift)
        types.append(torch.full((index.size(1),), relation, dtype=torch.long, device=index.device))
    device = edges[-1].device
    return RelationalGraph.from_edges(
        torch.cat([part.to(device) for part in edges], dim=1),
        torch.cat([part.to(device) for part in types]),
        num_nodes,
        len(data.edge_types),
    )


def graph_to_data(graph: RelationalGraph) -> Data:
    data = _pyg_data().Data(edge_index=graph.edge_index, edge_type=graph.edge_type)
    data.num_nodes = graph.num_nodes
    data.num_relations, data.has_inverse = graph.num_relations, graph.has_inverse  # what the edges alone do not say
    return data


def graph_to_hetero_data(
    graph: RelationalGraph,
    node_type: Tensor | None = None,
    node_type_names: list[str] | None = None,
    relation_names: list[str] | None = None,
) -> HeteroData:
    """A relation that joins several pairs of node types becomes one edge type for each, one without edges none."""
    data = _pyg_data().HeteroData()
    if node_type is None:
        node_type = torch.zeros(graph.num_nodes, dtype=torch.long, device=graph.device)
        node_type_names = node_type_names or ["node"]
    if node_type.shape != (graph.num_nodes,):
        raise GraphError(f"node_type must have shape [{graph.num_nodes}], not {list(node_type.shape)}")
    size = torch.bincount(node_type)
    names = node_type_names or [f"type{t}" for t in range(size.numel())]
    if len(names) < size.numel():
        raise GraphError(f"{size.numel()} node types occur, but {len(names)} names were given")
    order = torch.argsort(node_type, stable=True)
    position = torch.empty_like(order)  # place of each node among those of its type
    position[order] = torch.arange(graph.num_nodes, device=graph.device) - (size.cumsum(0) - size)[node_type[order]]
    for t, count in enumerate(size.tolist()):
        data[names[t]].num_nodes = count
        data[names[t]].node_id = order[node_type[order] == t]

    names_of_relations = relation_names or [f"relation{r}" for r in range(graph.num_original_relations)]
    if len(names_of_relations) < graph.num_original_relations:
        count = graph.num_original_relations
        raise GraphError(f"the graph has {count} relations, but {len(names_of_relations)} names were given")
    source, target = graph.edge_index
    signature = torch.stack([graph.edge_type, node_type[source], node_type[target]])
    kinds, kind = torch.unique(signature, dim=1, return_inverse=True)
    for k, (relation, source_type, target_type) in enumerate(kinds.t().tolist()):
        chosen = kind == k
        name = graph.relation_label(relation, names_of_relations)
        data[names[source_type], name, names[target_type]].edge_index = torch.stack(
            [position[source[chosen]], position[target[chosen]]]
        )
    return data


def _pyg_data() -> Any:
    try:
        import torch_geometric.data
    except ImportError as error:
        raise BrgcnError("PyG is not installed", remedy="Install it with: pip install 'brgcn[pyg]'") from error
    return torch_geometric.data
