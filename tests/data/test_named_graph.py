from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from brgcn.data.named_graph import NamedGraph, first_occurrences
from brgcn.errors import DataError

TRIPLES = torch.tensor([[0, 0, 1], [2, 1, 0], [1, 0, 2]])
NAMES = ["http://a", '"1"^^<http://int>', "_:b"]


@pytest.fixture
def named_graph() -> NamedGraph:
    return NamedGraph.from_triples(NAMES, ["http://r", "http://s"], TRIPLES, rdf=True)


def test_edges_lead_from_head_to_tail(named_graph: NamedGraph) -> None:
    graph = named_graph.graph
    order = graph.edge_order
    assert torch.equal(graph.edge_index, TRIPLES[order][:, [0, 2]].t())
    assert torch.equal(graph.edge_type, TRIPLES[order, 1])
    assert torch.equal(named_graph.triples(), TRIPLES)


@given(
    st.lists(st.text(st.characters(), max_size=6), unique=True, min_size=1, max_size=9),
    st.lists(st.text(st.characters(), max_size=6), unique=True, min_size=1, max_size=4),
    st.data(),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
def test_what_was_saved_is_loaded(tmp_path: Path, nodes: list[str], relations: list[str], data: st.DataObject) -> None:
    node, relation = st.integers(0, len(nodes) - 1), st.integers(0, len(relations) - 1)
    rows = data.draw(st.lists(st.tuples(node, relation, node), max_size=12))
    saved = NamedGraph.from_triples(nodes, relations, torch.tensor(rows, dtype=torch.int64).view(-1, 3), rdf=False)
    saved.save(tmp_path / "graph.safetensors")
    loaded = NamedGraph.load(tmp_path / "graph.safetensors")
    assert list(loaded.node_names) == nodes
    assert list(loaded.relation_names) == relations
    assert loaded.triples().tolist() == [list(row) for row in rows]
    assert torch.equal(loaded.graph.node_ptr, saved.graph.node_ptr)


def test_literals_and_inverses_are_kept(named_graph: NamedGraph, tmp_path: Path) -> None:
    both = NamedGraph(named_graph.graph.with_inverse(), *[getattr(named_graph, f) for f in FIELDS])
    both.save(tmp_path / "g")
    loaded = NamedGraph.load(tmp_path / "g")
    assert loaded.graph.has_inverse
    assert loaded.graph.num_relations == 4
    assert loaded.literals.values() == ["1"]
    assert loaded.literals.datatype_of(1) == "http://int"
    loaded.save(tmp_path / "h")  # what is memory-mapped can be saved again
    assert NamedGraph.load(tmp_path / "h").node_names == named_graph.node_names


FIELDS = ("node_names", "relation_names", "literals")


def test_find_nodes_accepts_angle_brackets(named_graph: NamedGraph) -> None:
    found = named_graph.find_nodes(["<http://a>", "http://a", "_:b", "<_:b", "http://c", "<http://c>"])
    assert found.tolist() == [0, 0, 2, -1, -1, -1]
    table = NamedGraph.from_triples(["<x>", "x"], ["r"], torch.tensor([[0, 0, 1]]), rdf=False)
    assert table.find_nodes(["<x>", "x"]).tolist() == [0, 1]


def test_no_file_is_left_when_writing_fails(named_graph: NamedGraph, tmp_path: Path) -> None:
    with pytest.raises(OSError):
        named_graph.save(tmp_path)  # a folder cannot be replaced by a file
    assert list(tmp_path.iterdir()) == []
    assert list(tmp_path.parent.glob(f".{tmp_path.name}*")) == []


def test_damaged_and_foreign_files(named_graph: NamedGraph, tmp_path: Path) -> None:
    good = tmp_path / "good"
    named_graph.save(good)
    content = good.read_bytes()
    bad = tmp_path / "bad"
    for damaged in (content[:-8], content[:20], b"not safetensors at all", b"\xff" * 100):
        bad.write_bytes(damaged)
        with pytest.raises(DataError, match="not a readable safetensors file"):
            NamedGraph.load(bad)
    save_file({"weights": torch.ones(3)}, bad)
    with pytest.raises(DataError, match="not a named graph of brgcn"):
        NamedGraph.load(bad)
    with pytest.raises(DataError, match="no such file"):
        NamedGraph.load(tmp_path / "nowhere")


def test_arrays_that_do_not_fit(named_graph: NamedGraph, tmp_path: Path) -> None:
    good, bad = tmp_path / "good", tmp_path / "bad"
    named_graph.save(good)
    facts = {"kind": "named graph", "version": 1, **named_graph.pack()[1]}
    tensors = load_file(good)
    tensors["graph.edge_source"] = tensors["graph.edge_source"] + 5
    save_file(tensors, bad, metadata={"brgcn": json.dumps(facts)})
    with pytest.raises(DataError, match="damaged"):
        NamedGraph.load(bad)
    save_file(tensors, bad, metadata={"brgcn": json.dumps(facts | {"version": 99})})
    with pytest.raises(DataError, match="format version 99"):
        NamedGraph.load(bad)


@pytest.mark.parametrize("factor", [1, 2**31])  # with the large one the three ids do not fit into one key
def test_first_occurrences(factor: int) -> None:
    rows = torch.tensor([[1, 0, 2], [0, 0, 2], [1, 0, 2], [1, 1, 2], [0, 0, 2], [1, 0, 2]]) * factor
    assert first_occurrences(rows).tolist() == [True, True, False, True, False, False]
    assert first_occurrences(rows[:0]).tolist() == []
