# mypy: ignore-errors
"""Reading and writing tiles of rows [.., L, C]: one lane, some columns."""

from __future__ import annotations

import triton
import triton.language as tl

LOWEST = tl.constexpr(-3.0e38)  # below every score, and finite: differences of it are numbers


@triton.jit
def load_part(projected, pair, exists, lane, part: tl.constexpr, column, L: tl.constexpr, C: tl.constexpr):
    """[N, W] of the query (part 0), key (1) or value (2) of pairs [N] in rows of 3 * C."""
    place = (pair.to(tl.int64) * L + lane)[:, None] * (3 * C) + (part * C + column)[None, :]
    return tl.load(projected + place, mask=exists[:, None] & (column < C)[None, :], other=0.0)


@triton.jit
def load_rows(rows, row, exists, lane, column, L: tl.constexpr, C: tl.constexpr):
    """[N, W] of rows [N]."""
    place = (row.to(tl.int64) * L + lane)[:, None] * C + column[None, :]
    return tl.load(rows + place, mask=exists[:, None] & (column < C)[None, :], other=0.0)


@triton.jit
def store_rows(rows, values, row, exists, lane, column, L: tl.constexpr, C: tl.constexpr, STRIDE: tl.constexpr):
    """Write C columns of rows that are STRIDE apart."""
    place = (row.to(tl.int64) * L + lane)[:, None] * STRIDE + column[None, :]
    tl.store(rows + place, values.to(rows.dtype.element_ty), mask=exists[:, None] & (column < C)[None, :])


@triton.jit
def is_lonely(node_ptr, node, is_node):
    """Which of the nodes [N] have no pairs."""
    count = tl.load(node_ptr + node + 1, mask=is_node, other=1) - tl.load(node_ptr + node, mask=is_node, other=0)
    return is_node & (count == 0)
