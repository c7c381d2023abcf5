"""What link prediction minimises."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from brgcn.graph import is_inverse, original_relation
from brgcn.nn.link_model import LinkModel
from brgcn.ops import answer_loss, look_up, table_and_rows, weighted_cubes
from brgcn.tasks.link_queries import QueryBatch
from brgcn.tasks.link_settings import LinkSettings


class LinkLoss:
    """Of a batch, given the vectors of all entities.

    ``1vsall``: for each triple the cross-entropy of its tail (or head) among all entities; triples with the same query
    share a row. ``kvsall``: a query counts once, its answers in equal shares. ``negatives``: whether a triple is true,
    beside corrupted ones, as in the paper.
    """

    def __init__(self, model: LinkModel, settings: LinkSettings) -> None:
        self.model, self.settings = model, settings

    def of_queries(self, entities: Tensor, batch: QueryBatch, cells: int, correction: Tensor | None = None) -> Tensor:
        """Mean over the triples (1vsall) or queries (kvsall). ``entities`` [M, width] are all, or a sample with its
        ``correction`` [M] that the batch refers to."""
        relations = self.model.relations()
        entities, rows = table_and_rows(entities, torch.cat([batch.entity, batch.answer]))
        given, answers = rows.split([batch.entity.numel(), batch.answer.numel()])
        query = self.model.query(given, batch.relation, relations)
        weight = batch.share if self.settings.loss == "kvsall" else batch.share > 0
        weight = weight.to(query.dtype)
        total = weight.sum()
        loss = answer_loss(
            query,
            entities,
            batch.answer_row,
            batch.answer,
            weight,
            self.model.decoder.match_all_in_training,
            correction=correction,
            cells=cells // self.model.decoder.numbers_per_score(entities),
        )
        loss = loss / total
        if self.settings.n3:
            loss = loss + self.settings.n3 * self._n3(given, answers, relations, batch, weight) / total
        if self.settings.relation_prediction:
            loss = loss + self.settings.relation_prediction * self._relation_loss(given, answers, relations, batch)
        return loss + self._l2(entities, relations)

    def of_triples(self, entities: Tensor, triples: Tensor, cells: int = 0) -> Tensor:
        """Binary cross-entropy of directed triples [b, 3] and their corruptions, mean over all of them.

        With ``cells`` the triples are taken in parts that hold about so many numbers, computed anew in the backward
        pass so that one part is held at a time; what is drawn is drawn once, and is the same for any parts.
        """
        relations, negatives = self.model.relations(), (self.settings.negatives, len(triples))
        strange = torch.randint(entities.size(0), negatives, device=triples.device)
        at_head = None  # triples come in both directions, and the tail is what is asked for
        if not self.model.reciprocal:
            at_head = torch.rand(negatives, device=triples.device) >= 0.5
        rows = max(1, cells // self.numbers_of_triples(1)) if cells else len(triples)
        if rows >= len(triples):
            loss = self._of_corruptions(entities, relations, triples, strange, at_head)
        else:
            places = torch.arange(len(triples), device=triples.device).split(rows)
            losses = []
            for some in places:
                drawn = strange[:, some], None if at_head is None else at_head[:, some]
                given = entities, relations, triples[some], *drawn
                part = checkpoint(self._of_corruptions, *given, use_reentrant=False, preserve_rng_state=False)
                losses.append(part * (len(some) / len(triples)))
            loss = torch.stack(losses).sum()
        return loss + self._l2(entities, relations)

    def numbers_of_triples(self, count: int) -> int:
        """That are held for so many triples: vectors of as many candidates as they have scores."""
        return count * (1 + self.settings.negatives) * self.settings.width

    def _of_corruptions(
        self, entities: Tensor, relations: Tensor, triples: Tensor, strange: Tensor, at_head: Tensor | None
    ) -> Tensor:
        """The loss of triples beside those with an entity of ``strange`` [negatives, b] in place of the tail, or
        ``at_head`` [negatives, b] of the head."""
        decoder = self.model.decoder
        place = torch.arange(len(triples), device=triples.device)
        asked = place.expand_as(strange)
        head, relation, tail = triples.unbind(1)
        r = look_up(relations, relation)
        query = decoder.tail_query(look_up(entities, head), r)
        if at_head is not None:
            query = torch.cat([query, decoder.head_query(look_up(entities, tail), r)])
            asked = torch.where(at_head, asked + len(triples), asked)
        candidate = torch.cat([tail, strange.flatten()])
        scores = decoder.match_some(query, torch.cat([place, asked.flatten()]), entities, candidate)
        truth = torch.zeros_like(scores)
        truth[: len(triples)] = 1
        return functional.binary_cross_entropy_with_logits(scores, truth)

    def _n3(self, given: Tensor, answers: Tensor, relations: Tensor, batch: QueryBatch, weight: Tensor) -> Tensor:
        """Sum over the answers' triples of their vectors' cubed sizes."""
        relation = batch.relation
        if not self.model.reciprocal:
            relation = original_relation(relation, self.model.num_relations)
        of_query = weight.new_zeros(given.size(0)).index_add_(0, batch.answer_row, weight)
        of_relation = weight.new_zeros(relations.size(0)).index_add_(0, relation, of_query)
        decoder = self.model.decoder
        cubes = [
            weighted_cubes(decoder.factors(vectors), times, pairs=decoder.pairs)
            for vectors, times in ((given, of_query), (answers, weight), (relations, of_relation))
        ]
        return torch.stack(cubes).sum()

    def _relation_loss(self, given: Tensor, answers: Tensor, relations: Tensor, batch: QueryBatch) -> Tensor:
        """Mean cross-entropy of each triple's relation among all relations, given its head and tail."""
        head, tail = look_up(given, batch.answer_row), answers
        relation = batch.relation[batch.answer_row]
        if not self.model.reciprocal:  # inverse relations have no vectors of their own
            backward = is_inverse(relation, self.model.num_relations).unsqueeze(-1)
            head, tail = torch.where(backward, tail, head), torch.where(backward, head, tail)
            relation = original_relation(relation, self.model.num_relations)
        decoder = self.model.decoder
        scores = decoder.match_all_in_training(decoder.relation_query(head, tail), relations)
        scores = scores.to(torch.promote_types(scores.dtype, torch.float32))  # products may be narrower
        counts = (batch.share > 0).to(scores.dtype)
        return (functional.cross_entropy(scores, relation, reduction="none") * counts).sum() / counts.sum()

    def _l2(self, entities: Tensor, relations: Tensor) -> Tensor:
        if not self.settings.l2:
            return entities.new_zeros(())
        return self.settings.l2 * (entities.square().mean() + relations.square().mean())
