"""One pass of an encoder for several batches.

A pass over the whole graph costs many times what a batch of queries does. So its result f(h) of the entity table h is
held while some batches train the table and the relations, the vectors being h + f(h), or f(h) without a residual. What
these batches would have changed in f(h), their mean gradient, then goes through the encoder once.
"""

from __future__ import annotations

import torch
from torch import Tensor

from brgcn.graph import RelationalGraph
from brgcn.nn.link_model import LinkModel


class SharedPass:
    """``begin``; for each batch the ``entities``, the backward pass of a loss of them, and ``collect``; ``finish``.

    What batches read and write stays where it is, so that their steps can be recorded. Batches may be given some of the
    entities alone, by their ids.
    """

    def __init__(self, model: LinkModel) -> None:
        self.model = model
        self._held = torch.zeros_like(model.entity)  # [N, width] f(h)
        self._slope = torch.zeros_like(model.entity)  # sum of its gradients
        self._table: Tensor | None = None  # h as it was when the pass began
        self._encoded: Tensor | None = None  # f(h) with its way back
        self._given: Tensor | None = None  # what a batch sees of it

    def begin(self, graph: RelationalGraph, seed: int) -> None:
        self._table = self.model.entity.detach().clone().requires_grad_()
        self._encoded = self.model.encode(self._table, graph, seed)
        self._held.copy_(self._encoded.detach())
        self._slope.zero_()

    def entities(self, ids: Tensor | None = None) -> Tensor:
        """[N, width], or those of ``ids`` [M], each once."""
        self._given = (self._held if ids is None else self._held[ids]).detach().requires_grad_()
        return self.model.joined(self._given, ids)

    def collect(self, ids: Tensor | None = None) -> None:
        """After the backward pass of a batch."""
        assert self._given is not None
        assert self._given.grad is not None
        if ids is None:
            self._slope += self._given.grad
        else:
            self._slope.index_add_(0, ids, self._given.grad)
        self._given = None

    def finish(self, batches: int) -> None:
        """Leave the gradients of the encoder's parameters, and of the table through the encoder."""
        assert self._encoded is not None
        assert self._table is not None
        self._encoded.backward(self._slope / batches)
        self.model.entity.grad = self._table.grad
        self._table = self._encoded = None
