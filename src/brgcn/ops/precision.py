"""Mixed precision: under autocast features are held in the lower precision; scores and softmax stay in float32.

On a CPU only the products of many queries with all candidates are worth it, and only where the CPU has instructions for
bfloat16; everything else there is limited by memory, or has kernels for float32 alone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

import torch
from torch import Tensor


def autocast_features(features: Tensor) -> Tensor:
    """In autocast's dtype where it is on, unchanged elsewhere."""
    kind = features.device.type
    if not torch.is_autocast_enabled(kind) or features.dtype == torch.float64:
        return features
    return features.to(torch.get_autocast_dtype(kind))


_narrow_products = ContextVar("narrow_products", default=False)  # on the CPU; each thread has its own


def product_features(features: Tensor) -> Tensor:
    """In the precision of products of many queries with all candidates."""
    if _narrow_products.get() and features.device.type == "cpu" and features.dtype == torch.float32:
        return features.bfloat16()
    return autocast_features(features)


def cpu_has_bfloat16() -> bool:
    """Instructions for products in bfloat16, without which they are slower than in float32."""
    asked = (getattr(torch.cpu, f"_is_{name}_supported", None) for name in ("avx512_bf16", "amx_tile"))
    return any(ask is not None and ask() for ask in asked)


@contextlib.contextmanager
def training_precision(name: str, device: torch.device) -> Iterator[None]:
    """Of matrix products on ``device``; what it cannot do fast is done in float32."""
    if device.type == "cpu" and name == "bfloat16" and cpu_has_bfloat16():
        outside = _narrow_products.set(True)
        try:
            yield
        finally:
            _narrow_products.reset(outside)
        return
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
