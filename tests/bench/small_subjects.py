"""Small graphs that every contender can compute in milliseconds."""

from __future__ import annotations

import torch

from brgcn.bench import BenchGraph
from brgcn.graph import RelationalGraph

CPU = torch.device("cpu")


def small_graph(nodes: int = 60, edges: int = 150, relations: int = 3, seed: int = 0) -> BenchGraph:
    """Sparse, so that the receptive field of the six labelled nodes is a part of it."""
    random = torch.Generator().manual_seed(seed)
    edge_index = torch.randint(nodes, (2, edges), generator=random)
    edge_type = torch.randint(relations, (edges,), generator=random)
    graph = RelationalGraph.from_edges(edge_index, edge_type, nodes, relations).with_inverse()
    return BenchGraph("small", graph, torch.arange(6), torch.arange(6) % 2, 2)


def row(library: str, layer: str, ms: float | None, **more: object) -> dict:
    """A row as a benchmark writes it."""
    spread = {"ms": ms, "ms_low": ms, "ms_high": ms, "repeats": 3 if ms else 0}
    rest = {"graph": "aifb", "scope": "full", "edges": 100, "peak_bytes": 1000, "limit_ms": 1.0, "layer_bytes": 10}
    return {"library": library, "layer": layer, **spread, **rest, **more}
