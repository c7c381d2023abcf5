# mypy: ignore-errors
"""Weighted sums of rows over ragged segments, the kernel behind most of the others.

Segments are short on average (below two entries) with a long tail. Short ones share a program, which takes several
entries of each at a time so that their loads overlap. Segments with more than CHUNK entries are skipped there: their
chunks are summed side by side, and the sums of the chunks once more.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from brgcn.ops.gpu.common import Dropping, blocks, kept, on_device, power_of_2, sums_in, wide
from brgcn.ops.tables import CHUNK

LONG = tl.constexpr(CHUNK)
ELEMENTS = 512  # of the tile of a program over short segments
LONG_ELEMENTS = 1024  # of the tile of a program over one chunk
MAX_WIDTH = 256  # columns of a tile
MAX_SEGMENTS = 128
LANE_WIDTH = 32  # from this many channels on, lanes are separate programs even without dropout


@triton.jit
def _terms(
    features, weight, index, entry, edge_id, seed, place, here, lane, column, within,
    L: tl.constexpr, C: tl.constexpr, PER_LANE: tl.constexpr,
    WEIGHTED: tl.constexpr, INDEXED: tl.constexpr, ENTRIES: tl.constexpr, IDS: tl.constexpr, BELOW: tl.constexpr,
    SCALE: tl.constexpr, ACC: tl.constexpr,
):  # fmt: skip
    """[K, W] weight * feature of the entries at the places [K] that are ``here``; columns [W] count over all lanes.

    Other places must exist, too: indices are read without a mask. (Triton 3.6 fails to compile some of the masks that
    depend on masked loads.)
    """
    if ENTRIES:
        k = tl.load(entry + place).to(tl.int64)
    else:
        k = place.to(tl.int64)
    if INDEXED:
        row = tl.load(index + k).to(tl.int64)
    else:
        row = k
    if BELOW > 0:  # implies PER_LANE; the rows of dropped edges are not read
        if IDS:
            edge = tl.load(edge_id + k)
        else:
            edge = k
        here = here & kept(edge, tl.load(seed + lane).to(tl.uint32), BELOW)
    mask = here[:, None] & within[None, :]
    term = tl.load(features + row[:, None] * (L * C) + column[None, :], mask=mask, other=0.0).to(ACC)
    if WEIGHTED:
        if PER_LANE:
            factor = tl.load(weight + k * L + lane, mask=here, other=0.0).to(ACC)
            if BELOW > 0:
                factor = factor * SCALE
            term = term * factor[:, None]
        else:
            term = term * tl.load(weight + k[:, None] * L + (column // C)[None, :], mask=mask, other=0.0).to(ACC)
    return term


@triton.jit
def _columns(block, C: tl.constexpr, L: tl.constexpr, PER_LANE: tl.constexpr, W: tl.constexpr, PER: tl.constexpr):
    """Lane, columns [W] and which of them exist; block counts through lanes, PER blocks each (or all lanes at once)."""
    lane = block // PER
    column = (block % PER) * W + tl.arange(0, W)
    if PER_LANE:
        within = column < C
        column += lane * C
    else:
        within = column < L * C
    return lane, column, within


@triton.jit
def _short_segments(
    program, out, features, weight, index, entry, edge_id, seed, ptr, num_segments, num_rows,
    L: tl.constexpr, C: tl.constexpr, PER_LANE: tl.constexpr, WEIGHTED: tl.constexpr, INDEXED: tl.constexpr,
    ENTRIES: tl.constexpr, IDS: tl.constexpr, BELOW: tl.constexpr, SCALE: tl.constexpr, ACC: tl.constexpr,
    W: tl.constexpr, PER: tl.constexpr, BLOCKS: tl.constexpr, S: tl.constexpr, UNROLL: tl.constexpr,
):  # fmt: skip
    """Rows of out beyond the segments are set to zero."""
    lane, column, within = _columns(program % BLOCKS, C, L, PER_LANE, W, PER)
    segment = (program // BLOCKS).to(tl.int64) * S + tl.arange(0, S)
    exists = segment < num_segments
    begin = tl.load(ptr + segment, mask=exists, other=0)
    count = tl.load(ptr + segment + 1, mask=exists, other=0) - begin
    short = (segment < num_rows) & (count <= LONG)
    count = tl.where(short, count, 0)
    begin = tl.where(count > 0, begin, 0)
    top = tl.maximum(count - 1, 0)
    total = tl.zeros([S, W], ACC)
    for first in range(0, tl.max(count, 0), UNROLL):
        for step in tl.static_range(UNROLL):
            place = begin + tl.minimum(top, first + step)
            total += _terms(
                features, weight, index, entry, edge_id, seed, place, first + step < count,
                lane, column, within, L, C, PER_LANE, WEIGHTED, INDEXED, ENTRIES, IDS, BELOW, SCALE, ACC,
            )  # fmt: skip
    place = segment[:, None] * (L * C) + column[None, :]
    tl.store(out + place, total.to(out.dtype.element_ty), mask=short[:, None] & within[None, :])


@triton.jit
def _range(
    program, out, features, weight, index, entry, edge_id, seed, begin, end, out_row,
    L: tl.constexpr, C: tl.constexpr, PER_LANE: tl.constexpr, WEIGHTED: tl.constexpr, INDEXED: tl.constexpr,
    ENTRIES: tl.constexpr, IDS: tl.constexpr, BELOW: tl.constexpr, SCALE: tl.constexpr, ACC: tl.constexpr,
    W: tl.constexpr, PER: tl.constexpr, BLOCKS: tl.constexpr, K: tl.constexpr, PLACED: tl.constexpr,
):  # fmt: skip
    """Range q: entries begin[q] .. end[q] - 1 into row out_row[q] (PLACED) or q."""
    lane, column, within = _columns(program % BLOCKS, C, L, PER_LANE, W, PER)
    q = program // BLOCKS
    last = tl.load(end + q)
    total = tl.zeros([K, W], ACC)
    for first in range(tl.load(begin + q), last, K):
        place = first + tl.arange(0, K)
        total += _terms(
            features, weight, index, entry, edge_id, seed, tl.minimum(place, last - 1), place < last,
            lane, column, within, L, C, PER_LANE, WEIGHTED, INDEXED, ENTRIES, IDS, BELOW, SCALE, ACC,
        )  # fmt: skip
    if PLACED:
        row = tl.load(out_row + q).to(tl.int64)
    else:
        row = q.to(tl.int64)
    tl.store(out + row * (L * C) + column, tl.sum(total, 0).to(out.dtype.element_ty), mask=within)


@triton.jit(do_not_specialize=["long_programs"])
def _sum_segments(
    out, partial, long_programs, features, weight, index, entry, edge_id, seed, ptr, num_segments, num_rows, begin, end,
    L: tl.constexpr, C: tl.constexpr, PER_LANE: tl.constexpr, WEIGHTED: tl.constexpr, INDEXED: tl.constexpr,
    ENTRIES: tl.constexpr, IDS: tl.constexpr, BELOW: tl.constexpr, SCALE: tl.constexpr, ACC: tl.constexpr,
    W: tl.constexpr, PER: tl.constexpr, BLOCKS: tl.constexpr, S: tl.constexpr, UNROLL: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """Chunks of long segments into partial, first since they take longest, and short segments into out."""
    program = tl.program_id(0)
    if program < long_programs:
        _range(
            program, partial, features, weight, index, entry, edge_id, seed, begin, end, ptr,
            L, C, PER_LANE, WEIGHTED, INDEXED, ENTRIES, IDS, BELOW, SCALE, ACC, W, PER, BLOCKS, K, False,
        )  # fmt: skip
    else:
        _short_segments(
            program - long_programs, out, features, weight, index, entry, edge_id, seed, ptr, num_segments, num_rows,
            L, C, PER_LANE, WEIGHTED, INDEXED, ENTRIES, IDS, BELOW, SCALE, ACC, W, PER, BLOCKS, S, UNROLL,
        )  # fmt: skip


@triton.jit
def _add_chunks(
    out, partial, begin, whole,
    C: tl.constexpr, ACC: tl.constexpr, W: tl.constexpr, PER: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    _range(
        tl.program_id(0), out, partial, partial, whole, whole, whole, whole, begin, begin + 1, whole,
        1, C, True, False, False, False, False, 0, 1.0, ACC, W, PER, PER, K, True,
    )  # fmt: skip


def weighted_sum(
    features: Tensor,
    grouping: list[Tensor],
    num_rows: int,
    *,
    index: Tensor | None = None,
    weight: Tensor | None = None,
    dropping: Dropping | None = None,
) -> Tensor:
    """out[s] = sum over the entries k of segment s of weight[k] * features[index[k]].

    Args:
        features: [F, L, C].
        grouping: the seven tensors of a Grouping of K entries.
        num_rows: rows of the result; those beyond the segments are zero.
        index: [K]; left out: k itself.
        weight: [K, L]; left out: 1.
        dropping: on top of the weight.
    Returns:
        [num_rows, L, C] in the type of the features.
    """
    ptr, entry, _, begin, end, whole, whole_ptr = grouping
    _, lanes, channels = features.shape
    out = features.new_empty(num_rows, lanes, channels)
    if out.numel() == 0:
        return out
    per_lane = lanes == 1 or channels >= LANE_WIDTH or dropping is not None
    width, per, num_blocks = _width(lanes, channels, per_lane)
    acc = sums_in(features.dtype)
    ids = dropping is not None and dropping.edge_id.numel() > 0
    pointers = (
        features,
        features if weight is None else weight,
        ptr if index is None else index,
        entry,
        dropping.edge_id if dropping is not None and ids else ptr,
        dropping.seed if dropping is not None else ptr,
    )
    below, scale = (0, 1.0) if dropping is None else (dropping.below, dropping.scale)
    flags = (lanes, channels, per_lane, weight is not None, index is not None, entry.numel() > 0, ids, below, scale)
    with on_device(features):
        height = max(1, min(ELEMENTS // width, MAX_SEGMENTS))
        long_height = max(1, min(LONG_ELEMENTS // width, CHUNK))
        long_programs = begin.numel() * num_blocks
        partial = features.new_empty(begin.numel(), lanes, channels, dtype=wide(features.dtype))
        _sum_segments[(long_programs + blocks(num_rows, height) * num_blocks,)](
            out, partial, long_programs, *pointers, ptr, ptr.numel() - 1, num_rows, begin, end, *flags, acc, width, per,
            num_blocks, height, 4, long_height, num_warps=2,
        )  # fmt: skip
        add_chunks(partial, whole, whole_ptr, out)
    return out


def add_chunks(partial: Tensor, whole: Tensor, whole_ptr: Tensor, out: Tensor) -> None:
    """out[whole[i]] = sum of the rows whole_ptr[i] .. whole_ptr[i + 1] - 1 of partial [Q, ..]; out has rows alike."""
    size = out.numel() // max(out.size(0), 1)
    if whole.numel() == 0 or size == 0:
        return
    width, per, num_blocks = _width(1, size, True)
    height = max(1, min(LONG_ELEMENTS // width, 32))
    with on_device(partial):
        _add_chunks[(whole.numel() * num_blocks,)](
            out, partial, whole_ptr, whole, size, sums_in(partial.dtype), width, per, height
        )


def _width(lanes: int, channels: int, per_lane: bool) -> tuple[int, int, int]:
    """Columns of a tile, tiles per lane (or of all lanes together), tiles in all."""
    columns = channels if per_lane else lanes * channels
    width = min(power_of_2(columns), MAX_WIDTH)
    if columns > MAX_WIDTH and columns % width and columns % width <= width // 2:
        width //= 2  # less of the last tile is empty
    per = blocks(columns, width)
    return width, per, per * (lanes if per_lane else 1)
