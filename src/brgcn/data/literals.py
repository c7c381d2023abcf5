"""Which nodes are literals, and what they say."""

from __future__ import annotations

import re
from dataclasses import dataclass

import torch
from torch import Tensor

from brgcn.data.names import NameTable
from brgcn.errors import DataError

XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"
RDF_LANG_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"
RDF_DIR_LANG_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#dirLangString"

_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_ESCAPED = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}


@dataclass(frozen=True, eq=False)
class Literals:
    """The literal nodes of an RDF graph; empty for graphs that were read from tables.

    What a literal says is derived from its name, which is its N-Triples form.
    """

    nodes: Tensor  # [L] node ids, ascending
    datatype: Tensor  # [L] index into datatype_names
    datatype_names: tuple[str, ...]  # IRIs; language-tagged strings are rdf:langString
    node_names: NameTable

    @classmethod
    def from_names(cls, node_names: NameTable) -> Literals:
        """The literals among the node names of an RDF graph."""
        nodes = node_names.starting_with('"')
        known: dict[str, int] = {}  # what follows the closing quote, of which there are few different ones
        index: dict[str, int] = {}
        datatype: list[int] = []
        for node in nodes.tolist():
            name = node_names[node]
            suffix = name[name.rindex('"') + 1 :]
            if suffix not in known:
                known[suffix] = index.setdefault(_datatype(suffix), len(index))
            datatype.append(known[suffix])
        return cls(nodes, torch.tensor(datatype, dtype=torch.int64), tuple(index), node_names)

    @classmethod
    def none(cls, node_names: NameTable) -> Literals:
        """For graphs whose nodes are plain names."""
        empty = torch.empty(0, dtype=torch.int64)
        return cls(empty, empty.clone(), (), node_names)

    def __len__(self) -> int:
        return self.nodes.numel()

    def value(self, node: int) -> str:
        """The lexical value of a literal node, unescaped and without quotes."""
        self._row(node)
        return unescape(_split(self.node_names[node])[0])

    def values(self) -> list[str]:
        """The lexical values of all literals, in the order of ``nodes``."""
        return [unescape(_split(self.node_names[node])[0]) for node in self.nodes.tolist()]

    def language(self, node: int) -> str | None:
        """The language tag, without a base direction, or None."""
        self._row(node)
        suffix = _split(self.node_names[node])[1]
        return suffix[1:].split("--")[0] if suffix.startswith("@") else None

    def datatype_of(self, node: int) -> str:
        """The IRI of the datatype of a literal node."""
        return self.datatype_names[int(self.datatype[self._row(node)])]

    def _row(self, node: int) -> int:
        row = int(torch.searchsorted(self.nodes, node))
        if row == len(self) or int(self.nodes[row]) != node:
            raise DataError(f"node {node} is not a literal", remedy="`nodes` lists the literals.")
        return row

    def __repr__(self) -> str:
        return f"Literals({len(self)} of {len(self.node_names)} nodes, {len(self.datatype_names)} datatypes)"


def unescape(text: str) -> str:
    """The text that a string of N-Triples stands for."""
    return _ESCAPE.sub(_unescaped, text) if "\\" in text else text


def _unescaped(match: re.Match[str]) -> str:
    short, long, character = match.groups()
    return _ESCAPED.get(character, character) if character else chr(int(short or long, 16))


def _split(name: str) -> tuple[str, str]:
    """The escaped text and what follows the closing quote."""
    close = name.rindex('"')
    return name[1:close], name[close + 1 :]


def _datatype(suffix: str) -> str:
    if not suffix:
        return XSD_STRING
    if suffix.startswith("@"):
        return RDF_DIR_LANG_STRING if "--" in suffix else RDF_LANG_STRING
    return suffix[3:-1]  # ^^<IRI>
