from __future__ import annotations

from pathlib import Path

import pytest
import torch

from brgcn.data import NamedGraph, extend, load_dataset
from brgcn.data.named_graph import NamedGraph as Graph
from brgcn.errors import DataError

E = "http://example.org/"


@pytest.fixture
def named_graph(tmp_path: Path) -> NamedGraph:
    path = tmp_path / "old.nt"
    path.write_text(f'<{E}a> <{E}r> <{E}b> .\n_:x <{E}s> <{E}a> .\n<{E}b> <{E}s> "1" .\n')
    return load_dataset(path).named_graph


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "new.nt"
    path.write_text(text)
    return path


def test_new_nodes_are_appended(named_graph: NamedGraph, tmp_path: Path) -> None:
    text = f'<{E}new> <{E}r> <{E}a> .\n<{E}a> <{E}r> <{E}b> .\n<{E}b> <{E}s> "2" .\n<{E}a> <{E}s> <{E}b> .\n'
    extension = extend(named_graph, write(tmp_path, text))
    grown, size = extension.named_graph, len(named_graph.node_names)
    assert list(grown.node_names) == [*named_graph.node_names, '"2"', f"{E}new"]
    assert extension.new_nodes.tolist() == [size, size + 1]
    assert grown.relation_names == named_graph.relation_names
    old = named_graph.triples()
    assert torch.equal(grown.triples()[: len(old)], old)
    # the edge that was there is not added again
    a, b = named_graph.find_nodes([f"{E}a", f"{E}b"]).tolist()
    assert grown.triples()[len(old) :].tolist() == [[size + 1, 0, a], [b, 1, size], [a, 1, b]]
    assert grown.literals.values() == ["1", "2"]
    assert extension.warnings == ()


def test_unknown_relations_are_left_out_with_their_nodes(named_graph: NamedGraph, tmp_path: Path) -> None:
    text = f"<{E}new> <{E}r> <{E}a> .\n<{E}new> <{E}q> <{E}only> .\n<{E}new> <{E}away> <{E}gone> .\n"
    extension = extend(named_graph, write(tmp_path, text), drop_relations=[f"{E}away"])
    assert list(extension.named_graph.node_names)[-1] == f"{E}new"
    assert extension.new_nodes.numel() == 1
    assert len(extension.warnings) == 1
    assert "1 of 2 triples of new.nt were left out" in extension.warnings[0]
    assert f"{E}q" in extension.warnings[0]


def test_nothing_but_unknown_relations(named_graph: NamedGraph, tmp_path: Path) -> None:
    extension = extend(named_graph, write(tmp_path, f"<{E}new> <{E}q> <{E}only> .\n"))
    assert extension.new_nodes.numel() == 0
    assert torch.equal(extension.named_graph.triples(), named_graph.triples())


def test_blank_nodes_belong_to_their_file(named_graph: NamedGraph, tmp_path: Path) -> None:
    path = write(tmp_path, f"_:x <{E}r> <{E}b> .\n_:x-2 <{E}r> <{E}a> .\n")
    other = extend(named_graph, path)
    assert list(other.named_graph.node_names)[-2:] == ["_:x-3", "_:x-2"]
    assert "1 blank nodes" in other.warnings[0]
    same = extend(named_graph, path, same_blank_nodes=True)
    assert list(same.named_graph.node_names)[-1] == "_:x-2"
    assert same.new_nodes.numel() == 1
    assert same.warnings == ()


def test_tables(tmp_path: Path) -> None:
    table = tmp_path / "new.csv"
    table.write_text("how,from,to\nr,_:c,a\nr,a,b\n")
    old = Graph.from_triples(["a", "b", "_:c"], ["r"], torch.tensor([[0, 0, 1], [0, 0, 1]]), rdf=False)
    extension = extend(old, table, columns=("from", "how", "to"))
    assert extension.new_nodes.numel() == 0  # in tables names are plain names
    assert extension.named_graph.triples().tolist() == [[0, 0, 1], [0, 0, 1], [2, 0, 0]]  # old parallel edges stay


def test_inverses_come_later(named_graph: NamedGraph, tmp_path: Path) -> None:
    both = Graph(
        named_graph.graph.with_inverse(), named_graph.node_names, named_graph.relation_names, named_graph.literals
    )
    with pytest.raises(DataError, match="inverse"):
        extend(both, write(tmp_path, f"<{E}new> <{E}r> <{E}a> .\n"))
