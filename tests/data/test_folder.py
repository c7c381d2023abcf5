from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from brgcn.data.folder import Inputs, Options, recognise
from brgcn.errors import DataError


def make(folder: Path, *names: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_text(f"content of {name}")
    return folder


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("g.nt.gz", "trainingSet.tsv", "testSet.tsv", "completeDataset.tsv"), {"train", "test"}),
        (("g.owl", "trainingSet.csv", "testSet.csv", "validSet.csv"), {"train", "valid", "test"}),
        (("g.ttl", "train.tsv.gz", "validation_set.txt", "README.md", ".hidden.nt"), {"train", "valid"}),
        (("g.nq",), set()),
    ],
)
def test_rdf_with_labels(tmp_path: Path, names: tuple[str, ...], expected: set[str]) -> None:
    inputs = recognise(make(tmp_path, *names))
    assert inputs.task == "nodes"
    assert inputs.graph_file == tmp_path / names[0]
    assert set(inputs.label_files) == expected
    assert inputs.triple_files == {}


@pytest.mark.parametrize("ending", [".txt", ".tsv", ".csv.gz"])
def test_triples_per_split(tmp_path: Path, ending: str) -> None:
    others = ("entities.dict.gz", "entity_names.tsv.gz", "LICENSE.txt")
    inputs = recognise(make(tmp_path, f"test{ending}", f"valid{ending}", f"train{ending}", *others))
    assert inputs.task == "links"
    assert inputs.graph_file is None
    assert list(inputs.triple_files) == ["train", "valid", "test"]
    (tmp_path / f"valid{ending}").unlink()
    assert list(recognise(tmp_path).triple_files) == ["train", "test"]


def test_rdf_files_per_split(tmp_path: Path) -> None:
    inputs = recognise(make(tmp_path / "links", "train.nt", "valid.ttl", "test.nt.gz", "README.md"))
    assert inputs.task == "links"
    assert {split: path.name for split, path in inputs.triple_files.items()} == {
        "train": "train.nt",
        "valid": "valid.ttl",
        "test": "test.nt.gz",
    }
    for more in ("trainingSet.tsv", "other.nt"):  # labels of a graph, or a graph beside them: nobody knows which
        with pytest.raises(DataError, match="call the files train"):
            recognise(make(tmp_path / more, "train.nt", "test.nt", more))


def test_folders_that_are_no_data_sets(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"2 RDF files: a.nt, b.ttl.gz\n.*Name one"):
        recognise(make(tmp_path / "two", "a.nt", "b.ttl.gz", "trainingSet.tsv"))
    with pytest.raises(DataError, match=r"two files could be the train split: train.tsv and train.txt"):
        recognise(make(tmp_path / "twice", "train.tsv", "train.txt"))
    with pytest.raises(DataError, match=r"it has notes.md.*\n.*trainingSet.tsv"):
        recognise(make(tmp_path / "other", "notes.md"))
    with pytest.raises(DataError, match=r"neither an RDF file nor training triples"):
        recognise(make(tmp_path / "no_training", "test.tsv"))
    with pytest.raises(DataError, match="it is empty"):
        recognise(make(tmp_path / "empty"))
    with pytest.raises(DataError, match=r"the folders empty, no_training"):
        recognise(tmp_path)


def test_fingerprint_follows_content_and_options(tmp_path: Path) -> None:
    folder = make(tmp_path / "one", "g.nt", "trainingSet.tsv", "testSet.tsv")
    inputs = recognise(folder)
    first = inputs.fingerprint()
    assert recognise(shutil.copytree(folder, tmp_path / "copy")).fingerprint() == first
    (folder / "README.md").write_text("not read")
    assert inputs.fingerprint() == first
    changed = {
        replace(inputs, options=Options(drop_relations=("x",))).fingerprint(),
        replace(inputs, options=Options(label_column="x")).fingerprint(),
        replace(inputs, label_files={}).fingerprint(),
        Inputs("nodes", inputs.graph_file, {"test": folder / "trainingSet.tsv"}).fingerprint(),
    }
    (folder / "testSet.tsv").write_text("other")
    changed.add(inputs.fingerprint())
    assert len(changed | {first}) == 6


def test_name_matters_only_where_iris_may_be_relative(tmp_path: Path) -> None:
    make(tmp_path, "a.ttl", "a.nt")
    for ending, same in ((".ttl", False), (".nt", True)):
        shutil.copy(tmp_path / f"a{ending}", tmp_path / f"b{ending}")
        one, two = (Inputs("nodes", tmp_path / f"{name}{ending}").fingerprint() for name in "ab")
        assert (one == two) is same
