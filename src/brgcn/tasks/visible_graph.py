"""What an encoder sees of the graph while some of its triples are asked for."""

from __future__ import annotations

import torch
from torch import Tensor

from brgcn.graph import RelationalGraph, is_inverse
from brgcn.message_graph import keep_edges
from brgcn.tasks.link_settings import LinkSettings


class VisibleGraph:
    """``visible(scored)``, with the places of the triples that are asked for, is the graph that messages pass over.

    Args:
        graph: with inverse relations.
        triples: [n, 3] the training triples.
    """

    def __init__(self, graph: RelationalGraph, triples: Tensor, settings: LinkSettings) -> None:
        self.graph, self.settings, self._num_triples = graph, settings, len(triples)
        by_triple = settings.mask_target_edges or settings.batch_graph
        self._edge_triple = _triples_of_edges(graph, triples) if by_triple else None

    @property
    def changes(self) -> bool:
        """Whether each step has a graph of its own."""
        return self._edge_triple is not None or self.settings.edge_dropout > 0

    def __call__(self, scored: Tensor) -> RelationalGraph:
        if not self.changes:
            return self.graph
        edges, device = self.graph.num_edges, self.graph.device
        keep = torch.ones(edges, dtype=torch.bool, device=device)
        if self._edge_triple is not None:
            keep &= self._passes(scored)[self._edge_triple]
        if self.settings.edge_dropout:
            keep &= torch.rand(edges, device=device) >= self.settings.edge_dropout
        return keep_edges(self.graph, keep)

    def _passes(self, scored: Tensor) -> Tensor:
        """[triples + 1] which training triples pass messages while some are ``scored``; the last is none of them."""
        share, device = self.settings.batch_graph, self.graph.device
        passes = torch.full((self._num_triples + 1,), not share, dtype=torch.bool, device=device)
        if share:
            passes[scored[torch.rand(scored.numel(), device=device) < share]] = True
        if self.settings.mask_target_edges:
            passes[scored] = False
        return passes


def _triples_of_edges(graph: RelationalGraph, triples: Tensor) -> Tensor:
    """[E] the training triple of each edge of the message graph, in either direction; their number if none."""
    original = graph.num_original_relations
    source, target, relation = graph.edge_source, graph.edge_target, graph.edge_type
    inverse = is_inverse(relation, original)
    of_edges = torch.stack(
        [
            torch.where(inverse, target, source),
            graph.original_relation(relation),
            torch.where(inverse, source, target),
        ],
        dim=1,
    )
    edge = _keys(of_edges, original, graph.num_nodes)
    keys, order = _keys(triples, original, graph.num_nodes).sort()
    place = torch.searchsorted(keys, edge).clamp(max=keys.numel() - 1)
    return torch.where(keys[place] == edge, order[place], keys.numel())


def _keys(triples: Tensor, num_relations: int, num_entities: int) -> Tensor:
    """[n] a number for each triple."""
    head, relation, tail = triples.unbind(1)
    return (head * num_relations + relation) * num_entities + tail
