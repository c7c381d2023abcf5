# mypy: ignore-errors
"""Mixing rows from bases on the CPU."""

from __future__ import annotations

import numpy as np
import torch
from numba import prange
from torch import Tensor

from brgcn.ops.cpu.parallel import array, over_rows, over_segments, parallel_compiled
from brgcn.ops.cpu.vector import add, dot, load, store, width_of, zero

PIECE = 2048  # items over which one piece of the coefficients' gradient is summed: the same for any number of threads


def mix_rows(basis: Tensor, coefficients: Tensor, tables: list[Tensor]) -> Tensor:
    basis, coefficients = basis.contiguous(), coefficients.contiguous()
    row, relation = array(tables[0]), array(tables[1])
    channels, projections = basis.size(3), coefficients.size(3)
    out = basis.new_empty(len(row), basis.size(1), projections * channels)
    over_rows(
        _forward,
        len(row),
        row,
        relation,
        array(basis).reshape(-1),
        array(coefficients),
        channels,
        width_of(channels),
        array(out).reshape(-1),
    )
    return out


def mix_rows_backward(grad: Tensor, basis: Tensor, coefficients: Tensor, tables: list[Tensor]) -> tuple[Tensor, Tensor]:
    basis, coefficients = basis.contiguous(), coefficients.contiguous()
    row, relation = array(tables[0]), array(tables[1])
    channels = basis.size(3)
    grad_basis = torch.empty_like(basis)
    flat_grad = array(grad).reshape(-1)
    ptr = array(tables[2])
    over_segments(
        _basis,
        ptr,
        ptr,
        array(tables[3]),
        relation,
        array(coefficients),
        channels,
        width_of(channels),
        flat_grad,
        array(grad_basis).reshape(-1),
    )
    by_relation, entry = array(tables[9]), array(tables[10])
    piece_relation, piece_begin, piece_end = _pieces(by_relation)
    sums = grad.new_empty(len(piece_relation), *coefficients.shape[1:])
    over_rows(
        _coefficients,
        len(piece_relation),
        piece_begin,
        piece_end,
        entry,
        row,
        array(basis).reshape(-1),
        channels,
        width_of(channels),
        flat_grad,
        array(sums),
        work=len(row),
    )
    grad_coefficients = torch.zeros_like(coefficients).index_add(0, torch.from_numpy(piece_relation), sums)
    return grad_basis, grad_coefficients


def _pieces(ptr: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Relation, first and last item of each piece."""
    size = ptr[1:] - ptr[:-1]
    count = (size + PIECE - 1) // PIECE
    relation = np.repeat(np.arange(len(size)), count)
    number = np.arange(len(relation)) - np.repeat(np.cumsum(count) - count, count)
    begin = ptr[relation] + number * PIECE
    return relation, begin, np.minimum(begin + PIECE, ptr[relation + 1])


@parallel_compiled
def _forward(bounds, row, relation, basis, coefficients, channels, w, out):
    _, lanes, bases, projections = coefficients.shape
    for task in prange(len(bounds) - 1):
        for item in range(bounds[task], bounds[task + 1]):
            node, r = np.int64(row[item]), np.int64(relation[item])
            for lane in range(lanes):
                there = (node * lanes + lane) * bases * channels
                for k in range(projections):
                    here = ((item * lanes + lane) * projections + k) * channels
                    for part in range(0, channels, len(w)):
                        total = zero(basis, w)
                        for b in range(bases):
                            total = add(total, coefficients[r, lane, b, k], load(basis, there + b * channels + part, w))
                        store(out, here + part, total)


@parallel_compiled
def _basis(bounds, ptr, entry, relation, coefficients, channels, w, grad, grad_basis):
    _, lanes, bases, projections = coefficients.shape
    for task in prange(len(bounds) - 1):
        for node in range(bounds[task], bounds[task + 1]):
            for lane in range(lanes):
                for b in range(bases):
                    here = ((node * lanes + lane) * bases + b) * channels
                    for part in range(0, channels, len(w)):
                        total = zero(grad, w)
                        for i in range(ptr[node], ptr[node + 1]):
                            item = np.int64(entry[i]) if len(entry) else np.int64(i)
                            r = np.int64(relation[item])
                            there = (item * lanes + lane) * projections * channels + part
                            for k in range(projections):
                                total = add(total, coefficients[r, lane, b, k], load(grad, there + k * channels, w))
                        store(grad_basis, here + part, total)


@parallel_compiled
def _coefficients(bounds, piece_begin, piece_end, entry, row, basis, channels, w, grad, sums):
    _, lanes, bases, projections = sums.shape
    for task in prange(len(bounds) - 1):
        for piece in range(bounds[task], bounds[task + 1]):
            sums[piece] = 0
            for i in range(piece_begin[piece], piece_end[piece]):
                item = np.int64(entry[i]) if len(entry) else np.int64(i)
                node = np.int64(row[item])
                for lane in range(lanes):
                    there = (item * lanes + lane) * projections * channels
                    for k in range(projections):
                        for part in range(0, channels, len(w)):
                            g = load(grad, there + k * channels + part, w)
                            for b in range(bases):
                                here = ((node * lanes + lane) * bases + b) * channels + part
                                sums[piece, lane, b, k] += dot(load(basis, here, w), g)
