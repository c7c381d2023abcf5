from __future__ import annotations

from pathlib import Path

import pytest
from small_subjects import CPU

from brgcn.bench.loading import entities_route, loading_rows, source_of
from brgcn.bench.rows import Bench
from brgcn.bench.timing import QUICK
from brgcn.data import load_dataset

pytest.importorskip("rdflib")


def test_both_routes_read_the_same_graph(toy: Path) -> None:
    tensors = entities_route(toy / "graph.nt")
    graph = load_dataset(toy).graph.with_inverse()
    assert tensors["num_nodes"] == graph.num_nodes
    assert tensors["edge_type"].numel() == graph.num_edges
    assert int(tensors["edge_type"].max()) + 1 == graph.num_relations
    ends = tensors["edge_index"]
    assert sorted(ends[1].bincount().tolist()) == sorted(graph.edge_target.bincount().tolist())


def test_rows(toy: Path) -> None:
    source = source_of(str(toy))
    assert source is not None
    rows = loading_rows(source, Bench(CPU, QUICK, 1e9, lambda text: None))
    assert [(row["library"], row["what"]) for row in rows] == [
        ("brgcn", "first"),
        ("brgcn", "again"),
        ("PyG", "first"),
        ("PyG", "again"),
    ]
    assert all(row["ms"] > 0 for row in rows)


def test_a_data_set_of_the_catalogue_stays_where_it_is(shared_data: Path, tmp_path: Path) -> None:
    source = source_of("aifb", shared_data)
    assert source is not None
    assert source.graph_file.parent == shared_data / "aifb"
    source.load(tmp_path)
    source.load(tmp_path)
    assert not (tmp_path / "downloads").exists()
