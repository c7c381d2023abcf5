from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brgcn.data.triples import Columns, TripleReader, read_triple_table
from brgcn.errors import DataError


def read(path: Path, columns: Columns | None = None) -> tuple[list[str], list[str], list[list[int]]]:
    graph, _ = read_triple_table(path, columns=columns)
    return list(graph.node_names), list(graph.relation_names), graph.triples().tolist()


ABC = (["a", "b", "c"], ["r", "s"], [[0, 0, 1], [1, 1, 2]])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("plain.tsv", "a\tr\tb\nb\ts\tc\n"),
        ("no_last_newline.tsv", "a\tr\tb\nb\ts\tc"),
        ("crlf_and_bom.tsv", "\ufeffa\tr\tb\r\nb\ts\tc\r\n"),
        ("blank_lines.tsv", "\na\tr\tb\n\n \nb\ts\tc\n\n"),
        ("header.tsv", "Head\tRelation\tTail\na\tr\tb\nb\ts\tc\n"),
        ("other_header.csv", "object,subject,predicate\nb,a,r\nc,b,s\n"),
        ("more_columns.csv", "n,source,type,target\n1,a,r,b\n2,b,s,c\n"),
        ("quoted.csv", '"a","r","b"\n"b",s,c\n'),
        ("semicolons.csv", "a;r;b\nb;s;c\n"),
        ("words.txt", "a r b\nb  s c\n"),
        ("tabs.txt", "a\tr\tb\nb\ts\tc\n"),
        ("commas.txt", "a,r,b\nb,s,c\n"),
        ("short_header.txt", "h r t\na r b\nb s c\n"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_kinds_of_tables(tmp_path: Path, name: str, content: str, packed: bool) -> None:
    path = tmp_path / (name + ".gz" if packed else name)
    path.write_bytes(gzip.compress(content.encode()) if packed else content.encode())
    assert read(path) == ABC


@pytest.mark.parametrize("columns", [("from", "how", "to"), (2, 0, 1), ("2", "how", 1)])
def test_columns_by_name_and_position(tmp_path: Path, columns: Columns) -> None:
    path = tmp_path / "t.csv"
    named = any(isinstance(column, str) and not column.isdigit() for column in columns)
    path.write_text(("how,to,from,extra\n" if named else "") + "r,b,a,1\ns,c,b,2\n")
    assert read(path, columns) == ABC


def test_names_are_kept_as_given(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text('"quoted"\tr , x\t a b \n')
    assert read(path) == (['"quoted"', " a b "], ["r , x"], [[0, 0, 1]])
    path = tmp_path / "commas in names.txt"
    path.write_text("a,1 r b\n")
    assert read(path)[0] == ["a,1", "b"]
    graph, _ = read_triple_table(tmp_path / "t.tsv")
    assert len(graph.literals) == 0


cell = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\0"), min_size=1, max_size=6)


@given(st.lists(st.tuples(cell, cell, cell), min_size=1, max_size=8, unique=True))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
def test_what_was_written_is_read(tmp_path: Path, rows: list[tuple[str, str, str]]) -> None:
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows([("head", "relation", "tail"), *rows])
    path = tmp_path / "t.csv"
    path.write_bytes(text.getvalue().encode())
    nodes, relations, triples = read(path)
    assert [(nodes[h], relations[r], nodes[t]) for h, r, t in triples] == rows


def test_repetitions_and_dropped_relations(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text("a\tr\tb\na\tr\tb\na\tlabel\tz\n")
    reader = TripleReader(drop_relations=["label"])
    assert reader.read(path).tolist() == [[0, 0, 1]]
    assert list(reader.nodes) == ["a", "b"]
    assert reader.dropped == {"label"}
    assert reader.warnings == ["1 of 2 triples of t.tsv are repetitions; they count once"]


def test_one_numbering_over_several_tables(tmp_path: Path) -> None:
    (tmp_path / "one.tsv").write_text("a\tr\tb\n")
    (tmp_path / "two.tsv").write_text("c\ts\ta\n")
    reader = TripleReader()
    assert reader.read(tmp_path / "one.tsv").tolist() == [[0, 0, 1]]
    assert reader.read(tmp_path / "two.tsv").tolist() == [[2, 1, 0]]


@pytest.mark.parametrize(
    ("name", "content", "columns", "message"),
    [
        ("empty.tsv", b"", None, "the file is empty"),
        ("blank.tsv", b"\n \n", None, "has no rows"),
        ("only_header.tsv", b"head\trelation\ttail\n", None, "holds no triples"),
        ("short.tsv", b"a\tr\tb\n\na\tr\n", None, r"short.tsv, line 3: the row has 2 columns, but the first row has 3"),
        ("long.csv", b"a,r,b\na,r,b,c\n", None, r"line 2: the row has 4 columns"),
        ("four.tsv", b"a\tr\tb\tc\n", None, r"line 1: the row has 4 columns, but a triple has 3\n.*a \| r \| b \| c"),
        ("one.txt", b"14951\n1 2 3\n", None, r"line 1: the row has 1 column, but"),
        ("cell.tsv", b"a\tr\tb\na\t\tb\n", None, r"cell.tsv, line 2: the cell in column 2 is empty"),
        ("utf8.tsv", b"a\tr\tb\na\tr\t\xff\n", None, r"utf8.tsv, line 2: the text is not valid UTF-8"),
        ("utf16.tsv", "a\tr\tb\n".encode("utf-16"), None, "UTF-16"),
        ("junk.tsv", b"a\tb\0\tc\n", None, "not a text file"),
        ("quote.csv", b'a,r,b\n"a,r,b\n', None, r"quote.csv, line 2: not valid CSV"),
        ("names.csv", b"from,how,to\na,r,b\n", ("form", "how", "to"), r"did you mean 'from'.*\n.*from, how, to"),
        ("position.csv", b"a,r,b\n", (0, 1, 3), r"no column 3\n.*0 to 2"),
        ("twice.csv", b"a,r,b\n", (0, 1, 1), "three different"),
        ("table.parquet", b"PAR1", None, r"unknown extension '.parquet'"),
        ("cut.tsv.gz", gzip.compress(b"a\tr\tb\n" * 1000, mtime=0)[:-10], None, "damaged or cut short"),
    ],
)
def test_bad_tables(tmp_path: Path, name: str, content: bytes, columns: Columns | None, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message):
        read(tmp_path / name, columns)


def test_dropping_everything(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("a\tr\tb\n")
    with pytest.raises(DataError, match="dropped relations"):
        TripleReader(drop_relations=["r"]).read(tmp_path / "t.tsv")
