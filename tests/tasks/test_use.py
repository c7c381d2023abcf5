from __future__ import annotations

from pathlib import Path

import pytest
import torch
from toys import EX

from brgcn.config import build
from brgcn.data import load_dataset
from brgcn.errors import DataError
from brgcn.tasks import NodeSettings, RunFolder, predict_nodes, train_runs


@pytest.fixture
def folder(toy: Path, tmp_path: Path) -> RunFolder:
    data = load_dataset(toy, drop_relations=[f"{EX}favourite"])
    return train_runs(
        data, build(NodeSettings, {"epochs": 40, "bases": 0, "l2": 0.0}, "test"), tmp_path / "run", runs=2
    )


def test_named_nodes_all_nodes_and_single_runs(folder: RunFolder) -> None:
    both = predict_nodes(folder, [f"{EX}p0", f"<{EX}p41>"])
    rows = both.rows()
    assert [row["node"] for row in rows] == [f"{EX}p0", f"{EX}p41"]
    assert [row["predicted"] for row in rows] == ["red", "blue"]
    assert sum(rows[0]["probability"].values()) == pytest.approx(1)
    everything = predict_nodes(folder)
    assert everything.nodes.numel() == folder.named_graph.graph.num_nodes
    single = [predict_nodes(folder, [f"{EX}p0"], run=run).probability for run in (0, 1)]
    torch.testing.assert_close(both.probability[:1], (single[0] + single[1]) / 2)


def test_nodes_that_came_after_training(folder: RunFolder, tmp_path: Path) -> None:
    new = tmp_path / "new.nt"
    lines = [f"<{EX}new> <{EX}likes> <{EX}green{i}> ." for i in range(4)]
    lines += [f"<{EX}other> <{EX}likes> <{EX}red{i}> ." for i in range(4)]
    lines += [f"<{EX}other> <{EX}unheardOf> <{EX}red0> ."]
    new.write_text("\n".join(lines) + "\n")
    predictions = predict_nodes(folder, triples=new)
    assert {row["node"]: row["predicted"] for row in predictions.rows()} == {f"{EX}new": "green", f"{EX}other": "red"}
    assert any("unheardOf" in text for text in predictions.warnings)
    # a node that was there is seen with its new edges, and can be asked for by name
    assert predict_nodes(folder, [f"{EX}p0"], triples=new).rows()[0]["predicted"] == "red"


def test_unknown_nodes_are_named(folder: RunFolder) -> None:
    with pytest.raises(DataError, match="not in the graph: http://nowhere/1"):
        predict_nodes(folder, ["http://nowhere/1", f"{EX}p0"])
