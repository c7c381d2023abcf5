"""Readable names of nodes."""

from __future__ import annotations

from pathlib import Path

from brgcn.data import load_dataset
from brgcn.data.display_names import display_names

XSD = "http://www.w3.org/2000/01/rdf-schema#label"


def test_a_table_beside_the_triples(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text("/m/1\tknows\t/m/2\n/m/2\tknows\t/m/3\n")
    (tmp_path / "entity_names.tsv").write_text(
        "mid\tlabel\tid\n/m/1\tAda\tQ1\n/m/9\tNobody\tQ9\n/m/3\tEve\tQ3\n/m/3\tEva\tQ3\n"
    )
    data = load_dataset(tmp_path)
    assert data.folder == tmp_path
    named = data.named_graph
    found = {named.node_names[node]: text for node, text in display_names(named, data.folder).items()}
    assert found == {"/m/1": "Ada", "/m/3": "Eve | Eva"}
    again = load_dataset(tmp_path)  # from the cache
    assert again.folder == tmp_path
    assert display_names(named) == {}


def test_labels_in_the_graph(tmp_path: Path) -> None:
    path = tmp_path / "g.nt"
    path.write_text(f'<http://e/a> <{XSD}> "Ada \\"L\\""@en .\n<http://e/a> <http://e/knows> <http://e/b> .\n')
    named = load_dataset(path).named_graph
    found = {named.node_names[node]: text for node, text in display_names(named).items()}
    assert list(found) == ["http://e/a"]
    assert found["http://e/a"].startswith("Ada")
