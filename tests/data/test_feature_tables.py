"""Tables of features: read, scaled, refused, and used on the whole way from training to new nodes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from toys import EX

from brgcn import NodeClassifier
from brgcn.cli import main
from brgcn.config import build
from brgcn.data import Dataset, load_dataset
from brgcn.data.feature_tables import read_feature_table
from brgcn.errors import DataError
from brgcn.explain import explain_run
from brgcn.tasks import NodeSettings, RunFolder, evaluate_runs, predict_nodes, train_runs
from brgcn.tasks.inputs import node_inputs


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The class of a thing is in the weight of the box it lies in; things have a feature that says nothing."""
    lines, labels, boxes, things = [], ["node\tlabel"], ["box\tweight\tage"], []
    for k in range(60):
        heavy = k % 2
        lines += [f"<{EX}t{k}> <{EX}in> <{EX}b{k}> .", f"<{EX}t{k}> <{EX}sold> <{EX}shop{k % 7}> ."]
        labels.append(f"{EX}t{k}\t{'heavy' if heavy else 'light'}")
        boxes.append(f"{EX}b{k}\t{1000 * heavy + k}\t{k % 5}")
        things.append(f"{EX}t{k},{k % 3}")
    (tmp_path / "graph.nt").write_text("\n".join(lines) + "\n")
    (tmp_path / "train.tsv").write_text("\n".join(labels[:41]) + "\n")
    (tmp_path / "test.tsv").write_text("\n".join([labels[0], *labels[41:]]) + "\n")
    (tmp_path / "boxes.tsv").write_text("\n".join(boxes) + "\n")
    (tmp_path / "things.csv").write_text("\n".join(things) + "\n")
    return tmp_path


@pytest.fixture
def data(folder: Path) -> Dataset:
    return load(folder, "boxes.tsv", "things.csv")


def load(folder: Path, *features: str) -> Dataset:
    labels = {"labels": folder / "train.tsv", "test_labels": folder / "test.tsv"}
    return load_dataset(folder / "graph.nt", **labels, features=[folder / name for name in features])


def settings(**changes) -> NodeSettings:
    return build(NodeSettings, {"epochs": 40, "l2": 0.0, **changes}, "test")


def test_each_type_has_columns_of_its_own(data: Dataset) -> None:
    boxes, things = data.features
    assert (boxes.columns, things.columns) == (("weight", "age"), ("1",))
    features = node_inputs(data.named_graph, settings(), data.features).features
    assert features.shape == (data.graph.num_nodes, 3 + 2)
    box, thing, shop = data.named_graph.find_nodes([f"{EX}b3", f"{EX}t4", f"{EX}shop1"]).tolist()
    weights = np.array([1000 * (k % 2) + k for k in range(60)], dtype=float)
    assert float(features[box, 0]) == pytest.approx((weights[3] - weights.mean()) / weights.std(), rel=1e-6)
    assert features[box, 2:].tolist() == [1, 0, 0]
    assert features[thing, :3].tolist() == [0, 0, 0]
    assert float(features[thing, 4]) == 1
    assert not features[shop].any()
    with_literals = node_inputs(data.named_graph, settings(literals="both"), data.features).features
    assert with_literals[:, :5].equal(features)


def test_what_was_given_changes_the_fingerprint(folder: Path) -> None:
    prints = [load(folder, *names).fingerprint for names in ((), ("boxes.tsv",), ("boxes.tsv", "things.csv"))]
    assert len(set(prints)) == 3
    (folder / "boxes.tsv").write_text((folder / "boxes.tsv").read_text().replace("1001", "1002"))
    assert load(folder, "boxes.tsv").fingerprint not in prints


def test_arrays_say_the_same_as_text(folder: Path, data: Dataset) -> None:
    boxes = data.features[0]
    names = [data.node_names[node] for node in boxes.nodes.tolist()]
    np.savez(folder / "boxes.npz", nodes=np.array(names), features=boxes.values.numpy())
    table, warnings = read_feature_table(folder / "boxes.npz", data.named_graph)
    assert table.values.equal(boxes.values)
    assert table.nodes.equal(boxes.nodes)
    assert warnings == []


def test_strangers_are_left_out_with_a_warning(folder: Path) -> None:
    with (folder / "boxes.tsv").open("a") as file:
        file.write("stranger\t1\t2\n")
    data = load(folder, "boxes.tsv")
    assert data.warnings[-1] == "1 of 61 nodes of boxes.tsv are not in the graph: stranger"
    assert data.features[0].nodes.numel() == 60


@pytest.mark.parametrize("model", ["brgcn", "rgcn", "gat"])
def test_the_whole_way(folder: Path, data: Dataset, tmp_path: Path, model: str) -> None:
    if model == "gat":
        pytest.importorskip("torch_geometric")
    run = train_runs(data, settings(model=model), tmp_path / "run", runs=2)
    assert run.result["test_accuracy"]["mean"] > 0.9
    opened = RunFolder.open(tmp_path / "run")
    assert evaluate_runs(opened)["test_accuracy"] == run.result["test_accuracy"]
    classifier = NodeClassifier.load(tmp_path / "run")
    test = data.splits["test"]
    assert classifier.score(test.nodes, [data.label_names[i] for i in test.labels]) > 0.9
    if model == "gat":
        return
    if model == "brgcn":
        explain_run(opened, out=tmp_path / "figure.png")
    (folder / "new.nt").write_text(
        "".join(f"<{EX}n{k}> <{EX}in> <{EX}c{k}> .\n<{EX}n{k}> <{EX}sold> <{EX}shop1> .\n" for k in range(4))
    )
    (folder / "new.tsv").write_text("box\tweight\tage\n" + "".join(f"{EX}c{k}\t{k % 2 * 1000}\t1\n" for k in range(4)))
    wanted = [f"{EX}n{k}" for k in range(4)]
    found = predict_nodes(opened, wanted, triples=folder / "new.nt", features=[folder / "new.tsv"])
    assert [row["predicted"] for row in found.rows()] == ["light", "heavy"] * 2


def test_the_command(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["train", str(folder / "graph.nt"), "--labels", str(folder / "train.tsv"), "--no-figure"]
    words += ["--features", str(folder / "boxes.tsv"), "--out", str(tmp_path / "run")]
    words += ["--set", "epochs=2", "--set", "literals=nodes"]
    with pytest.raises(SystemExit) as stopped:
        main([*words, "--device", "cpu"])
    assert not stopped.value.code
    said = capsys.readouterr().err
    assert "1 table of features, 2 columns" in said
    assert "67 of 127 nodes are in no table of features" in said
    with pytest.raises(SystemExit):
        main(["predict", str(tmp_path / "run"), "--features", str(folder / "boxes.tsv")])
    assert "features are for new nodes" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("box\tweight\nB\tNaN\n", "line 2: column 'weight' holds 'NaN', which is not a finite number"),
        ("box\tweight\nB\t\n", "line 2: column 'weight' is empty"),
        ("B\tblue\n", "line 1: column '1' holds 'blue'"),
        ("box\tweight\nB\t1\nB\t2\n", "line 3: the node .* was in line 2 already"),
        ("box\tweight\nX\t1\n", "none of its 1 nodes is in the graph, such as X"),
        ("X\t\t1\n", "line 1: column '1' is empty"),
        ("box\tweight\n", "a header and no rows"),
        ("box\nB\n", "the table has one column"),
        ("box\tweight\nB\t1\t2\n", "line 2: the row has 3 columns"),
        ("", "the file is empty"),
    ],
)
def test_bad_tables(folder: Path, data: Dataset, text: str, message: str) -> None:
    path = folder / "bad.tsv"
    path.write_text(text.replace("B", f"{EX}b1"))
    with pytest.raises(DataError, match=message):
        read_feature_table(path, data.named_graph)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"nodes": np.array(["B"])}, "cannot be read"),
        ({"nodes": np.array(["B"]), "features": np.array([1.0])}, r"`features` \[1\] of float64"),
        ({"nodes": np.array(["B"]), "features": np.array([[float("nan")]])}, "row 0: .* hold NaN"),
        ({"nodes": np.array(["B"]), "features": np.array([["1"]])}, "of <U1"),
    ],
)
def test_bad_arrays(folder: Path, data: Dataset, arrays: dict, message: str) -> None:
    np.savez(folder / "bad.npz", **arrays)
    with pytest.raises(DataError, match=message):
        read_feature_table(folder / "bad.npz", data.named_graph)


def test_an_archive_is_never_unpickled(folder: Path, data: Dataset) -> None:
    np.savez(folder / "bad.npz", nodes=np.array([object()], dtype=object), features=np.ones((1, 1)))
    with pytest.raises(DataError, match="cannot be read"):
        read_feature_table(folder / "bad.npz", data.named_graph)
    with (folder / "bad.npz").open("wb") as file:
        np.save(file, np.ones((1, 1)))  # one array, not several
    with pytest.raises(DataError, match="cannot be read"):
        read_feature_table(folder / "bad.npz", data.named_graph)
    (folder / "bad.npz").write_bytes(b"PK no archive")
    with pytest.raises(DataError, match="cannot be read"):
        read_feature_table(folder / "bad.npz", data.named_graph)


def test_new_tables_need_known_columns(folder: Path, data: Dataset) -> None:
    (folder / "other.tsv").write_text(f"box\tcolour\n{EX}b1\t1\n")
    table, _ = read_feature_table(folder / "other.tsv", data.named_graph)
    with pytest.raises(DataError, match="no table of the training has its columns"):
        node_inputs(data.named_graph, settings(), data.features, new_tables=[table])


def test_tables_with_the_same_columns_are_told_apart_by_name(folder: Path, data: Dataset) -> None:
    for name, node in (("a.tsv", "b1"), ("b.tsv", "t1")):
        (folder / name).write_text(f"x\tage\n{EX}{node}\t1\n{EX}{node}0\t3\n")
    tables = load(folder, "a.tsv", "b.tsv").features
    (folder / "new").mkdir()
    (folder / "new" / "b.tsv").write_text(f"x\tage\n{EX}t2\t5\n")
    (folder / "new" / "c.tsv").write_text(f"x\tage\n{EX}t2\t5\n")
    named = data.named_graph
    known, unknown = (read_feature_table(folder / "new" / name, named)[0] for name in ("b.tsv", "c.tsv"))
    row = node_inputs(named, settings(), tables, new_tables=[known]).features[named.find_nodes([f"{EX}t2"])]
    assert row.tolist() == [[0, 0, 3, 1]]  # scaled as b.tsv was: mean 2, deviation 1
    with pytest.raises(DataError, match=r"a\.tsv and b\.tsv of the training have the same columns"):
        node_inputs(named, settings(), tables, new_tables=[unknown])


def test_large_numbers_keep_their_differences(folder: Path, data: Dataset) -> None:
    (folder / "time.tsv").write_text("".join(f"{EX}b{k}\t{1_700_000_000 + 30 * k}\t{k}e39\n" for k in range(3)))
    table, _ = read_feature_table(folder / "time.tsv", data.named_graph)
    features = table.matrix(data.graph.num_nodes)[table.nodes]
    step = 1.5**0.5
    torch.testing.assert_close(features[:, :2], torch.tensor([[-step, -step], [0, 0], [step, step]]))


def test_a_constant_column_stays_finite(folder: Path, data: Dataset) -> None:
    (folder / "same.tsv").write_text("".join(f"{EX}b{k}\t7\n" for k in range(5)))
    table, _ = read_feature_table(folder / "same.tsv", data.named_graph)
    assert torch.equal(table.matrix(data.graph.num_nodes)[table.nodes], torch.tensor([[0.0, 1.0]] * 5))
