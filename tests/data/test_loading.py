from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import torch

from brgcn.data import Dataset, load_dataset
from brgcn.errors import DataError

E = "http://example.org/"
NT = f"<{E}a> <{E}r> <{E}b> .\n<{E}b> <{E}s> <{E}c> .\n<{E}a> <{E}is> <{E}x> .\n"


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    path = tmp_path / "graph.nt"
    path.write_text(NT)
    (tmp_path / "labels.csv").write_text(f"node,label\n{E}a,1.0\n{E}b,0.0\n")
    (tmp_path / "test_labels.csv").write_text(f"label,node\n1,<{E}c>\n")
    return path


# ---------------------------------------------------------------------- real data, counts of its README


@pytest.mark.parametrize(
    ("name", "nodes", "literals", "blank", "relations", "edges", "train", "test", "classes"),
    [
        ("aifb", 8_285, 5_450, 152, 45, 29_043, 140, 36, 4),
        ("mutag", 23_644, 1_104, 0, 23, 74_227, 272, 68, 2),
    ],
)
def test_counts_of_node_sets(
    shared_data: Path,
    name: str,
    nodes: int,
    literals: int,
    blank: int,
    relations: int,
    edges: int,
    train: int,
    test: int,
    classes: int,
) -> None:
    for dataset in (load_dataset(shared_data / name, use_cache=False), load_dataset(name, data_dir=shared_data)):
        assert dataset.name == name
        assert dataset.task == "nodes"
        assert (dataset.graph.num_nodes, dataset.graph.num_relations, dataset.graph.num_edges) == (
            nodes,
            relations,
            edges,
        )
        assert len(dataset.literals) == literals
        assert sum(node.startswith("_:") for node in dataset.node_names) == blank
        assert {split: len(labelled) for split, labelled in dataset.splits.items()} == {"train": train, "test": test}
        assert dataset.num_classes == classes
        assert dataset.triples == {}
        assert dataset.warnings == ()


def test_aifb_literal_with_the_text_of_an_iri(shared_data: Path) -> None:
    dataset = load_dataset(shared_data / "aifb")
    text = "http://swrc.ontoware.org/ontology#ResearchTopic"
    iri, literal = dataset.named_graph.find_nodes([text, f'"{text}"']).tolist()
    assert iri >= 0
    assert literal >= 0
    assert iri != literal
    assert dataset.literals.value(literal) == text


def test_mutag_labels_are_written_in_one_way(shared_data: Path) -> None:
    folder = shared_data / "mutag"
    splits = load_dataset(folder)
    whole = load_dataset(folder / "mutag_stripped.nt.gz", labels=folder / "completeDataset.tsv")
    assert splits.label_names == whole.label_names == ("0", "1")
    by_node = dict(zip(whole.splits["train"].nodes.tolist(), whole.splits["train"].labels.tolist(), strict=True))
    for split in splits.splits.values():
        assert [by_node[node] for node in split.nodes.tolist()] == split.labels.tolist()


@pytest.mark.parametrize(
    ("name", "entities", "relations", "train", "valid", "test", "in_train"),
    [
        ("fb15k", 14_951, 1_345, 483_142, 50_000, 59_071, 14_951),
        ("fb15k-237", 14_541, 237, 272_115, 17_535, 20_466, 14_505),
        ("wn18", 40_943, 18, 141_442, 5_000, 5_000, 40_943),
    ],
)
def test_counts_of_link_sets(
    shared_data: Path, name: str, entities: int, relations: int, train: int, valid: int, test: int, in_train: int
) -> None:
    dataset = load_dataset(shared_data / name)
    assert dataset.task == "links"
    assert {split: len(rows) for split, rows in dataset.triples.items()} == {
        "train": train,
        "valid": valid,
        "test": test,
    }
    assert (dataset.graph.num_nodes, dataset.graph.num_relations, dataset.graph.num_edges) == (
        entities,
        relations,
        train,
    )
    assert len(dataset.node_names) == entities
    assert dataset.graph.edge_index.unique().numel() == in_train
    assert torch.equal(dataset.named_graph.triples(), dataset.triples["train"])
    assert dataset.splits == {}
    assert len(dataset.literals) == 0
    assert dataset.warnings == ()


def test_standin_is_chosen_by_its_file_names(shared_data: Path) -> None:
    dataset = load_dataset("bgs-standin", data_dir=shared_data)
    assert (dataset.graph.num_nodes, dataset.graph.num_relations, dataset.graph.num_edges) == (85_722, 86, 230_947)
    assert len(dataset.literals) == 50_477
    assert (len(dataset.splits["train"]), len(dataset.splits["test"])) == (117, 29)
    labelled = torch.cat([split.labels for split in dataset.splits.values()]).tolist()
    counts = Counter(dataset.label_names[label].rsplit("/", 1)[1] for label in labelled)
    assert counts == {"FLUV": 93, "GLACI": 53}


# ---------------------------------------------------------------------- own files


def names_of(dataset: Dataset, split: str) -> list[tuple[str, str]]:
    labelled = dataset.splits[split]
    pairs = zip(labelled.nodes.tolist(), labelled.labels.tolist(), strict=True)
    return [(dataset.node_names[node], dataset.label_names[label]) for node, label in pairs]


def test_rdf_file_without_labels(graph: Path) -> None:
    dataset = load_dataset(graph)
    assert dataset.name == "graph"
    assert dataset.source == str(graph)
    assert dataset.task == "nodes"
    assert dataset.splits == {}
    assert dataset.label_names == ()
    assert dataset.graph.num_edges == 3


def test_rdf_file_with_labels(graph: Path, tmp_path: Path) -> None:
    dataset = load_dataset(
        str(graph),
        labels=tmp_path / "labels.csv",
        test_labels=str(tmp_path / "test_labels.csv"),
        drop_relations=[f"{E}is", f"{E}nowhere"],
    )
    assert names_of(dataset, "train") == [(f"{E}a", "1"), (f"{E}b", "0")]
    assert names_of(dataset, "test") == [(f"{E}c", "1")]
    assert dataset.relation_names == (f"{E}r", f"{E}s")
    assert f"{E}x" not in dataset.node_names
    assert dataset.warnings == (f"the relation to be dropped does not occur: {E}nowhere",)
    only_train = load_dataset(graph, labels=tmp_path / "labels.csv", drop_relations=f"{E}is")
    assert list(only_train.splits) == ["train"]
    assert only_train.relation_names == dataset.relation_names


def test_table_as_graph_of_a_node_task(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("a,r,b\nb,r,c\n")
    (tmp_path / "labels.csv").write_text("a,yes\nb,no\n")
    nodes = load_dataset(tmp_path / "edges.csv", labels=tmp_path / "labels.csv")
    assert nodes.task == "nodes"
    assert nodes.triples == {}
    assert names_of(nodes, "train") == [("a", "yes"), ("b", "no")]
    links = load_dataset(tmp_path / "edges.csv")
    assert links.task == "links"
    assert list(links.triples) == ["train"]


def test_link_folder(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("a\tr\tb\na\tr\tb\n")
    (tmp_path / "valid.txt").write_text("c\tr\ta\n")
    (tmp_path / "test.txt").write_text("d\ts\ta\n")
    dataset = load_dataset(tmp_path)
    assert list(dataset.node_names) == ["a", "b", "c", "d"]
    assert dataset.graph.num_nodes == 4
    assert dataset.graph.num_relations == 2
    assert dataset.graph.num_edges == 1
    assert dataset.triples["test"].tolist() == [[3, 1, 0]]
    assert dataset.warnings == (
        "1 of 2 triples of train.txt are repetitions; they count once",
        "1 of 2 relations have no training triple",
    )


def test_catalogue_name_goes_before_a_folder(
    shared_data: Path, tmp_path: Path, graph: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "aifb"
    folder.mkdir()
    graph.rename(folder / "graph.nt")
    monkeypatch.chdir(tmp_path)
    assert load_dataset("AIFB", data_dir=shared_data).graph.num_nodes == 8_285
    assert load_dataset("./aifb").graph.num_nodes == 4
    assert load_dataset(Path("aifb")).graph.num_nodes == 4


def test_what_cannot_be_loaded(graph: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no data set, file or folder 'mutagg'; did you mean 'mutag'\?\n.*aifb.*wn18"):
        load_dataset("mutagg")
    with pytest.raises(DataError, match="no such file or folder"):
        load_dataset("./nowhere/at_all")
    with pytest.raises(DataError, match=r"nowhere\.nt: there is no such file"):
        load_dataset("nowhere.nt")
    (tmp_path / "graph.json").write_text("{}")
    with pytest.raises(DataError, match=r"unknown extension '.json'\n.*\.nt.*\.tsv"):
        load_dataset(tmp_path / "graph.json")
    with pytest.raises(DataError, match="test labels without training labels"):
        load_dataset(graph, test_labels=tmp_path / "labels.csv")
    with pytest.raises(DataError, match="columns are for tables"):
        load_dataset(graph, columns=(0, 1, 2))
    with pytest.raises(DataError, match="no such file"):
        load_dataset(graph, labels=tmp_path / "absent.csv")
    with pytest.raises(DataError, match="three different"):
        load_dataset(graph, columns=("a", "b"))
    folder = tmp_path / "links"
    folder.mkdir()
    for split in ("train", "test"):
        (folder / f"{split}.tsv").write_text("a\tr\tb\n")
    with pytest.raises(DataError, match="takes no labels"):
        load_dataset(folder, labels=tmp_path / "labels.csv")


# ---------------------------------------------------------------------- triples in files of their own


def named(dataset: Dataset) -> dict[str, set[tuple[str, str, str]]]:
    """Split -> its triples by name."""
    nodes, relations = dataset.node_names, dataset.relation_names
    return {
        split: {(nodes[h], relations[r], nodes[t]) for h, r, t in triples.tolist()}
        for split, triples in dataset.triples.items()
    }


def test_splits_may_be_files_that_are_named_one_by_one(tmp_path: Path) -> None:
    for name, rows in (("a", "b\tis\tc\nc\tis\td\n"), ("b", "b\tis\td\n"), ("c", "d\tis\tb\n")):
        (tmp_path / f"{name}.tsv").write_text("to\tkind\tfrom\n" + rows)
    files = [tmp_path / f"{name}.tsv" for name in "abc"]
    data = load_dataset(files[0], valid=files[1], test=files[2], columns=("from", "kind", "to"))
    assert named(data) == {
        "train": {("c", "is", "b"), ("d", "is", "c")},
        "valid": {("d", "is", "b")},
        "test": {("b", "is", "d")},
    }
    assert data.graph.num_edges == 2
    assert list(load_dataset(files[0], test=files[2]).triples) == ["train", "test"]
    with pytest.raises(DataError, match="labels are for classifying nodes"):
        load_dataset(files[0], valid=files[1], labels=files[2])
    files[0].rename(tmp_path / "train.tsv")
    with pytest.raises(DataError, match="single file of training triples"):
        load_dataset(tmp_path, valid=files[1])


def test_splits_may_be_rdf(tmp_path: Path) -> None:
    (tmp_path / "train.nt").write_text(NT + f'<{E}a> <{E}r> "1" .\n')
    (tmp_path / "test.ttl").write_text(f"@prefix : <{E}> .\n:c :r :a . :new :s :c .\n")
    data = load_dataset(tmp_path)
    assert data.task == "links"
    assert named(data)["test"] == {(E + "c", E + "r", E + "a"), (E + "new", E + "s", E + "c")}
    assert len(named(data)["train"]) == 4
    assert len(data.literals) == 1
    one_by_one = load_dataset(tmp_path / "train.nt", test=tmp_path / "test.ttl", drop_relations=[E + "is"])
    assert named(one_by_one)["test"] == named(data)["test"]
    assert len(named(one_by_one)["train"]) == 3
    with pytest.raises(DataError, match="columns are for tables"):
        load_dataset(tmp_path / "train.nt", test=tmp_path / "test.ttl", columns=(0, 1, 2))
