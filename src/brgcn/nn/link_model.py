"""Entities and relations as vectors: an encoder makes them, a decoder scores triples of them."""

from __future__ import annotations

from typing import Unpack

import torch
from torch import Tensor, nn

from brgcn.graph import RelationalGraph, is_inverse, original_relation
from brgcn.nn.brgcn_conv import BRGCNConv
from brgcn.nn.decoders import decoder
from brgcn.nn.frame import MODELS, LayerOptions
from brgcn.nn.slots import Seed, layer_seed
from brgcn.ops import look_up


class LinkModel(nn.Module):
    """Without an encoder, a table with a vector for each entity. With one, the table is what enters it, and with
    ``residual`` it is also added to what comes out, which is nothing before training.

    Relations are *directed*: r < R asks (h, r, ?), its inverse r + R asks (?, r, t) with the tail given. ``reciprocal``
    gives the inverse a vector of its own and asks for a tail; otherwise the decoder is asked for the head.

    Args:
        layer_options: of ``BRGCNConv``.
    """

    def __init__(
        self,
        num_entities: int,
        num_relations: int,
        *,
        encoder: str = "none",
        decoder_name: str = "complex",
        width: int = 200,
        reciprocal: bool = True,
        num_layers: int = 1,
        residual: bool = True,
        entity_dropout: float = 0.0,
        relation_dropout: float = 0.0,
        initial_scale: float = 1e-3,
        **layer_options: Unpack[LayerOptions],
    ) -> None:
        super().__init__()
        self.num_entities, self.num_relations = num_entities, num_relations
        self.reciprocal, self.residual = reciprocal, residual
        self.decoder = decoder(decoder_name, width)
        self.entity_dropout, self.relation_dropout = entity_dropout, relation_dropout
        self.initial_scale = initial_scale
        self.entity = nn.Parameter(torch.empty(num_entities, width))
        self.relation = nn.Parameter(torch.empty((2 if reciprocal else 1) * num_relations, width))
        layers: list[BRGCNConv] = []
        for number in range(num_layers if encoder != "none" else 0):
            node_attention, relation_attention = MODELS[encoder]
            options: LayerOptions = {
                **layer_options,
                "node_attention": node_attention,
                "relation_attention": relation_attention,
                "activation": None if number == num_layers - 1 else "relu",
                "concat": False,
            }
            layers.append(BRGCNConv(width, width, 2 * num_relations, **options))
        self.layers = nn.ModuleList(layers)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.normal_(self.entity, std=self.initial_scale)
        nn.init.normal_(self.relation, std=self.initial_scale)
        for layer in self.layers:
            layer.reset_parameters()  # type: ignore[operator]
        if self.residual and len(self.layers):
            self._start_from_the_table()

    def _start_from_the_table(self) -> None:
        """The encoder adds nothing at first: before vectors mean anything, their mixtures are noise that takes training
        many epochs to get over."""
        last = dict(self.layers[-1].named_parameters())
        for name in ("value", "value_coefficients", "root"):
            if name in last:
                nn.init.zeros_(last[name])

    def entities(self, graph: RelationalGraph | None, seed: Seed = None) -> Tensor:
        """[N, width] the vectors that the decoder sees; ``graph`` with inverse relations where there is an encoder."""
        if not len(self.layers):
            return self._dropped(self.entity, self.entity_dropout)
        assert graph is not None
        h = self._dropped(self.entity, self.entity_dropout)
        encoded = self._encode(h, graph, seed)
        return h + encoded if self.residual else encoded

    def encode(self, table: Tensor, graph: RelationalGraph, seed: Seed = None) -> Tensor:
        """What the encoder makes of a table [N, width], without the residual."""
        return self._encode(self._dropped(table, self.entity_dropout), graph, seed)

    def joined(self, encoded: Tensor, ids: Tensor | None = None) -> Tensor:
        """The vectors of all entities, or of ``ids``, where the encoder's part of them is known."""
        if not self.residual:
            return encoded
        return encoded + (self._dropped(self.entity, self.entity_dropout) if ids is None else self.some_entities(ids))

    def _encode(self, h: Tensor, graph: RelationalGraph, seed: Seed) -> Tensor:
        for number, layer in enumerate(self.layers):
            h = layer(h, graph, seed=layer_seed(seed, number))
        return h

    def some_entities(self, ids: Tensor) -> Tensor:
        """[M, width] rows of the table; their gradient is sparse."""
        return self._dropped(nn.functional.embedding(ids, self.entity, sparse=True), self.entity_dropout)

    def relations(self) -> Tensor:
        """[R or 2R, width]"""
        return self._dropped(self.relation, self.relation_dropout)

    def query(self, entity: Tensor, relation: Tensor, relations: Tensor) -> Tensor:
        """What is asked for [b, width] by vectors of the given ``entity`` [b, width] and directed ``relation`` ids
        [b]."""
        if self.reciprocal:
            return self.decoder.tail_query(entity, look_up(relations, relation))
        own = look_up(relations, original_relation(relation, self.num_relations))
        tails, heads = self.decoder.tail_query(entity, own), self.decoder.head_query(entity, own)
        return torch.where(is_inverse(relation, self.num_relations).unsqueeze(-1), heads, tails)

    def _dropped(self, table: Tensor, share: float) -> Tensor:
        return nn.functional.dropout(table, share, training=self.training) if share else table
