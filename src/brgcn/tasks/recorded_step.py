"""Training steps over queries, recorded once on CUDA and replayed."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from brgcn.tasks.link_queries import QueryBatch
from brgcn.tasks.step import Step


class RecordedStep:
    """A step of an embedding model is hundreds of short kernels; asking for them takes Python longer than they do.

    Args:
        compute: a whole step, from a batch to its loss.
        rows, answers: shape of the batches; those with fewer answers are filled up with some that do not count.
    """

    def __init__(self, compute: Callable[[QueryBatch], Tensor], rows: int, answers: int, device: torch.device) -> None:
        self.rows, self.answers = rows, answers
        self._batch: QueryBatch | None = None
        self._step = Step(lambda: compute(self._filled()), device)

    def suits(self, batch: QueryBatch) -> bool:
        return batch.entity.numel() == self.rows and 0 < batch.answer.numel() <= self.answers

    def __call__(self, batch: QueryBatch) -> Tensor:
        batch = batch.padded(self.answers)
        if self._batch is None:
            self._batch = QueryBatch(*(part.clone() for part in batch))
        else:
            for mine, new in zip(self._batch, batch, strict=True):
                mine.copy_(new)
        return self._step()

    def _filled(self) -> QueryBatch:
        assert self._batch is not None
        return self._batch
