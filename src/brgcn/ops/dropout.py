"""Dropout of edge attention by a counter-based hash.

Whether an edge is dropped is a function of (seed, lane, edge) alone, not of the order in which random numbers are
drawn. So a run can be resumed at any epoch, a graph cut to its receptive field drops the same edges as the whole graph,
and every backend can compute the same mask where it needs it.
"""

from __future__ import annotations

import torch
from torch import Tensor

_WORD = 0xFFFFFFFF


def combine_seed(seed: int, *counters: int) -> int:
    """One 32-bit seed from a seed and counters such as epoch and layer."""
    word = seed & _WORD
    for counter in (seed >> 32, *counters):
        word = _mix_int(word ^ ((counter * 0x9E3779B1 + 0x7F4A7C15) & _WORD))
    return word


def dropout_scale(
    edge: Tensor, num_lanes: int, probability: float, seed: int, dtype: torch.dtype = torch.float32
) -> Tensor:
    """[E] edge ids -> [E, num_lanes] 0 where dropped, 1 / (1 - probability) where kept."""
    lane = torch.tensor([_mix_int(combine_seed(seed, lane)) for lane in range(num_lanes)], device=edge.device)
    word = _mix((edge & _WORD).unsqueeze(-1) * 0x9E3779B1 & _WORD ^ lane)
    word = _mix(word ^ (edge >> 32).unsqueeze(-1) ^ lane)
    keep = word >= int(probability * 2**32)
    return keep.to(dtype) * (1.0 / (1.0 - probability))


def _mix(word: Tensor) -> Tensor:
    """A bijection of 32-bit words (held in int64) whose output bits depend on all input bits."""
    word = ((word ^ (word >> 16)) * 0x21F0AAAD) & _WORD
    word = ((word ^ (word >> 15)) * 0x735A2D97) & _WORD
    return word ^ (word >> 15)


def _mix_int(word: int) -> int:
    word = ((word ^ (word >> 16)) * 0x21F0AAAD) & _WORD
    word = ((word ^ (word >> 15)) * 0x735A2D97) & _WORD
    return word ^ (word >> 15)
