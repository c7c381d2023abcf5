"""Dropout of edge attention by a counter-based hash.

Whether an edge is dropped is a function of (seed of the lane, edge) alone, not of the order in which random numbers are
drawn. So a run can be resumed at any epoch, a graph cut to its receptive field drops the same edges as the whole graph,
runs that train together drop what each would drop alone, and every backend computes the same mask where it needs it.
"""

from __future__ import annotations

from typing import overload

import torch
from torch import Tensor

WORD = 0xFFFFFFFF
SPREAD, ADDED = 0x9E3779B1, 0x7F4A7C15
FIRST_FACTOR, SECOND_FACTOR = 0x21F0AAAD, 0x735A2D97


@overload
def combine_seed(seed: int, *counters: int) -> int: ...
@overload
def combine_seed(seed: Tensor, *counters: int | Tensor) -> Tensor: ...
def combine_seed(seed: int | Tensor, *counters: int | Tensor) -> int | Tensor:
    """A 32-bit seed from a seed (or several, as int64) and counters such as epoch and layer."""
    word: int | Tensor = seed & WORD
    for counter in (seed >> 32, *counters):
        word = mix(word ^ ((counter * SPREAD + ADDED) & WORD))
    return word


def lane_seeds(seed: Tensor, heads: int) -> Tensor:
    """[.., replicas] -> [.., replicas * heads]: what the kernels take, one word per lane."""
    head = torch.arange(heads, device=seed.device)
    return mix(combine_seed(seed.unsqueeze(-1), head)).flatten(-2)


def threshold(probability: float) -> int:
    """An edge is dropped where its word is below."""
    return int(probability * 2**32)


def dropout_scale(edge: Tensor, seed: Tensor, probability: float, dtype: torch.dtype = torch.float32) -> Tensor:
    """[E] edge ids, [L] ``lane_seeds`` -> [E, L] 0 where dropped, 1 / (1 - probability) where kept."""
    edge = edge.long()
    word = mix((edge & WORD).unsqueeze(-1) * SPREAD & WORD ^ seed)
    word = mix(word ^ (edge >> 32).unsqueeze(-1) ^ seed)
    return (word >= threshold(probability)).to(dtype) * (1.0 / (1.0 - probability))


@overload
def mix(word: int) -> int: ...
@overload
def mix(word: Tensor) -> Tensor: ...
def mix(word: int | Tensor) -> int | Tensor:
    """A bijection of 32-bit words (held in int64) whose output bits depend on all input bits."""
    word = ((word ^ (word >> 16)) * FIRST_FACTOR) & WORD
    word = ((word ^ (word >> 15)) * SECOND_FACTOR) & WORD
    return word ^ (word >> 15)
