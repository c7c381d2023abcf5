"""``obtain`` through each of its sources, with a small data set of our own and no network."""

from __future__ import annotations

import gzip
import io
import json
import os
import sys
import tarfile
import types
from dataclasses import replace
from pathlib import Path

import pytest
from serving import Resource, serve

from brgcn.data import catalogue
from brgcn.data.catalogue import Entry, Package, PublicArchive
from brgcn.data.content import read_content
from brgcn.data.fetch import locate, obtain
from brgcn.data.files import sha256_of
from brgcn.data.sources import download as download_module
from brgcn.errors import FetchError

OWL = b"""<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="urn:e#">
<rdf:Description rdf:about="urn:a"><e:knows rdf:resource="urn:b"/><e:target>yes</e:target>
<e:charge rdf:datatype="http://www.w3.org/2001/XMLSchema#double">0.50</e:charge></rdf:Description></rdf:RDF>"""
GRAPH = b'<urn:a> <urn:e#knows> <urn:b> .\n<urn:a> <urn:e#charge> "0.5"^^<http://www.w3.org/2001/XMLSchema#double> .\n'
TRAIN, TEST = b"n\tl\nurn:a\t1\n", b"n\tl\nurn:b\t0\n"
NODES_COUNTS = {"nodes": 3, "relations": 2, "edges": 2, "literals": 1, "train": 1, "test": 1, "classes": 2}
OPENKE = {
    "entity2id.txt": b"2\n/m/a\t0\n/m/b\t1\n",
    "relation2id.txt": b"1\nlikes\t0\n",
    "train2id.txt": b"2\n0 1 0\n1 1 0\n",
    "valid2id.txt": b"1\n1 0 0\n",
    "test2id.txt": b"1\n0 0 0\n",
}


def node_entry(content_sha256: str | None = None) -> Entry:
    return Entry(
        name="small",
        title="",
        task="nodes",
        folder="small-folder",
        expected=NODES_COUNTS,
        licence="",
        citation=(),
        sources=("the moon",),
        graph_file="g.nt.gz",
        train_file="train.tsv",
        test_file="test.tsv",
        node_column="n",
        label_column="l",
        drop_relations=("urn:e#target",),
        content_sha256=content_sha256,
    )


def link_entry() -> Entry:
    return replace(
        node_entry(),
        name="links",
        task="links",
        graph_file=None,
        train_file="train.tsv.gz",
        valid_file="valid.tsv.gz",
        test_file="test.tsv.gz",
        expected={"entities": 2, "relations": 1, "train": 2, "valid": 1, "test": 1},
    )


def tar_bytes(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, body in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(body)
            tar.addfile(info, io.BytesIO(body))
    return buffer.getvalue()


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No mirror, no index, no PyG unless a test brings its own."""
    monkeypatch.delenv("BRGCN_DATA", raising=False)
    for name in list(os.environ):
        if name.startswith("PIP_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setattr(download_module, "FIRST_PAUSE", 0.0)
    monkeypatch.setitem(sys.modules, "torch_geometric.datasets", None)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def make_mirror(root: Path, graph: bytes = GRAPH) -> Path:
    folder = root / "small-folder"
    folder.mkdir(parents=True)
    (folder / "g.nt.gz").write_bytes(gzip.compress(graph, mtime=0))
    (folder / "train.tsv").write_bytes(TRAIN)
    (folder / "test.tsv").write_bytes(TEST)
    return folder


def with_package(
    entry: Entry, recipe: str, members: dict[str, bytes], index: Path, monkeypatch: pytest.MonkeyPatch
) -> Entry:
    """The entry with a package ``data-1.0`` that lies on a ``file:`` index, which pip is told of."""
    project = index / "data"
    project.mkdir(parents=True, exist_ok=True)
    archive = project / "data-1.0.tar.gz"
    archive.write_bytes(tar_bytes({f"data-1.0/in/{name}": body for name, body in members.items()}))
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", index.as_uri())
    package = Package("data", "1.0", "data-1.0.tar.gz", sha256_of(archive), recipe, "data-1.0/in")
    return replace(entry, package=package)


def name_public_address(monkeypatch: pytest.MonkeyPatch, **addresses: object) -> None:
    module = types.ModuleType("torch_geometric.datasets")
    for name, address in addresses.items():
        setattr(module, name, type(name, (), {"url": address, "urls": address}))
    monkeypatch.setitem(sys.modules, "torch_geometric", types.ModuleType("torch_geometric"))
    monkeypatch.setitem(sys.modules, "torch_geometric.datasets", module)


# ---------------------------------------------------------------------- the mirror


@pytest.mark.parametrize("by_variable", [True, False])
def test_mirror_is_used_in_place(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, by_variable: bool
) -> None:
    folder = make_mirror(tmp_path / "mirror")
    if by_variable:
        monkeypatch.setenv("BRGCN_DATA", str(tmp_path / "mirror"))
    data_dir = None if by_variable else tmp_path / "mirror"
    assert locate(node_entry(), data_dir=data_dir, cache_dir=cache) == folder
    assert obtain(node_entry(), data_dir=data_dir, cache_dir=cache) == folder
    assert not cache.exists()


def test_mirror_with_another_file_is_an_error(tmp_path: Path, cache: Path) -> None:
    folder = make_mirror(tmp_path)
    entry = replace(node_entry(), sha256={"g.nt.gz": "0" * 64})
    with pytest.raises(FetchError, match=r"g\.nt\.gz: this is not the file of small that is known"):
        obtain(entry, data_dir=tmp_path, cache_dir=cache)
    digest = read_content(entry, folder).digest
    assert obtain(replace(entry, content_sha256=digest), data_dir=tmp_path, cache_dir=cache) == folder
    with pytest.raises(FetchError, match="all counts are right, but its digest"):
        obtain(replace(entry, content_sha256="1" * 64), data_dir=tmp_path, cache_dir=cache)


def test_everything_that_was_tried_is_listed(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "small-folder").mkdir()
    monkeypatch.setenv("BRGCN_DATA", str(tmp_path / "nowhere"))
    entry = replace(node_entry(), public_archives=(PublicArchive("Entities", bundle="small"),))
    with pytest.raises(FetchError) as failure:
        obtain(entry, data_dir=tmp_path, cache_dir=cache)
    message = str(failure.value)
    for part in (
        f"cache {cache}: not there",
        "small-folder lacks g.nt.gz, train.tsv, test.tsv",
        "(BRGCN_DATA): there is no such folder",
        "PyG's Entities: torch_geometric is not installed",
        "package index: no package is known",
        "Put g.nt.gz, train.tsv, test.tsv into a folder DIR/small-folder",
        "--data-dir DIR or set BRGCN_DATA=DIR",
        "the moon",
    ):
        assert part in message
    assert locate(entry, data_dir=tmp_path, cache_dir=cache) is None
    assert list((cache / "fetched").iterdir()) == []


# ---------------------------------------------------------------------- packages


def test_node_package_becomes_a_folder_of_the_usual_shape(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = {"mutag.owl": OWL, "MUTAG_train.tsv": TRAIN, "MUTAG_test.tsv": TEST, "../../../evil": b""}
    digest = read_content(node_entry(), make_mirror(tmp_path / "mirror")).digest
    entry = with_package(node_entry(digest), "mutag-owl", members, tmp_path / "simple", monkeypatch)
    folder = obtain(entry, cache_dir=cache)
    assert folder == locate(entry, cache_dir=cache) == cache / "fetched" / "small"
    assert sorted(path.name for path in folder.iterdir()) == ["g.nt.gz", "manifest.json", "test.tsv", "train.tsv"]
    assert sorted(gzip.decompress((folder / "g.nt.gz").read_bytes()).splitlines()) == sorted(GRAPH.splitlines())
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["counts"] == NODES_COUNTS
    assert manifest["files"]["train.tsv"] == sha256_of(folder / "train.tsv")
    assert [path.name for path in (cache / "fetched").iterdir()] == ["small"]


def test_link_package(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = with_package(link_entry(), "openke", OPENKE, tmp_path / "simple", monkeypatch)
    folder = obtain(entry, cache_dir=cache)
    assert gzip.decompress((folder / "train.tsv.gz").read_bytes()) == b"/m/a\tlikes\t/m/b\n/m/b\tlikes\t/m/b\n"
    assert gzip.decompress((folder / "valid.tsv.gz").read_bytes()) == b"/m/b\tlikes\t/m/a\n"


@pytest.mark.parametrize(
    ("file", "body", "reason"),
    [
        ("train2id.txt", b"3\n0 1 0\n1 1 0\n", "2 rows instead of the 3 announced"),
        ("train2id.txt", b"2\n0 1 0\n1 7 0\n", r"train2id.txt, line 3|not a row of known"),
        ("test2id.txt", b"2\n0 0 0\n1 0 0\n", "2 test instead of 1"),
        ("entity2id.txt", b"2\n/m/a\t0\n/m/b\t0\n", "not a row of a name and its own id"),
    ],
)
def test_wrong_content_never_enters_the_cache(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, file: str, body: bytes, reason: str
) -> None:
    entry = with_package(link_entry(), "openke", {**OPENKE, file: body}, tmp_path / "simple", monkeypatch)
    with pytest.raises(FetchError, match=reason):
        obtain(entry, cache_dir=cache)
    assert list((cache / "fetched").iterdir()) == []


def test_package_with_another_hash_is_not_opened(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = with_package(link_entry(), "openke", OPENKE, tmp_path / "simple", monkeypatch)
    assert entry.package is not None
    entry = replace(entry, package=replace(entry.package, sha256="0" * 64))
    with pytest.raises(FetchError, match=r"has sha256 .*, expected 0000"):
        obtain(entry, cache_dir=cache)
    assert list((cache / "downloads").iterdir()) == []


def test_cache_is_used_offline_and_rebuilt_when_damaged(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = with_package(link_entry(), "openke", OPENKE, tmp_path / "simple", monkeypatch)
    folder = obtain(entry, cache_dir=cache)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    assert obtain(entry, cache_dir=cache) == folder
    for damage in (b"", b"something else"):
        (folder / "valid.tsv.gz").write_bytes(damage)
        assert obtain(entry, cache_dir=cache) == folder  # from the package, which is kept
        assert gzip.decompress((folder / "valid.tsv.gz").read_bytes()) == b"/m/b\tlikes\t/m/a\n"
    (cache / "downloads" / "data-1.0.tar.gz").write_bytes(b"damaged too")
    (folder / "manifest.json").write_text("{")
    with pytest.raises(FetchError, match="no package index"):
        obtain(entry, cache_dir=cache)


def test_interruption_leaves_no_folder(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from brgcn.data import dataset_store

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    entry = with_package(link_entry(), "openke", OPENKE, tmp_path / "simple", monkeypatch)
    monkeypatch.setattr(dataset_store, "check_content", interrupted)
    with pytest.raises(KeyboardInterrupt):
        obtain(entry, cache_dir=cache)
    assert list((cache / "fetched").iterdir()) == []


def test_cache_that_cannot_be_written_is_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    entry = with_package(link_entry(), "openke", OPENKE, tmp_path / "simple", monkeypatch)
    with pytest.raises(FetchError, match="the cache could not be written"):
        obtain(entry, cache_dir=tmp_path / "file")


# ---------------------------------------------------------------------- public archives


def test_bundle_that_pyg_names(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = replace(node_entry(), public_archives=(PublicArchive("Entities", bundle="small"),))
    body = tar_bytes({"./g.nt.gz": gzip.compress(GRAPH), "./train.tsv": TRAIN, "./test.tsv": TEST, "/abs": b""})
    with serve({"/d/small.tgz": Resource(body)}) as server:
        name_public_address(monkeypatch, Entities=server.url + "/d/{}.tgz")
        folder = obtain(entry, cache_dir=cache)
    assert (
        json.loads((folder / "manifest.json").read_text())["source"]
        == f"{server.url}/d/small.tgz, named by PyG's Entities"
    )
    assert gzip.decompress((folder / "g.nt.gz").read_bytes()) == GRAPH


def test_bundle_with_other_content_is_refused(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = replace(node_entry(), public_archives=(PublicArchive("Entities", bundle="small"),))
    body = tar_bytes({"g.nt.gz": gzip.compress(GRAPH[:32]), "train.tsv": TRAIN, "test.tsv": TEST})
    with serve({"/small.tgz": Resource(body)}) as server:
        name_public_address(monkeypatch, Entities=server.url + "/{}.tgz")
        with pytest.raises(FetchError, match="1 edges instead of 2"):
            obtain(entry, cache_dir=cache)
    assert list((cache / "fetched").iterdir()) == []


def test_split_files_as_names_or_ids_and_the_second_address(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archives = (PublicArchive("First"), PublicArchive("Second", attribute="urls", key="k"))
    entry = replace(link_entry(), public_archives=archives)
    named = {
        "/n/train.txt": Resource(b"/m/a\tlikes\t/m/b\r\n/m/b\tlikes\t/m/b\r\n"),
        "/n/valid.txt": Resource(b"/m/b\tlikes\t/m/a\n"),
        "/n/test.txt": Resource(b"/m/a\tlikes\t/m/a\n"),
    }
    ids = {
        f"/i/{name.replace('2id', '') if name[0] in 'tv' else name}": Resource(body) for name, body in OPENKE.items()
    }
    tables = []
    for base in ("/n", "/i"):
        with serve(named | ids) as server:
            name_public_address(monkeypatch, First=server.url + "/missing", Second={"k": server.url + base})
            folder = obtain(entry, cache_dir=cache / base[1:])
            tables.append(gzip.decompress((folder / "train.tsv.gz").read_bytes()))
    assert tables[0] == tables[1] == b"/m/a\tlikes\t/m/b\n/m/b\tlikes\t/m/b\n"


def test_pyg_still_names_what_the_catalogue_expects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    pytest.importorskip("torch_geometric")
    from brgcn.data.sources.public_archives import archive_address

    addresses = [archive_address(archive) for entry in catalogue.entries() for archive in entry.public_archives]
    assert len(addresses) == 7
    assert all(address.startswith("https://") and "{" not in address for address in addresses)
    assert addresses[0].endswith("/aifb.tgz")


@pytest.mark.parametrize("name", ["aifb", "mutag", "wn18"])
def test_real_data_through_a_public_archive(
    name: str, cache: Path, monkeypatch: pytest.MonkeyPatch, shared_data: Path
) -> None:
    """The real files packed as PyG's archives are, so that the proof by content is that of the catalogue."""
    entry = catalogue.find(name)
    assert entry is not None
    files = {file: (shared_data / entry.folder / file).read_bytes() for file in entry.required_files}
    if entry.task == "nodes":
        resources = {f"/{name}.tgz": Resource(tar_bytes(files))}
    else:
        resources = {
            f"/{file.replace('.tsv.gz', '.txt')}": Resource(gzip.decompress(body)) for file, body in files.items()
        }
    with serve(resources) as server:
        address = server.url + "/{}.tgz" if entry.task == "nodes" else server.url
        name_public_address(monkeypatch, Entities=address, WordNet18=address)
        folder = obtain(entry, cache_dir=cache)
    assert json.loads((folder / "manifest.json").read_text())["counts"] == entry.expected
