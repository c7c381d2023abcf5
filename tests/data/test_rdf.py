from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brgcn.data.rdf import read_rdf
from brgcn.errors import DataError

pyoxigraph = pytest.importorskip("pyoxigraph")

E = "http://example.org/"
NT = f"""<{E}a> <{E}r> <{E}b> .
# a comment
_:x <{E}s> "text"@en .
<{E}a> <{E}r> <{E}b> .
<{E}b> <{E}target> "{E}a" .
"""
TTL = f"@prefix e: <{E}> .\ne:a e:r e:b .\n[] e:s 'text'@en .\ne:b e:target 'one' .\n"
XML = f"""<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="{E}">
  <rdf:Description rdf:about="{E}a"><e:r rdf:resource="{E}b"/><e:s>v</e:s></rdf:Description>
</rdf:RDF>
"""


def write(path: Path, content: str | bytes) -> Path:
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize("name", ["g.nt", "g.nt.gz", "G.NT", "g.nq"])
def test_nodes_are_full_terms_and_triples_a_set(tmp_path: Path, name: str) -> None:
    content = read_rdf(write(tmp_path / name, NT))
    assert content.node_names == [f'"{E}a"', '"text"@en', "_:x", f"{E}a", f"{E}b"]
    assert content.relation_names == [f"{E}r", f"{E}s", f"{E}target"]
    assert content.triples.tolist() == [[3, 0, 4], [2, 1, 1], [4, 2, 0]]
    assert content.warnings == ()


def test_graph_names_of_quads_are_left_aside(tmp_path: Path) -> None:
    text = f"<{E}a> <{E}r> <{E}b> <{E}g> .\n<{E}a> <{E}r> <{E}b> <{E}h> .\n"
    content = read_rdf(write(tmp_path / "g.nq", text))
    assert content.triples.tolist() == [[0, 0, 1]]
    assert content.node_names == [f"{E}a", f"{E}b"]


def test_gzip_is_seen_by_content(tmp_path: Path) -> None:
    (tmp_path / "g.nt").write_bytes(gzip.compress(NT.encode()))
    write(tmp_path / "h.nt", NT).rename(tmp_path / "h.nt.gz")
    assert len(read_rdf(tmp_path / "g.nt").triples) == len(read_rdf(tmp_path / "h.nt.gz").triples) == 3


def test_turtle_and_xml(tmp_path: Path) -> None:
    turtle = read_rdf(write(tmp_path / "g.ttl", TTL))
    assert turtle.node_names == ['"one"', '"text"@en', "_:unnamed-0", f"{E}a", f"{E}b"]
    for name in ("g.rdf", "g.owl.gz", "g.xml"):
        xml = read_rdf(write(tmp_path / name, XML))
        assert xml.node_names == ['"v"', f"{E}a", f"{E}b"]
        assert xml.relation_names == [f"{E}r", f"{E}s"]


def test_nodes_without_label_are_named_alike_each_time(tmp_path: Path) -> None:
    path = write(tmp_path / "g.ttl", f"[] <{E}r> _:unnamed-1 , [] . _:mine <{E}r> _:unnamed-1 .")
    first, second = read_rdf(path), read_rdf(path)
    assert first.node_names == second.node_names
    assert len(set(first.node_names)) == 4
    assert "_:mine" in first.node_names


def test_dropped_relations_take_their_nodes_with_them(tmp_path: Path) -> None:
    path = write(tmp_path / "g.nt", NT)
    content = read_rdf(path, [f"{E}target", f"{E}absent"])
    assert content.node_names == ['"text"@en', "_:x", f"{E}a", f"{E}b"]
    assert content.relation_names == [f"{E}r", f"{E}s"]
    assert content.dropped == {f"{E}target"}
    assert read_rdf(path, [f"<{E}target>"]).dropped == {f"{E}target"}


def test_relative_iris_do_not_depend_on_the_folder(tmp_path: Path) -> None:
    contents = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        folder.mkdir()
        contents.append(read_rdf(write(folder / "my graph.ttl", f"<a> <{E}r> <#b> .")))
    assert contents[0].node_names == contents[1].node_names == ["file:///a", "file:///my%20graph.ttl#b"]
    assert "relative" in contents[0].warnings[0]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=8, unique=True))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
def test_what_was_written_is_read(tmp_path: Path, texts: list[str]) -> None:
    subject, predicate = pyoxigraph.NamedNode(f"{E}a"), pyoxigraph.NamedNode(f"{E}r")
    quads = [pyoxigraph.Quad(subject, predicate, pyoxigraph.Literal(text)) for text in texts]
    written = pyoxigraph.serialize(quads, format=pyoxigraph.RdfFormat.N_QUADS)
    graph = read_rdf(write(tmp_path / "g.nq", written)).named_graph()
    assert sorted(graph.literals.values()) == sorted(texts)


def test_numbers_do_not_depend_on_the_order_of_statements(tmp_path: Path) -> None:
    forwards = read_rdf(write(tmp_path / "g.nt", NT))
    backwards = read_rdf(write(tmp_path / "h.nt", "\n".join(reversed(NT.splitlines())) + "\n"))
    assert forwards.node_names == backwards.node_names
    assert forwards.relation_names == backwards.relation_names
    assert sorted(forwards.triples.tolist()) == sorted(backwards.triples.tolist())


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.nt", b"", "the file is empty"),
        ("blank.nt.gz", b"\n\n", "holds no triples"),
        ("comment.ttl", b"# nothing\n", "holds no triples"),
        ("syntax.nt", f"<{E}a> <{E}r> <{E}b> .\n<{E}a> <{E}r> oops .\n", r"syntax.nt, line 2: not valid N-Triples"),
        ("cut.nt", f"<{E}a> <{E}r> <{E}b> .\n<{E}a> <{E}", r"cut.nt, line 2: not valid"),
        ("relative.nt", "<a> <b> <c> .", r"line 1: not valid N-Triples: No scheme"),
        ("utf8.nt", b'<http://a> <http://b> <http://c> .\n<http://a> <http://b> "\xff" .', r"line 2.*UTF-8"),
        ("junk.nt", bytes(range(256)), r"junk.nt, line \d+: not valid N-Triples"),
        ("junk.ttl", bytes(range(256)), r"junk.ttl, line \d+: not valid Turtle"),
        ("junk.rdf", bytes(range(256)), r"junk.rdf, line 1: not well-formed XML"),
        ("cut.rdf", XML[:-12], r"cut.rdf, line \d: not well-formed XML"),
        ("cut.owl", XML[:200], r"cut.owl, line \d: not well-formed XML"),
        ("html.xml", "<html><body>Not found</body></html>", "html.xml"),
        ("star.nt", f"<{E}a> <{E}r> <<( <{E}a> <{E}r> <{E}b> )>> .", "a triple about a triple"),
        ("graph.json", "{}", r"unknown extension '.json'.*\n.*\.nt, \.nq, \.ttl"),
        ("graph", "x", "unknown extension ''"),
        ("zip.nt", b"PK\x03\x04....", "a zip archive"),
    ],
)
def test_bad_files(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    path = write(tmp_path / name, content)
    with pytest.raises(DataError, match=message) as caught:
        read_rdf(path)
    assert str(path) in str(caught.value)


def test_damaged_gzip(tmp_path: Path) -> None:
    whole = gzip.compress("".join(f"<{E}{i}> <{E}r> <{E}{i * 7919}> .\n" for i in range(5000)).encode())
    middle = len(whole) // 2
    changed = whole[:middle] + bytes(255 - byte for byte in whole[middle : middle + 50]) + whole[middle + 50 :]
    for data in (whole[:-20], whole[:middle], changed, whole[:10]):
        path = tmp_path / "g.nt.gz"
        path.write_bytes(data)
        with pytest.raises(DataError, match=r"g\.nt\.gz"):
            read_rdf(path)
    path.write_bytes(whole[:-20])
    with pytest.raises(DataError, match="damaged or cut short"):
        read_rdf(path)


def test_missing_file_folder_and_dropping_everything(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        read_rdf(tmp_path / "g.nt")
    (tmp_path / "folder.nt").mkdir()
    with pytest.raises(DataError, match="this is a folder"):
        read_rdf(tmp_path / "folder.nt")
    path = write(tmp_path / "g.nt", f"<{E}a> <{E}r> <{E}b> .")
    with pytest.raises(DataError, match="dropped relations"):
        read_rdf(path, [f"{E}r"])


def test_permission_denied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "g.nt", NT)

    def refuse(*_: object) -> None:  # the superuser, as whom tests may run, can open any file
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(DataError, match=r"g\.nt: permission denied"):
        read_rdf(path)


def test_progress_goes_to_standard_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = read_rdf(write(tmp_path / "g.nt.gz", NT), progress=True)
    assert len(content.triples) == 3
    assert capsys.readouterr().out == ""
