"""Mixed precision: under autocast features are held in the lower precision; scores and softmax stay in float32."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
from torch import Tensor


def autocast_features(features: Tensor) -> Tensor:
    """In autocast's dtype where it is on, unchanged elsewhere."""
    kind = features.device.type
    if not torch.is_autocast_enabled(kind) or features.dtype == torch.float64:
        return features
    return features.to(torch.get_autocast_dtype(kind))


@contextlib.contextmanager
def training_precision(name: str, device: torch.device) -> Iterator[None]:
    """Of matrix products on a GPU; elsewhere float32."""
    if device.type != "cuda" or name == "float32":
        yield
        return
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        with torch.autocast("cuda", torch.bfloat16, enabled=name == "bfloat16"):
            yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
