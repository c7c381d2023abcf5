"""What moves the parameters of a link predictor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from brgcn.nn.link_model import LinkModel
from brgcn.ops import backend_for
from brgcn.ops.registered import fused_module
from brgcn.tasks.link_settings import LinkSettings


def link_optimizer(model: LinkModel, settings: LinkSettings, device: torch.device) -> torch.optim.Optimizer:
    rate = settings.encoder_learning_rate or settings.learning_rate
    tables: dict[str, Any] = {"params": [model.entity, model.relation]}
    groups = [tables, {"params": list(model.layers.parameters()), "lr": rate}]
    if settings.optimizer == "adam":
        on_cuda = device.type == "cuda"  # where steps may be recorded
        return torch.optim.Adam(groups, lr=settings.learning_rate, fused=True, capturable=on_cuda)
    return Adagrad(groups, lr=settings.learning_rate)


class Adagrad(torch.optim.Adagrad):
    """torch's, with the same state, in one pass over a table (on the CPU: over the rows of it that have a gradient).
    Fused steps are not counted in the state, which would matter for a decaying rate alone, and can be recorded as a
    CUDA graph."""

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
        for parameter, rate, epsilon in found:
            fused, total = fused_module(backend_for(parameter), "adagrad"), self.state[parameter]["sum"]
            fused.adagrad_(parameter, total, parameter.grad, rate, epsilon)
            for changed in (parameter, total):  # whoever still needs the old values is told
                torch.autograd.graph.increment_version(changed)
        return None


def _can_be_fused(parameter: Tensor) -> bool:
    gradient, backend = parameter.grad, backend_for(parameter)
    assert gradient is not None
    return parameter.is_contiguous() and (backend == "numba" or (backend == "triton" and not gradient.is_sparse))
