"""What literals say, as features of the nodes that have them.

As a node of the graph, every number is a stranger to every other. Here the values of each relation are encoded
together: numbers, dates, years and booleans by where they lie among the others of their relation, text by its letters.
A node with several values has the mean of their codes, a node without any has zeros.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from brgcn.data.named_graph import NamedGraph

KNOTS = 8  # places between which a number is interpolated
TEXT_WIDTH = 32  # numbers that the letters of all texts are hashed into
NUMERIC = 0.95  # a relation holds numbers if so many of its values can be read as such
LONGEST = 200  # letters of a text that are looked at
_DATE = re.compile(r"(-?\d{4,})-(\d\d)-(\d\d)")
_TRUTH = {"true": 1.0, "false": 0.0}


@dataclass(frozen=True, eq=False)
class NumberColumns:
    """The values of one relation between ``knots`` [k], ascending: piecewise linear, so that the codes of a value sum
    to one and near values have near codes."""

    relation: int
    knots: Tensor

    @property
    def width(self) -> int:
        return self.knots.numel()

    def encode(self, values: Tensor) -> Tensor:
        """[n] -> [n, k]; values beyond the knots count as the outermost."""
        if self.width == 1:
            return torch.ones(values.numel(), 1)
        inside = values.clamp(self.knots[0], self.knots[-1])
        right = torch.searchsorted(self.knots, inside, right=True).clamp(1, self.width - 1)
        share = (inside - self.knots[right - 1]) / (self.knots[right] - self.knots[right - 1])
        code = torch.zeros(values.numel(), self.width, dtype=torch.double)
        code.scatter_(1, (right - 1).unsqueeze(1), (1 - share).unsqueeze(1))
        code.scatter_(1, right.unsqueeze(1), share.unsqueeze(1))
        return code.float()


@dataclass(frozen=True, eq=False)
class LiteralEncoder:
    """Learned from the values of one graph, without labels; applies to grown graphs as well."""

    numbers: tuple[NumberColumns, ...]
    texts: tuple[int, ...]  # relations whose values are text

    @property
    def width(self) -> int:
        return sum(column.width for column in self.numbers) + (TEXT_WIDTH if self.texts else 0)

    @classmethod
    def fit(cls, named: NamedGraph) -> LiteralEncoder:
        numbers, texts = [], []
        for relation, _, values in _values_by_relation(named):
            read = [number_of(value) for value in values]
            known = torch.tensor([number for number in read if number is not None], dtype=torch.double)
            if known.numel() >= NUMERIC * len(values):
                places = torch.linspace(0, 1, KNOTS, dtype=torch.double)
                distinct = known.unique()
                knots = distinct if distinct.numel() <= KNOTS else known.quantile(places).unique()
                numbers.append(NumberColumns(relation, knots))
            else:
                texts.append(relation)
        return cls(tuple(numbers), tuple(texts))

    def encode(self, named: NamedGraph) -> Tensor:
        """[N, width]"""
        features = torch.zeros(named.graph.num_nodes, self.width)
        first = {}
        begin = 0
        for column in self.numbers:
            first[column.relation] = (begin, column)
            begin += column.width
        for relation, nodes, values in _values_by_relation(named):
            if relation in first:
                start, column = first[relation]
                read = [number_of(value) for value in values]
                known = torch.tensor([number is not None for number in read])
                code = column.encode(torch.tensor([n for n in read if n is not None], dtype=torch.double))
                _add_mean(features[:, start : start + column.width], nodes[known], code)
            elif relation in self.texts:
                _add_mean(features[:, begin:], nodes, text_codes(values, relation))
        return features


def number_of(text: str) -> float | None:
    """A number, truth value or date (in years) that the text says, or None."""
    text = text.strip()
    if text.lower() in _TRUTH:
        return _TRUTH[text.lower()]
    date = _DATE.match(text)
    if date:
        year, month, day = (int(part) for part in date.groups())
        return year + (month - 1) / 12 + (day - 1) / 372
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def text_codes(texts: Sequence[str], relation: int) -> Tensor:
    """[n, TEXT_WIDTH] groups of three letters, each hashed with the relation to a place and a sign; of length one."""
    row_of: dict[str, int] = {}
    hashed: dict[str, tuple[int, float]] = {}
    rows: list[list[float]] = []
    for text in texts:
        if text in row_of:
            continue
        row_of[text] = len(rows)
        row = [0.0] * TEXT_WIDTH
        padded = f" {text[:LONGEST].lower()} "
        for start in range(len(padded) - 2):
            group = padded[start : start + 3]
            if group not in hashed:
                word = zlib.crc32(f"{relation}:{group}".encode("utf-8", "surrogatepass"))
                hashed[group] = (word % TEXT_WIDTH, 1.0 if word & 0x8000_0000 else -1.0)
            place, sign = hashed[group]
            row[place] += sign
        rows.append(row)
    codes = torch.tensor(rows).view(-1, TEXT_WIDTH)
    length: Tensor = codes.norm(dim=1, keepdim=True)
    codes = codes / length.clamp(min=1.0)
    return codes[torch.tensor([row_of[text] for text in texts], dtype=torch.long)]


def _values_by_relation(named: NamedGraph) -> Iterator[tuple[int, Tensor, list[str]]]:
    """Each relation that leads to literals: its number, the nodes that have a value, the values."""
    graph, literals = named.graph, named.literals
    if not len(literals):
        return
    text_of = dict(zip(literals.nodes.tolist(), literals.values(), strict=True))
    is_literal = torch.zeros(graph.num_nodes, dtype=torch.bool)
    is_literal[literals.nodes] = True
    source, target = graph.edge_index
    leads = is_literal[target]
    for relation in graph.edge_type[leads].unique().tolist():
        here = leads & (graph.edge_type == relation)
        yield relation, source[here], [text_of[node] for node in target[here].tolist()]


def _add_mean(block: Tensor, nodes: Tensor, code: Tensor) -> None:
    """Add to the rows ``nodes`` of a block the mean of their codes."""
    count = torch.bincount(nodes, minlength=block.size(0)).clamp(min=1)
    block.index_add_(0, nodes, code / count[nodes].unsqueeze(1))
