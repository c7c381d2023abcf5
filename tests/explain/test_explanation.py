from __future__ import annotations

import json
from pathlib import Path

import pytest
from toys import EX

from brgcn.config import build
from brgcn.data import load_dataset
from brgcn.errors import BrgcnError, DataError
from brgcn.explain import explain, explain_run
from brgcn.explain.names import short_name
from brgcn.tasks import NodeSettings, RunFolder, train_runs


def folder_of(toy: Path, out: Path, **settings) -> RunFolder:
    data = load_dataset(toy, drop_relations=[f"{EX}favourite"])
    return train_runs(data, build(NodeSettings, {"epochs": 15, "bases": 0, **settings}, "test"), out)


@pytest.mark.parametrize(
    "settings",
    [{}, {"model": "brgcn-node"}, {"model": "brgcn-relation"}, {"heads": 2}, {"self_connection": "relation"}],
)
def test_what_a_node_attends_to(toy: Path, tmp_path: Path, settings: dict) -> None:
    folder = folder_of(toy, tmp_path / "run", **settings)
    explanation = explain_run(folder, node=f"{EX}p1")
    node = explanation.node
    assert node.name == f"{EX}p1"
    assert node.label == "green"
    names = {relation.name for relation in node.relations} - {"the node itself"}
    assert names == {f"inverse of {EX}{r}" for r in ("likes", "worksAt", "age")}
    for relation in node.relations:
        if relation.neighbours:
            assert sum(n.attention for n in relation.neighbours) == pytest.approx(1, abs=1e-5)
            assert [n.attention for n in relation.neighbours] == sorted(
                (n.attention for n in relation.neighbours), reverse=True
            )
    likes = next(r for r in node.relations if r.name.endswith("likes"))
    assert all(neighbour.name.startswith(f"{EX}green") for neighbour in likes.neighbours)
    if settings.get("model") == "brgcn-node":
        assert explanation.relations == ()
        assert likes.attention is None
    else:
        assert sum(r.attention for r in node.relations) == pytest.approx(1, abs=1e-5)
        assert [r.lift for r in explanation.relations] == sorted((r.lift for r in explanation.relations), reverse=True)
    assert explanation.figure == folder.path / "attention.png"
    assert explanation.figure.read_bytes().startswith(b"\x89PNG")
    json.dumps(explanation.to_json(), allow_nan=False)


def test_the_other_formats_and_the_errors(toy: Path, tmp_path: Path) -> None:
    folder = folder_of(toy, tmp_path / "run")
    assert "<svg" in explain_run(folder, out=tmp_path / "a.svg").figure.read_text()
    with pytest.raises(BrgcnError, match=r"Use \.png, \.svg, \.pdf"):
        explain_run(folder, out=tmp_path / "a.txt")
    with pytest.raises(DataError, match="not in the graph: nobody"):
        explain(folder, node="nobody")
    with pytest.raises(BrgcnError, match="rgcn has no attention to show"):
        explain(folder_of(toy, tmp_path / "r", model="rgcn"))


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("http://example.org/a#likes", "likes"),
        ("http://example.org/a/likes/", "likes"),
        ("inverse of http://example.org/likes", "inverse of likes"),
        ('"12"^^<http://www.w3.org/2001/XMLSchema#integer>', '"12"'),
        ("_:b1", "_:b1"),
        ("plain", "plain"),
        ("x" * 60, "x" * 47 + "…"),
    ],
)
def test_short_names(name: str, short: str) -> None:
    assert short_name(name) == short
