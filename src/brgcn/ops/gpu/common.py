# mypy: ignore-errors
"""What the kernels share: block sizes, number types, the dropout hash, matrix products."""

from __future__ import annotations

import contextlib
from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from brgcn.ops.dropout import FIRST_FACTOR, SECOND_FACTOR, SPREAD, threshold

_SPREAD = tl.constexpr(SPREAD)
_FIRST = tl.constexpr(FIRST_FACTOR)
_SECOND = tl.constexpr(SECOND_FACTOR)
LOWEST = tl.constexpr(-3.0e38)  # below every score, and finite: differences of it are numbers
_HERE = contextlib.nullcontext()


class Dropping(NamedTuple):
    """Dropout of edges: identities [E] (empty: the edge's place), a seed per lane [L], the probability."""

    edge_id: Tensor
    seed: Tensor
    probability: float

    @property
    def below(self) -> int:
        return threshold(self.probability)

    @property
    def scale(self) -> float:
        return 1.0 / (1.0 - self.probability)


def on_device(tensor: Tensor) -> contextlib.AbstractContextManager[object]:
    """Kernels are launched on the current device: make it the tensor's, at no cost where it is already."""
    if tensor.is_cuda and tensor.device.index != torch.cuda.current_device():
        return torch.cuda.device(tensor.device)
    return _HERE


def sums_in(dtype: torch.dtype) -> tl.dtype:
    """The type in which sums of ``dtype`` are accumulated."""
    return tl.float64 if dtype == torch.float64 else tl.float32


def wide(dtype: torch.dtype) -> torch.dtype:
    """The same for torch."""
    return torch.float64 if dtype == torch.float64 else torch.float32


def power_of_2(n: int) -> int:
    """The smallest that is not below n."""
    return 1 << max(n - 1, 0).bit_length()


def blocks(n: int, size: int) -> int:
    return -(-n // size)


@triton.jit
def _mix(word):
    word = (word ^ (word >> 16)) * _FIRST
    word = (word ^ (word >> 15)) * _SECOND
    return word ^ (word >> 15)


@triton.jit
def kept(edge, seed, BELOW: tl.constexpr):
    """Whether edges survive dropout: ``dropout_scale`` of ops/dropout.py in 32-bit words."""
    edge = edge.to(tl.int64)
    word = _mix((edge.to(tl.uint32) * _SPREAD) ^ seed)
    word = _mix(word ^ (edge >> 32).to(tl.uint32) ^ seed)
    return word >= BELOW


@triton.jit
def product(a, b, DEPTH: tl.constexpr):
    """a [M, DEPTH] @ b [DEPTH, N] in float32 or float64; the float32 product is exact to about float32."""
    if a.dtype == tl.float64:
        # a plain loop: float64 is for tests, and not every Triton multiplies it on tensor cores
        out = tl.zeros([a.shape[0], b.shape[1]], tl.float64)
        depth = tl.arange(0, DEPTH)
        for k in range(0, DEPTH):
            column = tl.sum(tl.where(depth[None, :] == k, a, 0.0), 1)
            row = tl.sum(tl.where(depth[:, None] == k, b, 0.0), 0)
            out += column[:, None] * row[None, :]
    elif a.dtype == tl.float32:
        out = tl.dot(a, b, input_precision="tf32x3")
    else:
        out = tl.dot(a, b)
    return out
