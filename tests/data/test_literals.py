from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brgcn.data.literals import RDF_DIR_LANG_STRING, RDF_LANG_STRING, XSD_STRING, Literals, unescape
from brgcn.data.names import NameTable
from brgcn.errors import DataError

XSD_DOUBLE = "http://www.w3.org/2001/XMLSchema#double"
NAMES = [
    "http://example.org/a",
    '"plain"',
    '"hallo"@de-at',
    f'"1.5"^^<{XSD_DOUBLE}>',
    "_:b",
    r'"a \"quoted\" \u00e9 \U0001F600 line\n"',
    '"ltr"@ar--rtl',
    '""',
]


def test_values_datatypes_and_languages() -> None:
    literals = Literals.from_names(NameTable.from_names(NAMES))
    assert literals.nodes.tolist() == [1, 2, 3, 5, 6, 7]
    assert literals.values() == ["plain", "hallo", "1.5", 'a "quoted" é 😀 line\n', "ltr", ""]
    assert [literals.value(node) for node in literals.nodes.tolist()] == literals.values()
    assert [literals.datatype_of(node) for node in (1, 2, 3, 5, 6)] == [
        XSD_STRING,
        RDF_LANG_STRING,
        XSD_DOUBLE,
        XSD_STRING,
        RDF_DIR_LANG_STRING,
    ]
    assert [literals.language(node) for node in (1, 2, 6)] == [None, "de-at", "ar"]
    assert set(literals.datatype_names) == {XSD_STRING, RDF_LANG_STRING, XSD_DOUBLE, RDF_DIR_LANG_STRING}


@pytest.mark.parametrize("node", [0, 4, 8, -1])
def test_other_nodes_are_no_literals(node: int) -> None:
    literals = Literals.from_names(NameTable.from_names(NAMES))
    for question in (literals.value, literals.language, literals.datatype_of):
        with pytest.raises(DataError, match="not a literal"):
            question(node)


def test_plain_names_are_no_literals() -> None:
    literals = Literals.none(NameTable.from_names(NAMES))
    assert len(literals) == 0
    assert literals.values() == []


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_value_is_what_the_parser_was_given(text: str) -> None:
    pyoxigraph = pytest.importorskip("pyoxigraph")
    name = str(pyoxigraph.Literal(text))
    assert Literals.from_names(NameTable.from_names([name])).value(0) == text


def test_unescape_leaves_other_text_alone() -> None:
    assert unescape("C:tmp") == "C:tmp"
    assert unescape(r"C:\\tmp\ttab") == "C:\\tmp\ttab"
