"""Which version of the operators computes: plain torch, fused on the CPU (numba), or fused on CUDA (Triton).

Chosen by the device, or forced: by ``use_backend("torch")`` around some code, or by the environment variable
``BRGCN_BACKEND``.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
from collections.abc import Iterator

import torch
from torch import Tensor

from brgcn.errors import SettingsError

BACKENDS = ("torch", "numba", "triton")
_INSTALLED = {name: importlib.util.find_spec(name) is not None for name in BACKENDS}
_forced: str | None = None


@contextlib.contextmanager
def use_backend(name: str | None) -> Iterator[None]:
    """Compute with this backend inside; None: choose by device."""
    global _forced
    before, _forced = _forced, _checked(name, "backend") if name is not None else None
    try:
        yield
    finally:
        _forced = before


def backend_for(tensor: Tensor) -> str:
    """The backend that computes on ``tensor``'s device."""
    name = _forced or _from_environment()
    if name is None:
        fused = "triton" if tensor.is_cuda else "numba" if tensor.device.type == "cpu" else "torch"
        return fused if installed(fused) and _supported(tensor) else "torch"
    if name == "numba" and tensor.device.type != "cpu":
        raise SettingsError("the backend numba computes on the CPU only", remedy="Use --device cpu, or triton.")
    if name == "triton" and not tensor.is_cuda and not os.environ.get("TRITON_INTERPRET"):
        raise SettingsError("the backend triton computes on CUDA only", remedy="Use --device cuda, or numba.")
    if not installed(name):
        raise SettingsError(f"the backend {name} is not installed", remedy=f"pip install {name}")
    return name if _supported(tensor) else "torch"


def fused_threads(count: int) -> contextlib.AbstractContextManager[None]:
    """The fused operators of the CPU compute on ``count`` threads inside, whatever torch does."""
    from brgcn.ops.cpu.parallel import kernel_threads

    return kernel_threads(count)


def installed(name: str) -> bool:
    return _INSTALLED[name]


def _supported(tensor: Tensor) -> bool:
    return tensor.dtype in (torch.float32, torch.float64) or (tensor.is_cuda and tensor.dtype == torch.bfloat16)


def _from_environment() -> str | None:
    name = os.environ.get("BRGCN_BACKEND", "auto")
    return None if name in ("auto", "") else _checked(name, "BRGCN_BACKEND")


def _checked(name: str, what: str) -> str:
    if name not in BACKENDS:
        raise SettingsError(f"{what} must be one of {', '.join(BACKENDS)}, not {name!r}")
    return name
