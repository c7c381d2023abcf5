from __future__ import annotations

from pathlib import Path

import pytest
import torch

from brgcn.data.assemble import node_splits
from brgcn.data.labels import LabelTable, normalised_label, read_label_table, split_by_hash, split_table_by_hash
from brgcn.data.named_graph import NamedGraph
from brgcn.errors import DataError

E = "http://example.org/"


@pytest.fixture
def graph() -> NamedGraph:
    # The labels of AIFB are nodes too: that must not confuse the recognition of columns.
    names = [f"{E}{name}" for name in ("a", "b", "c", "d", "group1", "group2")] + ["plain"]
    return NamedGraph.from_triples(
        names, [f"{E}r"], torch.tensor([[0, 0, 1], [2, 0, 3], [4, 0, 5], [0, 0, 6]]), rdf=True
    )


def read(tmp_path: Path, graph: NamedGraph, content: str, **columns: str | int) -> LabelTable:
    path = tmp_path / "labels.tsv"
    path.write_text(content)
    return read_label_table(path, graph.find_nodes, **columns)


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        (f"person\tid\tlabel_affiliation\n{E}a\t1.0\t{E}group1\n{E}b\t2.0\t{E}group2\n{E}c\t3.0\t{E}group1\n", {}),
        (f"id\tperson\tlabel_affiliation\n1\t{E}a\t{E}group1\n2\t{E}b\t{E}group2\n3\t{E}c\t{E}group1\n", {}),
        (f"who\tid\twhere\n{E}a\t1\t{E}group1\n{E}b\t2\t{E}group2\n{E}c\t3\t{E}group1\n", {}),
        (f"{E}a\t{E}group1\n{E}b\t{E}group2\n{E}c\t{E}group1\n", {}),
        (f"<{E}a>,{E}group1\n<{E}b>,{E}group2\n<{E}c>,{E}group1\n", {}),
        (
            f"x\ty\tz\n{E}d\t{E}group1\t{E}a\n{E}d\t{E}group2\t{E}b\n{E}d\t{E}group1\t{E}c\n",
            {"node_column": "z", "label_column": "y"},
        ),
        (
            f"{E}d\t{E}group1\t{E}a\n{E}d\t{E}group2\t{E}b\n{E}d\t{E}group1\t{E}c\n",
            {"node_column": 2, "label_column": "1"},
        ),
    ],
)
def test_columns_are_recognised_or_given(
    tmp_path: Path, graph: NamedGraph, content: str, columns: dict[str, str | int]
) -> None:
    table = read(tmp_path, graph, content, **columns)
    assert graph.find_nodes(table.nodes).tolist() == [0, 1, 2]
    assert table.labels == [f"{E}group1", f"{E}group2", f"{E}group1"]


def test_lines_are_those_of_the_file(tmp_path: Path, graph: NamedGraph) -> None:
    assert read(tmp_path, graph, f"node\tlabel\n\n{E}a\tx\n{E}b\ty\n").lines == [3, 4]


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("1.0", "1"),
        ("0.0", "0"),
        ("-2.", "-2"),
        ("-0.0", "0"),
        ("010.00", "10"),
        (" a ", "a"),
        ("1.5", "1.5"),
        ("01", "01"),
    ],
)
def test_integral_numbers_lose_the_point(text: str, label: str) -> None:
    assert normalised_label(text) == label


@pytest.mark.parametrize(
    ("content", "columns", "message"),
    [
        ("node\tlabel\n", {}, "has no labels"),
        (f"{E}a\n{E}b\n", {}, "at least two columns"),
        (f"node\tlabel\n{E}a\tx\n{E}b\t\n", {}, r"labels.tsv, line 3: the label is empty"),
        (f"node\tlabel\n{E}a\tx\n \ty\n", {}, r"line 3: the node is empty"),
        ("node\tlabel\nq\tx\nw\ty\n", {}, r"no value of any column is the name of a node.*q \| x"),
        (f"node\tlabel\n{E}a\tx\n", {"label_column": "lable"}, r"did you mean 'label'.*\n.*node, label"),
        (f"node\tlabel\n{E}a\tx\n", {"node_column": "label", "label_column": "label"}, "are the same"),
        (f"node\tone\ttwo\n{E}a\tx\ty\n", {}, r"not clear\n.*node, one, two"),
        (f"node\tlabel\tlabel_text\n{E}a\tx\ty\n", {}, "not clear"),
        (f"{E}a\tx\n", {"label_column": 5}, "no column 5"),
        (f"node\tlabel\n{E}a\tx\ty\n", {}, "line 2: the row has 3 columns"),
    ],
)
def test_bad_tables(
    tmp_path: Path, graph: NamedGraph, content: str, columns: dict[str, str | int], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, graph, content, **columns)


def table(rows: dict[str, str] | list[tuple[str, str]], name: str = "t.tsv") -> LabelTable:
    pairs = list(rows.items()) if isinstance(rows, dict) else rows
    return LabelTable([f"{E}{n}" for n, _ in pairs], [v for _, v in pairs], list(range(2, len(pairs) + 2)), name, name)


def test_splits_with_sorted_labels(graph: NamedGraph) -> None:
    splits, names, warnings = node_splits(graph, {"train": table({"c": "y", "a": "x"}), "test": table({"b": "x"})})
    assert names == ("x", "y")
    assert splits["train"].nodes.tolist() == [2, 0]
    assert splits["train"].labels.tolist() == [1, 0]
    assert splits["test"].nodes.tolist() == [1]
    assert warnings == []


def test_absent_nodes_are_left_out_with_a_warning(graph: NamedGraph) -> None:
    rows = {"a": "x", "b": "y", "q1": "x", "q2": "x", "q3": "x", "q4": "x"}
    splits, _, warnings = node_splits(graph, {"train": table(rows)})
    assert splits["train"].nodes.tolist() == [0, 1]
    assert len(warnings) == 1
    assert "4 of 6 labelled nodes of t.tsv are not in the graph" in warnings[0]
    assert f"{E}q1, {E}q2, {E}q3, …" in warnings[0]
    with pytest.raises(DataError, match="none of the labelled nodes is in the graph"):
        node_splits(graph, {"train": table({"q": "x"})})


def test_repeated_nodes(graph: NamedGraph) -> None:
    splits, _, _ = node_splits(graph, {"train": table([("a", "x"), ("b", "y"), ("a", "x")])})
    assert splits["train"].nodes.tolist() == [0, 1]
    with pytest.raises(DataError, match=r"line 4: http://example.org/a has two labels: x in line 2, z in line 4"):
        node_splits(graph, {"train": table([("a", "x"), ("b", "y"), ("a", "z")])})


def test_overlap_and_unseen_classes_are_warned_of(graph: NamedGraph) -> None:
    train, test = table({"a": "x", "b": "y"}), table({"a": "x", "b": "x", "c": "z"})
    _, names, warnings = node_splits(graph, {"train": train, "test": test})
    assert names == ("x", "y", "z")
    assert any("1 classes of test have no training node: z" in text for text in warnings)
    assert any(text.startswith("2 nodes are in train and in test, 1 of them with another label") for text in warnings)


def test_one_class_is_not_enough(graph: NamedGraph) -> None:
    with pytest.raises(DataError, match="all 2 training nodes have the label x"):
        node_splits(graph, {"train": table({"a": "x", "b": "x"})})


def test_split_by_hash_is_the_same_everywhere() -> None:
    names = [f"http://purl.org/collections/nl/am/proxy-{i}" for i in range(1, 9)]
    # Written down once: a change here would change published results.
    assert split_by_hash(names) == ["train", "valid", "train", "train", "train", "test", "train", "train"]
    many = split_by_hash(str(i) for i in range(20_000))
    assert abs(many.count("train") / 20_000 - 0.6) < 0.02
    assert abs(many.count("valid") / 20_000 - 0.2) < 0.02
    assert split_by_hash(names, (0.0, 1.0, 0.0)) == ["valid"] * 8


def test_one_table_becomes_three() -> None:
    whole = table({str(i): "xy"[i % 2] for i in range(50)})
    parts = split_table_by_hash(whole)
    assert list(parts) == ["train", "valid", "test"]
    rows = {
        (n, v, line) for part in parts.values() for n, v, line in zip(part.nodes, part.labels, part.lines, strict=True)
    }
    assert rows == set(zip(whole.nodes, whole.labels, whole.lines, strict=True))
    bracketed = LabelTable([f"<{n}>" for n in whole.nodes], whole.labels, whole.lines, "t", "t")
    assert split_table_by_hash(bracketed)["train"].lines == parts["train"].lines
