from __future__ import annotations

import pytest

from brgcn.data import dataset_from_frames
from brgcn.errors import DataError

pd = pytest.importorskip("pandas")

TRIPLES = {"head": ["a", "b", "c", "a"], "relation": ["r", "s", "r", "r"], "tail": ["b", "c", "a", "b"]}
LABELS = {"node": ["a", "b"], "label": [1.0, 0.0]}


def test_node_classification() -> None:
    dataset = dataset_from_frames(
        pd.DataFrame(TRIPLES), pd.DataFrame(LABELS), pd.DataFrame({"label": [1], "node": ["c"]}), name="mine"
    )
    assert dataset.name == "mine"
    assert dataset.task == "nodes"
    assert list(dataset.node_names) == ["a", "b", "c"]
    assert dataset.relation_names == ("r", "s")
    assert dataset.named_graph.triples().tolist() == [[0, 0, 1], [1, 1, 2], [2, 0, 0]]
    assert dataset.label_names == ("0", "1")
    assert dataset.splits["train"].labels.tolist() == [1, 0]
    assert dataset.splits["test"].nodes.tolist() == [2]
    assert dataset.warnings == ("1 of 4 triples of triples are repetitions; they count once",)


def test_links_per_split() -> None:
    frame = pd.DataFrame(TRIPLES).drop_duplicates()
    dataset = dataset_from_frames({"train": frame[:2], "test": frame[2:]})
    assert dataset.task == "links"
    assert {split: len(rows) for split, rows in dataset.triples.items()} == {"train": 2, "test": 1}
    assert dataset.graph.num_edges == 2
    assert dataset.graph.num_nodes == 3


@pytest.mark.parametrize(
    ("frame", "columns"),
    [
        ({"x": [1, 2], "y": [7, 7], "z": [2, 3]}, None),
        ({"y": [7, 7], "z": [2, 3], "x": [1, 2]}, ("x", "y", "z")),
        ({"y": [7, 7], "z": [2, 3], "x": [1, 2]}, (2, 0, 1)),
        ({"extra": [0, 0], "Target": [2, 3], "type": [7, 7], "source": [1, 2]}, None),
    ],
)
def test_columns_and_numbers_as_names(frame: dict[str, list[int]], columns: tuple[str | int, ...] | None) -> None:
    dataset = dataset_from_frames(pd.DataFrame(frame), columns=columns)
    assert list(dataset.node_names) == ["1", "2", "3"]
    assert dataset.relation_names == ("7",)
    assert dataset.triples["train"].tolist() == [[0, 0, 1], [1, 0, 2]]


def test_fingerprint_follows_the_content() -> None:
    one, same = (dataset_from_frames(pd.DataFrame(TRIPLES), pd.DataFrame(LABELS)) for _ in range(2))
    other = dataset_from_frames(pd.DataFrame(TRIPLES), pd.DataFrame(LABELS | {"label": [0, 1]}))
    assert one.fingerprint == same.fingerprint != other.fingerprint


def test_dropped_relation() -> None:
    dataset = dataset_from_frames(pd.DataFrame(TRIPLES), drop_relations=["s", "q"])
    assert dataset.relation_names == ("r",)
    assert "the relation to be dropped does not occur: q" in dataset.warnings


def test_bad_frames() -> None:
    triples, labels = pd.DataFrame(TRIPLES), pd.DataFrame(LABELS)
    with pytest.raises(DataError, match="not a DataFrame but list"):
        dataset_from_frames([("a", "r", "b")])
    for missing in (None, float("nan"), pd.NA, ""):
        with pytest.raises(DataError, match="triples, line 2: the cell in column 3 is empty"):
            dataset_from_frames(pd.DataFrame(TRIPLES | {"tail": ["b", missing, "a", "b"]}))
    with pytest.raises(DataError, match="the label is empty"):
        dataset_from_frames(triples, pd.DataFrame({"node": ["a", "b"], "label": ["x", None]}))
    with pytest.raises(DataError, match="2 columns, but a triple has 3"):
        dataset_from_frames(labels)
    with pytest.raises(DataError, match="same name"):
        dataset_from_frames(pd.DataFrame([["a", "r", "b"]], columns=["x", "x", "y"]))
    with pytest.raises(DataError, match="no column 'hed'; did you mean 'head'"):
        dataset_from_frames(triples, columns=("hed", "relation", "tail"))
    with pytest.raises(DataError, match="the splits 'training'"):
        dataset_from_frames({"training": triples})
    with pytest.raises(DataError, match="without training labels"):
        dataset_from_frames(triples, test_labels=labels)
    with pytest.raises(DataError, match="takes no labels"):
        dataset_from_frames({"train": triples, "test": triples}, labels)
