"""Adagrad that reads and writes its tables once per step where a fused version is there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from brgcn.ops import backend_for


class Adagrad(torch.optim.Adagrad):
    """torch's, with the same state. Tables of vectors are large and a step is short: on CUDA torch's own passes over
    them, eleven in all, take longer than the rest of a step. The fused steps are not counted in the state, which would
    matter for a decaying rate alone, and can be recorded as a CUDA graph."""

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> Any:
        found = [
            (parameter, group["lr"], group["eps"])
            for group in self.param_groups
            for parameter in group["params"]
            if parameter.grad is not None
        ]
        if closure is not None or not all(_can_be_fused(parameter) for parameter, _, _ in found):
            return super().step(closure)
        from brgcn.ops.gpu.adagrad import adagrad_

        for parameter, rate, epsilon in found:
            adagrad_(parameter, self.state[parameter]["sum"], parameter.grad, rate, epsilon)
        return None


def _can_be_fused(parameter: Tensor) -> bool:
    gradient = parameter.grad
    assert gradient is not None
    return backend_for(parameter) == "triton" and not gradient.is_sparse and parameter.is_contiguous()
