"""Readable names of nodes, for people: from a table beside the data, or from rdfs:label in the graph."""

from __future__ import annotations

from pathlib import Path

from brgcn.data.named_graph import NamedGraph
from brgcn.data.tables import iter_rows

FILES = ("entity_names.tsv", "entity_names.tsv.gz")
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
_COLUMNS = ("label", "name", "title", "words", "text")  # of which one holds the readable name; else the second


def display_names(named: NamedGraph, folder: Path | None = None) -> dict[int, str]:
    """Node -> readable name, for the nodes that have one."""
    found = _from_graph(named)
    for file in FILES:
        if folder is not None and (folder / file).is_file():
            found |= read_display_names(folder / file, named)
            break
    return found


def read_display_names(path: Path, named: NamedGraph) -> dict[int, str]:
    """A table whose first column names nodes; several names of one node are joined, strangers left out."""
    rows = iter_rows(path, width=2)
    _, header = next(rows)
    names = [cell.strip().lower() for cell in header]
    column = next((names.index(name) for name in _COLUMNS if name in names[1:]), 1)
    pairs = [(cells[0], cells[column].strip()) for _, cells in rows if cells[column].strip()]
    found: dict[int, str] = {}
    for node, (_, text) in zip(named.find_nodes(name for name, _ in pairs).tolist(), pairs, strict=True):
        if node >= 0:
            found[node] = f"{found[node]} | {text}" if node in found else text
    return found


def _from_graph(named: NamedGraph) -> dict[int, str]:
    if LABEL not in named.relation_names:
        return {}
    graph = named.graph
    mine = graph.edge_type == named.relation_names.index(LABEL)
    pairs = zip(graph.edge_source[mine].tolist(), graph.edge_target[mine].tolist(), strict=True)
    return {node: _text(named.node_names[literal]) for node, literal in pairs}


def _text(literal: str) -> str:
    """``text`` of ``"text"@en``."""
    return literal[1 : literal.rindex('"')] if literal.startswith('"') and literal.count('"') > 1 else literal
