"""The dropout of every epoch, from the seeds of the runs and the number of the epoch alone."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from brgcn.nn.scorer import torch_seeded
from brgcn.nn.slots import step_seeds

BLOCK = 256  # epochs whose seeds are computed together: computing one takes as many launches as all


class EpochSeeds:
    """``with seeds.next_epoch():`` around each epoch; inside, ``current()`` is the seed of the pass.

    Args:
        seeds: of the runs.
        draws: the model draws its dropout from torch, whose random numbers then begin at the seed of the epoch.
        done: epochs that were computed before.
    """

    def __init__(
        self, seeds: Sequence[int], layers: int, heads: int, device: torch.device, *, draws: bool, done: int = 0
    ) -> None:
        self.device, self.draws, self.done = device, draws, done
        self._seeds, self._sizes = torch.tensor(list(seeds), device=device), (layers, heads)
        self._block = self._from(0)  # [BLOCK, layers, lanes], always the same memory, as a recorded step wants it
        self._place = torch.zeros(1, dtype=torch.long, device=device)  # of the epoch in the block
        self._numbers: list[int] = []  # the same on the host, one for each epoch, for torch
        if done % BLOCK:
            self._prepare()

    @contextlib.contextmanager
    def next_epoch(self) -> Iterator[None]:
        if self.done % BLOCK == 0:
            self._prepare()
        place = self.done % BLOCK
        self.done += 1
        with torch_seeded(self._numbers[place], self.device) if self.draws else contextlib.nullcontext():
            yield

    def current(self) -> Tensor | None:
        """[layers, lanes], or None where the model draws from torch; the host looks at no number."""
        return None if self.draws else self._block.index_select(0, self._place)[0]

    def advance(self) -> None:
        """To be called in the step itself, after ``current``."""
        self._place += 1

    def _prepare(self) -> None:
        self._block.copy_(self._from(self.done - self.done % BLOCK))
        self._place.fill_(self.done % BLOCK)
        if self.draws:
            self._numbers = self._block[:, 0, 0].tolist()

    def _from(self, epoch: int) -> Tensor:
        return step_seeds(self._seeds, torch.arange(epoch, epoch + BLOCK, device=self.device), *self._sizes)
