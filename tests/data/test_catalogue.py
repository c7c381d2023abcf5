"""The facts of the catalogue, and the digest that proves a data set whatever its container."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from brgcn.data import catalogue
from brgcn.data.content import canonical_number, read_content
from brgcn.data.verify import check_content, count_differences
from brgcn.errors import DataError

ENTRIES = catalogue.entries()
COMPLETE = ("aifb", "mutag", "fb15k", "wn18", "fb15k-237")


def test_all_names_are_there() -> None:
    assert catalogue.names() == (
        *("aifb", "mutag", "bgs", "am", "fb15k", "wn18", "fb15k-237"),
        *("bgs-standin", "am-standin", "am-standin-categories"),
    )


@pytest.mark.parametrize(
    ("spelling", "name"),
    [("AIFB", "aifb"), ("FB15k237", "fb15k-237"), ("fb15k_237", "fb15k-237"), ("AM Standin", "am-standin")],
)
def test_spelling_does_not_matter(spelling: str, name: str) -> None:
    entry = catalogue.find(spelling)
    assert entry is not None
    assert entry.name == name


def test_unknown_names() -> None:
    assert catalogue.find("aifb2") is None
    assert catalogue.nearest("mutagg") == "mutag"
    assert catalogue.nearest("zzzzzz") is None


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_every_entry_is_complete(entry: catalogue.Entry) -> None:
    for digest in [*entry.sha256.values(), *([entry.content_sha256] if entry.content_sha256 else [])]:
        assert len(bytes.fromhex(digest)) == 32
    assert entry.licence
    assert entry.citation
    assert entry.sources
    assert entry.train_file or entry.labels_file
    assert {"relations", "train", "test"} <= set(entry.expected)
    if entry.task == "nodes":
        assert entry.node_column
        assert entry.label_column
        assert entry.graph_file
        assert entry.drop_relations
        assert all(relation.startswith("http") for relation in entry.drop_relations)
    assert (entry.content_sha256 is not None) == (entry.name in COMPLETE)
    # Which kind of place each can come from.
    assert bool(entry.public_archives) == ("standin" not in entry.name and entry.name != "fb15k")
    assert (entry.package is not None) == (entry.name in ("mutag", "fb15k", "fb15k-237", "wn18"))
    if "standin" in entry.name:
        assert any("never report as such" in note for note in entry.notes)


def test_removed_target_relations() -> None:
    ends = {
        entry.name: sorted(r.rsplit("/", 1)[-1].rsplit("#", 1)[-1] for r in entry.drop_relations) for entry in ENTRIES
    }
    assert ends["aifb"] == ["affiliation", "employs"]
    assert ends["mutag"] == ["isMutagenic"]
    assert ends["bgs"] == ends["bgs-standin"] == ["hasLithogenesis"]
    assert ends["am"] == ends["am-standin"] == ends["am-standin-categories"] == ["material", "objectCategory"]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_known_sha256_are_those_of_the_real_files(entry: catalogue.Entry, shared_data: Path) -> None:
    there = [file for file in entry.sha256 if (shared_data / entry.folder / file).is_file()]
    if not there:
        pytest.skip(f"{entry.name} is not in {shared_data}")
    for file in there:
        found = hashlib.sha256((shared_data / entry.folder / file).read_bytes()).hexdigest()
        assert found == entry.sha256[file], file


@pytest.mark.parametrize("name", ["aifb", "mutag", "wn18"])
def test_content_of_the_real_files(name: str, shared_data: Path) -> None:
    entry = catalogue.find(name)
    assert entry is not None
    assert check_content(entry, shared_data / entry.folder).counts == entry.expected


# ---------------------------------------------------------------------- the digest

ENTRY = catalogue.Entry(
    name="small",
    title="",
    task="nodes",
    folder="small",
    expected={},
    licence="",
    citation=(),
    sources=(),
    graph_file="graph.nt",
    train_file="train.tsv",
    node_column="n",
    label_column="l",
    drop_relations=("urn:target",),
)
GRAPH = [
    "<urn:a> <urn:p> _:x .",
    "_:x <urn:q> _:y .",
    '_:y <urn:v> "0.50"^^<http://www.w3.org/2001/XMLSchema#double> .',
    "<urn:a> <urn:target> <urn:c> .",
]
LABELS = "l\tn\n1\turn:a\n"


def content(tmp_path: Path, lines: list[str], labels: str = LABELS, entry: catalogue.Entry = ENTRY) -> str | None:
    graph = "\n".join(lines).encode()
    assert entry.graph_file is not None
    (tmp_path / entry.graph_file).write_bytes(gzip.compress(graph) if entry.graph_file.endswith("gz") else graph)
    (tmp_path / "train.tsv").write_text(labels)
    return read_content(entry, tmp_path).digest


def test_digest_sees_content_and_nothing_else(tmp_path: Path) -> None:
    digest = content(tmp_path, GRAPH)
    renamed = [line.replace("_:x", "_:k").replace("_:y", "_:x").replace('"0.50"', '"0.5"') for line in GRAPH[::-1]]
    assert content(tmp_path, [*renamed, renamed[0]]) == digest
    assert content(tmp_path, GRAPH, entry=replace(ENTRY, graph_file="graph.nt.gz")) == digest
    assert content(tmp_path, GRAPH[:-1], labels="n\tother\tl\r\nurn:a\t?\t1\r\n") == digest
    changes = [
        GRAPH[1:],
        [*GRAPH, "<urn:b> <urn:p> _:x ."],
        [line.replace("0.50", "0.55") for line in GRAPH],
        [line.replace("_:y <urn:v>", "_:x <urn:v>") for line in GRAPH],
    ]
    digests = {content(tmp_path, lines) for lines in changes}
    assert len(digests | {digest}) == 5
    assert content(tmp_path, GRAPH, labels=LABELS.replace("1\t", "2\t")) != digest


def test_two_alike_blank_nodes_are_not_one(tmp_path: Path) -> None:
    one = ["<urn:a> <urn:p> _:x ."]
    assert content(tmp_path, one) != content(tmp_path, [*one, "<urn:a> <urn:p> _:y ."])


@pytest.mark.parametrize(
    ("text", "canonical"),
    [("-0.0060", "-0.006"), ("0.0", "0.0"), ("1.00", "1.0"), ("10", "10"), ("0.5", "0.5"), ("1.50E0", "1.50E0")],
)
def test_trailing_zeros(text: str, canonical: str) -> None:
    double = '"{}"^^<http://www.w3.org/2001/XMLSchema#double>'
    assert canonical_number(double.format(text)) == double.format(canonical)
    assert canonical_number(f'"{text}"') == f'"{text}"'


def test_counts_are_compared(tmp_path: Path) -> None:
    content(tmp_path, GRAPH)
    with pytest.raises(DataError, match="3 edges instead of 4"):
        check_content(replace(ENTRY, expected={"edges": 4}), tmp_path)
    with pytest.raises(DataError, match="its digest is"):
        check_content(replace(ENTRY, expected={"edges": 3}, content_sha256="0" * 64), tmp_path)
    assert check_content(replace(ENTRY, expected={"edges": 3}), tmp_path).counts["nodes"] == 4
    assert count_differences(replace(ENTRY, expected={"edges": 1000}), {"edges": 995}, tolerance=0.01) == []


def test_far_too_much_content_is_not_read_to_the_end(tmp_path: Path) -> None:
    content(tmp_path, [f"<urn:a> <urn:p> <urn:{i}> ." for i in range(50)])
    with pytest.raises(DataError, match="more than 4 times"):
        check_content(replace(ENTRY, expected={"edges": 10}), tmp_path)
