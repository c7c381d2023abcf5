"""Scores of a trained link predictor, as the ranking asks for them."""

from __future__ import annotations

import torch
from torch import Tensor

from brgcn.graph import RelationalGraph, inverse_relation
from brgcn.nn.link_model import LinkModel


class EntityScores:
    """Encodes once; then scores all entities for any number of queries, in float32.

    Args:
        graph: the message graph, where the model has an encoder.
    """

    @torch.no_grad()
    def __init__(self, model: LinkModel, graph: RelationalGraph | None) -> None:
        model.eval()
        self.model = model
        self.entities = model.entities(graph)  # [N, width]
        self.relations = model.relations()

    def tails(self, head: Tensor, relation: Tensor) -> Tensor:
        """[b, N] of all tails of (head, relation, ?)."""
        return self._all(head, relation)

    def heads(self, tail: Tensor, relation: Tensor) -> Tensor:
        """[b, N] of all heads of (?, relation, tail)."""
        return self._all(tail, inverse_relation(relation, self.model.num_relations))

    @torch.no_grad()
    def _all(self, given: Tensor, relation: Tensor) -> Tensor:
        device = self.entities.device
        query = self.model.query(self.entities[given.to(device)], relation.to(device), self.relations)
        return self.model.decoder.match_all(query, self.entities)

    @torch.no_grad()
    def relations_between(self, head: Tensor, tail: Tensor) -> Tensor:
        """[b, R] of all relations of (head, ?, tail)."""
        device = self.entities.device
        query = self.model.decoder.relation_query(self.entities[head.to(device)], self.entities[tail.to(device)])
        return self.model.decoder.match_all(query, self.relations[: self.model.num_relations])
