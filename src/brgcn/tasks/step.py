"""One training step, as fast as the device can repeat it."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from brgcn.errors import is_out_of_memory

EAGER_STEPS = 3  # before a step is recorded: kernels are compiled, and memory and the optimizer's state are made


class Step:
    """Repeats a computation whose shapes never change.

    On CUDA its launches are recorded once as a CUDA graph and replayed, since a step on a small graph is far shorter
    than Python needs to ask for it. The first steps are computed as they come; they count like all others.
    """

    def __init__(self, compute: Callable[[], Tensor], device: torch.device) -> None:
        self._compute = compute
        self._eager_steps = EAGER_STEPS if device.type == "cuda" else None
        self._recorded: torch.cuda.CUDAGraph | None = None
        self._result: Tensor | None = None

    def __call__(self) -> Tensor:
        if self._eager_steps is None:
            return self._compute()
        if self._eager_steps > 0:
            self._eager_steps -= 1
            return self._beside()
        if self._recorded is None:
            self._recorded = self._record()
        self._recorded.replay()
        assert self._result is not None
        return self._result.clone()

    def _record(self) -> torch.cuda.CUDAGraph:
        recorded = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(recorded):  # computes nothing
                self._result = self._compute()
        except Exception as error:
            _forget_recording()
            first = error.__context__  # what broke the recording; that it could not be ended is said on top of that
            if first is not None and is_out_of_memory(first):
                raise first from None
            raise
        return recorded

    def _beside(self) -> Tensor:
        """On a stream of its own, as recording wants it of the steps before."""
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            result = self._compute()
        torch.cuda.current_stream().wait_stream(stream)
        return result


def _forget_recording() -> None:
    """A recording that broke off leaves torch's random numbers waiting for its end, and all that draw would fail."""
    generator = torch.cuda.default_generators[torch.cuda.current_device()]
    generator.graphsafe_set_state(torch.Generator(generator.device).graphsafe_get_state())
