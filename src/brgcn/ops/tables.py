"""Index tables that the operators read: who belongs to whom, from both sides.

A fused forward pass walks over targets, its backward pass over sources; with both orders at hand every gradient is
written by one owner, without sorting and without atomics. Tables hold int32 wherever the numbers fit: indices are a
good part of what a memory-bound operator reads.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from brgcn.graph import RelationalGraph, ptr_from_counts, ragged_range

# A segment with more entries than this is summed in chunks of at least this size, so that a hub does not keep one
# program busy while all others wait.
CHUNK = 32
_INT32_MAX = torch.iinfo(torch.int32).max


class Chunks(NamedTuple):
    """Segments cut into pieces: piece q holds the entries begin[q] .. end[q] of segment segment[q]."""

    segment: Tensor  # [Q]
    begin: Tensor  # [Q]
    end: Tensor  # [Q]
    whole: Tensor  # [S'] the segments that were cut
    ptr: Tensor  # [S' + 1] first piece of each of them


class Grouping(NamedTuple):
    """K entries grouped into S segments: segment s holds the entries entry[ptr[s]] .. entry[ptr[s + 1] - 1]."""

    ptr: Tensor  # [S + 1]
    entry: Tensor  # [K]; empty where the entries are in order already
    long: Chunks  # the segments with more than CHUNK entries

    @property
    def num_segments(self) -> int:
        return self.ptr.numel() - 1

    def tensors(self) -> list[Tensor]:
        """As an operator takes it: ptr, entry, then the fields of ``long``."""
        return [self.ptr, self.entry, *self.long]


class EdgeRows(NamedTuple):
    """The row that each edge brings, and the edges that bring each row."""

    row: Tensor  # [E]
    by_row: Grouping


class TypedRows(NamedTuple):
    """Items that each combine a row with a relation: the pairs (target, relation), or the (relation, source)."""

    row: Tensor  # [M]
    relation: Tensor  # [M]
    by_row: Grouping
    by_relation: Grouping


def narrow(index: Tensor, limit: int) -> Tensor:
    """As int32 where numbers up to ``limit`` fit."""
    return index.to(torch.int32 if limit <= _INT32_MAX else torch.int64)


def group(segment: Tensor, num_segments: int) -> Grouping:
    """The entries 0..K-1 by their ``segment`` [K]."""
    count = torch.bincount(segment, minlength=num_segments)
    in_order = bool((segment[1:] >= segment[:-1]).all())
    entry = segment.new_empty(0) if in_order else torch.argsort(segment, stable=True)
    return grouping(ptr_from_counts(count), entry)


def grouping(ptr: Tensor, entry: Tensor) -> Grouping:
    size = int(ptr[-1])
    count = ptr[1:] - ptr[:-1]
    whole = (count > CHUNK).nonzero().squeeze(1)
    # about as many chunks as entries in a chunk, since the chunks' sums are added up in turn
    root = count[whole].double().sqrt().ceil().long()
    return Grouping(narrow(ptr, size), narrow(entry, size), cut(ptr, whole, root.clamp(min=CHUNK)))


def cut(ptr: Tensor, whole: Tensor, size: Tensor) -> Chunks:
    """Cut each of the segments ``whole`` into pieces of at most ``size`` entries, a number for each."""
    first, last = ptr[whole].long(), ptr[whole + 1].long()
    pieces = (last - first + size - 1) // size
    of_whole = torch.repeat_interleave(torch.arange(whole.numel(), device=ptr.device), pieces)
    begin = first[of_whole] + ragged_range(torch.zeros_like(pieces), pieces) * size[of_whole]
    end = torch.minimum(begin + size[of_whole], last[of_whole])
    limit = int(ptr[-1])
    chunks = (whole[of_whole], begin, end, whole, ptr_from_counts(pieces))
    return Chunks(*(narrow(part, max(limit, ptr.numel())) for part in chunks))


def edge_rows(row: Tensor, num_rows: int) -> EdgeRows:
    return EdgeRows(narrow(row, num_rows), group(row, num_rows))


def typed_rows(row: Tensor, relation: Tensor, num_rows: int, num_relations: int) -> TypedRows:
    return TypedRows(
        narrow(row, num_rows), narrow(relation, num_relations), group(row, num_rows), group(relation, num_relations)
    )


# ---------------------------------------------------------------------- of a graph, built once and kept with it


class Layout(NamedTuple):
    """What the operators read of the graph itself."""

    pairs: Grouping  # edges of each pair
    edge_pair: Tensor  # [E]
    nodes: Grouping  # pairs of each target node
    edge_id: Tensor  # [E] identity of each edge, for dropout; empty where it is its place


def layout(graph: RelationalGraph) -> Layout:
    return graph.derived("layout", _layout)


def pair_rows(graph: RelationalGraph) -> TypedRows:
    """The pairs as items: target node and relation."""
    return graph.derived("pair_rows", _pair_rows)


def source_rows(graph: RelationalGraph) -> tuple[TypedRows, EdgeRows]:
    """The occurring (relation, source) as items, by relation then source, and the one of each edge."""
    return graph.derived("source_rows", _source_rows)


def edge_sources(graph: RelationalGraph) -> EdgeRows:
    """The source node of each edge."""
    return graph.derived("edge_sources", lambda g: edge_rows(g.edge_source, g.num_nodes))


def _layout(graph: RelationalGraph) -> Layout:
    none = graph.edge_source.new_empty(0)
    origin = graph.origin
    edge_id = none
    if origin is not None:
        edge_id = narrow(origin.edge, int(origin.edge.max()) if origin.edge.numel() else 0)
    return Layout(
        pairs=grouping(graph.pair_ptr, none),
        edge_pair=narrow(graph.edge_pair, graph.num_pairs),
        nodes=grouping(graph.node_ptr, none),
        edge_id=edge_id,
    )


def _pair_rows(graph: RelationalGraph) -> TypedRows:
    return typed_rows(graph.pair_node, graph.pair_relation, graph.num_nodes, graph.num_relations)


def _source_rows(graph: RelationalGraph) -> tuple[TypedRows, EdgeRows]:
    key, of_edge = torch.unique(graph.edge_type * graph.num_nodes + graph.edge_source, return_inverse=True)
    relation = torch.div(key, graph.num_nodes, rounding_mode="floor")
    items = typed_rows(key % graph.num_nodes, relation, graph.num_nodes, graph.num_relations)
    return items, edge_rows(of_edge, key.numel())
