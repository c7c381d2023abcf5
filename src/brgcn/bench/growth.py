"""How time and memory of one layer grow: with edges at a fixed mean degree, with relations, with the width."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch

from brgcn.bench.apart import row_of
from brgcn.bench.contender import Contender
from brgcn.bench.rows import Bench, Row, layer_row
from brgcn.bench.task import LayerTask
from brgcn.graph import RelationalGraph

Series = Mapping[str, Sequence["Point"]]  # by the letter of what varies
NOT_TRIED = " at a smaller size, not tried here"
DEGREE = 8  # edges that end in a node, on average


class Point(NamedTuple):
    """A random graph, and the width of a layer on it."""

    edges: int
    relations: int
    width: int
    nodes: int | None = None  # None: as many as give the usual degree


@dataclass(frozen=True)
class Sizes:
    """The series, and where the other two quantities stand meanwhile."""

    edges: tuple[int, ...]
    relations: tuple[int, ...] = (10, 32, 100, 316, 1000)
    widths: tuple[int, ...] = (16, 32, 64, 128)
    fixed_edges: int = 1_000_000
    fixed_relations: int = 100
    fixed_width: int = 64

    def series(self) -> Series:
        return {
            "E": [Point(edges, self.fixed_relations, self.fixed_width) for edges in self.edges],
            "R": [Point(self.fixed_edges, relations, self.fixed_width) for relations in self.relations],
            "d": [Point(self.fixed_edges, self.fixed_relations, width) for width in self.widths],
        }


SIZES = {
    "cuda": Sizes(edges=(100_000, 316_000, 1_000_000, 3_160_000, 10_000_000)),
    "cpu": Sizes(edges=(10_000, 31_600, 100_000, 316_000), fixed_edges=100_000),
}
QUICK_SIZES = Sizes(
    edges=(500, 1000), relations=(5, 10), widths=(4, 8), fixed_edges=500, fixed_relations=5, fixed_width=8
)


def random_graph(edges: int, relations: int, nodes: int | None = None, seed: int = 0) -> RelationalGraph:
    """Uniform ends; relation r has a share of the edges in proportion to 1 / (r + 1), as in real graphs few relations
    hold most edges."""
    random = torch.Generator().manual_seed(seed)
    nodes = max(1, edges // DEGREE) if nodes is None else nodes
    share = 1 / torch.arange(1, relations + 1, dtype=torch.float64)
    edge_type = torch.multinomial(share, edges, replacement=True, generator=random)
    return RelationalGraph.from_edges(torch.randint(nodes, (2, edges), generator=random), edge_type, nodes, relations)


def growth_rows(contenders: Sequence[Contender], series: Series, bench: Bench) -> list[Row]:
    """Forward and backward. A contender that has failed at one size is not tried at a larger one: its row says so."""
    rows: list[Row] = []
    for varies, points in series.items():
        failed: dict[str, str] = {}
        for point in points:
            graph = random_graph(point.edges, point.relations, point.nodes)
            for contender in contenders:
                name = f"{contender.library} {contender.name}"
                task = LayerTask(graph, point.width, True, bench.device)
                row = {"varies": varies, **row_of(layer_row, contender, task, "random", failed.get(name), bench=bench)}
                if "error" in row:
                    failed[name] = row["error"].removesuffix(NOT_TRIED) + NOT_TRIED
                rows.append(row)
    return rows
