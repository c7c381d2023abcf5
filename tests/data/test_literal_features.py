"""Literals as features of the nodes that have them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from brgcn.data import load_dataset
from brgcn.data.literal_features import TEXT_WIDTH, LiteralEncoder, NumberColumns, number_of, text_codes
from brgcn.data.named_graph import NamedGraph

XSD = "http://www.w3.org/2001/XMLSchema#"
LINES = [
    *(f'<a{k}> <size> "{k}.5"^^<{XSD}double> .' for k in range(20)),
    '<a0> <size> "2.5"^^<' + XSD + "double> .",
    f'<a1> <open> "true"^^<{XSD}boolean> .',
    f'<a2> <open> "false"^^<{XSD}boolean> .',
    f'<a3> <born> "2001-07-01"^^<{XSD}date> .',
    f'<a4> <born> "1999-01-01"^^<{XSD}date> .',
    '<a5> <name> "Alice" .',
    '<a6> <name> "alice" .',
    '<a7> <name> "Zoë, 12" .',
    "<a0> <knows> <a1> .",
]


@pytest.fixture
def named(tmp_path: Path) -> NamedGraph:
    lines = [line.replace("<", "<urn:x:").replace("<urn:x:" + XSD, "<" + XSD) for line in LINES]
    (tmp_path / "graph.nt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "train.tsv").write_text("node\tlabel\nurn:x:a1\tx\nurn:x:a2\ty\n")
    return load_dataset(str(tmp_path / "graph.nt"), labels=tmp_path / "train.tsv").named_graph


def row(named: NamedGraph, name: str) -> int:
    return int(named.find_nodes([f"urn:x:{name}"])[0])


def test_what_values_say(named: NamedGraph) -> None:
    encoder = LiteralEncoder.fit(named)
    assert len(encoder.numbers) == 3
    assert len(encoder.texts) == 1
    x = encoder.encode(named)
    assert x.shape == (named.graph.num_nodes, encoder.width)
    assert encoder.width == 8 + 2 + 2 + TEXT_WIDTH
    assert x[named.literals.nodes].abs().sum() == 0  # it is their owners that have features
    blocks = {named.relation_names[c.relation].rsplit(":")[-1]: c for c in encoder.numbers}
    first = {}
    begin = 0
    for column in encoder.numbers:
        first[column.relation] = begin
        begin += column.width
    size = first[blocks["size"].relation]
    codes = x[:, size : size + 8]
    assert codes[row(named, "a5")].sum() == pytest.approx(1)
    mean = (blocks["size"].encode(torch.tensor([0.5, 2.5], dtype=torch.double))).mean(0)
    torch.testing.assert_close(codes[row(named, "a0")], mean)
    far = (codes[row(named, "a9")] - codes[row(named, "a19")]).norm()
    assert (codes[row(named, "a9")] - codes[row(named, "a10")]).norm() < far
    text = x[:, begin:]
    assert text[row(named, "a5")].equal(text[row(named, "a6")])  # letters, not cases
    assert not text[row(named, "a5")].equal(text[row(named, "a7")])


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("-0.25", -0.25),
        (" 1e3 ", 1000.0),
        ("TRUE", 1.0),
        ("2000-01-01T10:00:00Z", 2000.0),
        ("-0044-03-15", -44 + 2 / 12 + 14 / 372),
        ("nan", None),
        ("inf", None),
        ("12 May", None),
        ("", None),
    ],
)
def test_numbers(text: str, number: float | None) -> None:
    assert number_of(text) == (None if number is None else pytest.approx(number))


def test_values_beyond_the_knots_and_single_values() -> None:
    column = NumberColumns(0, torch.tensor([0.0, 1.0, 3.0], dtype=torch.double))
    code = column.encode(torch.tensor([-5.0, 0.0, 0.25, 2.0, 3.0, 9.0], dtype=torch.double))
    expected = [[1, 0, 0], [1, 0, 0], [0.75, 0.25, 0], [0, 0.5, 0.5], [0, 0, 1], [0, 0, 1]]
    torch.testing.assert_close(code, torch.tensor(expected, dtype=torch.float))
    assert NumberColumns(0, torch.tensor([2.0])).encode(torch.tensor([7.0])).tolist() == [[1.0]]


def test_text_codes_have_at_most_length_one() -> None:
    codes = text_codes(["", "a" * 1000, "alice", "", "alice"], 0)
    assert codes.shape == (5, TEXT_WIDTH)
    assert codes.norm(dim=1).tolist() == [0, *[pytest.approx(1)] * 2, 0, pytest.approx(1)]
    assert codes[2].equal(codes[4])
    assert not codes[2].equal(text_codes(["alice"], 1)[0])


def test_a_graph_without_literals_has_no_columns(tmp_path: Path) -> None:
    (tmp_path / "graph.tsv").write_text("a\tr\tb\nb\tr\tc\n")
    (tmp_path / "train.tsv").write_text("node\tlabel\na\tx\nb\ty\n")
    named = load_dataset(str(tmp_path / "graph.tsv"), labels=tmp_path / "train.tsv").named_graph
    assert LiteralEncoder.fit(named).width == 0
