# mypy: ignore-errors
"""Maps of pairs by narrow blocks on the CPU: rows are read and written where they are, relation by relation, so that a
block's matrix stays in the cache."""

from __future__ import annotations

import numpy as np
import torch
from numba import prange
from torch import Tensor

from brgcn.ops.cpu.parallel import array, compiled, over_rows, over_segments, parallel_compiled
from brgcn.ops.cpu.vector import add, load, store, width_of, zero

TOGETHER = 64  # pairs of a relation that are taken block by block


def typed_blocks(z: Tensor, weight: Tensor, tables: list[Tensor]) -> Tensor:
    z, weight = z.contiguous(), weight.contiguous()
    _, lanes, maps, blocks, ins, outs = weight.shape
    out = z.new_empty(z.size(0), lanes, maps * blocks * outs)
    entry, relation = array(tables[1]), array(tables[2])
    over_rows(
        _forward,
        z.size(0),
        *(array(t).reshape(-1) for t in (z, weight)),
        entry,
        relation,
        (lanes, maps, blocks, ins, outs),
        width_of(outs),
        array(out).reshape(-1),
        work=out.numel(),
    )
    return out


def typed_blocks_backward(grad: Tensor, z: Tensor, weight: Tensor, tables: list[Tensor]) -> tuple[Tensor, Tensor]:
    z = z.contiguous()
    _, lanes, maps, blocks, ins, outs = shape = weight.shape
    ptr, entry, relation = (array(table) for table in tables)
    by_z, by_weight = torch.empty_like(z), z.new_zeros(shape)
    # a slope of z is the sum over the maps of slopes times transposed blocks: one map of all of them laid end to end
    back = weight.transpose(-1, -2).contiguous()  # [R, L, M, B, out, in]
    over_rows(
        _backward,
        z.size(0),
        *(array(t).reshape(-1) for t in (grad, back)),
        entry,
        relation,
        (lanes, maps, blocks, ins, outs),
        width_of(ins),
        array(by_z).reshape(-1),
        work=grad.numel(),
    )
    # one owner for each relation, lane and block
    sizes = np.repeat(np.diff(ptr), lanes * blocks)
    over_segments(
        _outer,
        np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]),
        *(array(t).reshape(-1) for t in (grad, z)),
        ptr,
        entry,
        (lanes, maps, blocks, ins, outs),
        width_of(outs),
        array(by_weight).reshape(-1),
    )
    return by_z, by_weight


@compiled
def _last_alike(begin, end, entry, relation):
    """Where the pairs of one relation end that are taken together from ``begin`` on."""
    first = relation[entry[begin] if len(entry) else begin]
    last = min(end, begin + TOGETHER)
    place = begin + 1
    while place < last and relation[entry[place] if len(entry) else place] == first:
        place += 1
    return np.int64(first), place


@compiled
def _pairs_at(place, end, entry):
    """Four pairs from ``place`` on, the last of them again where there are no more: four sums do not wait for each
    other as the terms of one do."""
    a, b, c, d = place, min(place + 1, end - 1), min(place + 2, end - 1), min(place + 3, end - 1)
    if len(entry):
        return np.int64(entry[a]), np.int64(entry[b]), np.int64(entry[c]), np.int64(entry[d])
    return np.int64(a), np.int64(b), np.int64(c), np.int64(d)


@parallel_compiled
def _forward(bounds, z, weight, entry, relation, shape, w, out):
    lanes, maps, blocks, ins, outs = shape
    in_row, out_row = lanes * blocks * ins, lanes * maps * blocks * outs
    for task in prange(len(bounds) - 1):
        begin = bounds[task]
        while begin < bounds[task + 1]:
            kind, end = _last_alike(begin, bounds[task + 1], entry, relation)
            for number in range(lanes * maps * blocks):
                lane, block = number // (maps * blocks), number % blocks
                matrix = (kind * lanes * maps * blocks + number) * ins * outs
                here, there = (lane * blocks + block) * ins, number * outs
                for place in range(begin, end, 4):
                    a, b, c, d = _pairs_at(place, end, entry)
                    from_a, from_b, from_c, from_d = (
                        a * in_row + here,
                        b * in_row + here,
                        c * in_row + here,
                        d * in_row + here,
                    )
                    for part in range(0, outs, len(w)):
                        of_a = of_b = of_c = of_d = zero(z, w)
                        for i in range(ins):
                            line = load(weight, matrix + i * outs + part, w)
                            of_a = add(of_a, z[from_a + i], line)
                            of_b = add(of_b, z[from_b + i], line)
                            of_c = add(of_c, z[from_c + i], line)
                            of_d = add(of_d, z[from_d + i], line)
                        to = there + part
                        store(out, a * out_row + to, of_a)
                        store(out, b * out_row + to, of_b)
                        store(out, c * out_row + to, of_c)
                        store(out, d * out_row + to, of_d)
            begin = end


@parallel_compiled
def _backward(bounds, grad, back, entry, relation, shape, w, out):
    lanes, maps, blocks, ins, outs = shape
    in_row, out_row = lanes * blocks * ins, lanes * maps * blocks * outs
    for task in prange(len(bounds) - 1):
        begin = bounds[task]
        while begin < bounds[task + 1]:
            kind, end = _last_alike(begin, bounds[task + 1], entry, relation)
            for number in range(lanes * blocks):
                lane, block = number // blocks, number % blocks
                first = lane * maps * blocks + block
                for place in range(begin, end, 4):
                    a, b, c, d = _pairs_at(place, end, entry)
                    for part in range(0, ins, len(w)):
                        of_a = of_b = of_c = of_d = zero(grad, w)
                        for m in range(maps):
                            there = (first + m * blocks) * outs
                            matrix = (kind * lanes * maps * blocks + first + m * blocks) * ins * outs + part
                            for o in range(outs):
                                line = load(back, matrix + o * ins, w)
                                of_a = add(of_a, grad[a * out_row + there + o], line)
                                of_b = add(of_b, grad[b * out_row + there + o], line)
                                of_c = add(of_c, grad[c * out_row + there + o], line)
                                of_d = add(of_d, grad[d * out_row + there + o], line)
                        to = number * ins + part
                        store(out, a * in_row + to, of_a)
                        store(out, b * in_row + to, of_b)
                        store(out, c * in_row + to, of_c)
                        store(out, d * in_row + to, of_d)
            begin = end


@parallel_compiled
def _outer(bounds, grad, z, ptr, entry, shape, w, out):
    """A segment is a relation, a lane and a block: its slope is the sum of products over the relation's pairs."""
    lanes, maps, blocks, ins, outs = shape
    in_row, out_row = lanes * blocks * ins, lanes * maps * blocks * outs
    for task in prange(len(bounds) - 1):
        for segment in range(bounds[task], bounds[task + 1]):
            kind, number = segment // (lanes * blocks), segment % (lanes * blocks)
            lane, block = number // blocks, number % blocks
            for begin in range(ptr[kind], ptr[kind + 1], TOGETHER):
                end = min(begin + TOGETHER, ptr[kind + 1])
                for m in range(maps):
                    of_block = lane * maps * blocks + m * blocks + block
                    matrix = (kind * lanes * maps * blocks + of_block) * ins * outs
                    for part in range(0, outs, len(w)):
                        for i in range(0, ins, 4):
                            a, b, c, d = i, min(i + 1, ins - 1), min(i + 2, ins - 1), min(i + 3, ins - 1)
                            to = matrix + part
                            of_a, of_b = load(out, to + a * outs, w), load(out, to + b * outs, w)
                            of_c, of_d = load(out, to + c * outs, w), load(out, to + d * outs, w)
                            for place in range(begin, end):
                                pair = np.int64(entry[place]) if len(entry) else np.int64(place)
                                row = pair * in_row + number * ins
                                line = load(grad, pair * out_row + of_block * outs + part, w)
                                of_a = add(of_a, z[row + a], line)
                                of_b = add(of_b, z[row + b], line)
                                of_c = add(of_c, z[row + c], line)
                                of_d = add(of_d, z[row + d], line)
                            store(out, to + a * outs, of_a)
                            store(out, to + b * outs, of_b)
                            store(out, to + c * outs, of_c)
                            store(out, to + d * outs, of_d)
