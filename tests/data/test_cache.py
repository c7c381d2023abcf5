from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch

from brgcn.data import Dataset, cache, load_dataset, loading

NT = "".join(f"<http://e/{i}> <http://e/r{i % 3}> <http://e/{(i * 7) % 50}> .\n" for i in range(200))


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "g.nt").write_text(NT + '<http://e/1> <http://e/r1> "1"^^<http://int> .\n')
    (folder / "trainingSet.tsv").write_text("node\tlabel\nhttp://e/1\tx\nhttp://e/2\ty\nhttp://e/absent\ty\n")
    (folder / "testSet.tsv").write_text("node\tlabel\nhttp://e/3\tx\n")
    return folder


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Grows by one each time files are really read."""
    calls: list[str] = []
    for name in ("_read_nodes", "_read_links"):
        original = getattr(loading, name)

        def counted(inputs: object, progress: bool, original: object = original, name: str = name) -> object:
            calls.append(name)
            return original(inputs, progress)  # type: ignore[operator]

        monkeypatch.setattr(loading, name, counted)
    return calls


def assert_same(one: Dataset, other: Dataset) -> None:
    for field in ("name", "task", "label_names", "fingerprint", "source", "warnings", "relation_names"):
        assert getattr(one, field) == getattr(other, field)
    assert one.node_names == other.node_names
    assert torch.equal(one.named_graph.triples(), other.named_graph.triples())
    assert one.literals.values() == other.literals.values()
    assert one.splits.keys() == other.splits.keys()
    for split in one.splits:
        assert torch.equal(one.splits[split].nodes, other.splits[split].nodes)
        assert torch.equal(one.splits[split].labels, other.splits[split].labels)
    assert one.triples.keys() == other.triples.keys()
    for split in one.triples:
        assert torch.equal(one.triples[split], other.triples[split])


def test_second_opening_is_the_same_and_reads_no_graph(files: Path, tmp_path: Path, reads: list[str]) -> None:
    first = load_dataset(files, cache_dir=tmp_path / "cache")
    second = load_dataset(files, cache_dir=tmp_path / "cache")
    assert reads == ["_read_nodes"]
    assert len(first.warnings) == 1
    assert_same(first, second)


def test_triples_of_links_are_kept(tmp_path: Path, reads: list[str]) -> None:
    folder = tmp_path / "links"
    folder.mkdir()
    (folder / "train.txt").write_text("a\tr\tb\nb\ts\tc\n")
    (folder / "test.txt").write_text("c\tr\td\n")
    first = load_dataset(folder, cache_dir=tmp_path / "cache")
    second = load_dataset(folder, cache_dir=tmp_path / "cache")
    assert reads == ["_read_links"]
    assert_same(first, second)


def test_other_content_or_options_are_read_anew(files: Path, tmp_path: Path, reads: list[str]) -> None:
    load_dataset(files, cache_dir=tmp_path / "cache")
    load_dataset(files, cache_dir=tmp_path / "cache", drop_relations=["http://e/r1"])
    (files / "testSet.tsv").write_text("node\tlabel\nhttp://e/4\tx\n")
    changed = load_dataset(files, cache_dir=tmp_path / "cache")
    assert len(reads) == 3
    assert changed.node_names[int(changed.splits["test"].nodes[0])] == "http://e/4"


def test_without_cache_nothing_is_kept(files: Path, tmp_path: Path) -> None:
    load_dataset(files, cache_dir=tmp_path / "cache", use_cache=False)
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("damage", ["cut", "junk", "foreign", "empty", "header"])
def test_damaged_cache_is_rebuilt_silently(files: Path, tmp_path: Path, reads: list[str], damage: str) -> None:
    first = load_dataset(files, cache_dir=tmp_path / "cache")
    (kept,) = (tmp_path / "cache" / "datasets").iterdir()
    content = kept.read_bytes()
    replacement = {
        "cut": content[: len(content) // 2],
        "junk": b"\x00" * 5000,
        "foreign": b"hello",
        "empty": b"",
        "header": content.replace(b"label_names", b"label_namez"),
    }[damage]
    assert replacement != content
    kept.unlink()
    kept.write_bytes(replacement)
    assert_same(load_dataset(files, cache_dir=tmp_path / "cache"), first)
    assert len(reads) == 2
    assert kept.read_bytes() == content
    assert_same(load_dataset(files, cache_dir=tmp_path / "cache"), first)
    assert len(reads) == 2


def test_cache_that_cannot_be_written_does_no_harm(files: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    assert load_dataset(files, cache_dir=tmp_path / "cache").graph.num_relations == 3


def test_changing_an_opened_array_does_not_change_the_cache(files: Path, tmp_path: Path) -> None:
    first = load_dataset(files, cache_dir=tmp_path / "cache")
    load_dataset(files, cache_dir=tmp_path / "cache").graph.edge_source.zero_()
    assert_same(load_dataset(files, cache_dir=tmp_path / "cache"), first)


def test_concurrent_writers_and_readers(files: Path, tmp_path: Path) -> None:
    expected = load_dataset(files, use_cache=False)
    kept = cache.cache_file(expected.fingerprint, tmp_path / "cache")
    problems: list[str] = []

    def write() -> None:
        for _ in range(20):
            cache.store(kept, expected)

    def read() -> None:
        for _ in range(40):
            opened = cache.open_cached(kept, name=expected.name, source=expected.source)
            if kept_once.is_set() and opened is None:
                problems.append("a partial file was seen")
            if opened is not None and not torch.equal(opened.named_graph.triples(), expected.named_graph.triples()):
                problems.append("wrong content")

    kept_once = threading.Event()
    cache.store(kept, expected)
    kept_once.set()
    threads = [threading.Thread(target=work) for work in (write, write, read, read)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert [path.name for path in kept.parent.iterdir()] == [kept.name]


def test_another_process_opens_it_without_pyoxigraph(files: Path, tmp_path: Path) -> None:
    first = load_dataset(files, cache_dir=tmp_path / "cache")
    code = (
        "import sys; sys.modules['pyoxigraph'] = None\n"
        "from brgcn.data import load_dataset\n"
        f"d = load_dataset({str(files)!r}, cache_dir={str(tmp_path / 'cache')!r})\n"
        "print(d.graph.num_edges, 'pandas' in sys.modules, 'torch_geometric' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(first.graph.num_edges), "False", "False"]


def test_where_the_cache_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRGCN_CACHE", str(tmp_path / "env"))
    assert cache.cache_folder() == tmp_path / "env"
    assert cache.cache_folder(tmp_path / "given") == tmp_path / "given"
    monkeypatch.delenv("BRGCN_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setattr(sys, "platform", "linux")
    assert cache.cache_folder() == tmp_path / "xdg" / "brgcn"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache.cache_folder().parts[-3:] == ("Library", "Caches", "brgcn")
