"""What ``inspect_dataset`` counts and what it warns of, on graphs made to be suspicious and on the real ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from brgcn.data import catalogue, inspect_dataset, load_dataset
from brgcn.data.dataset import Dataset
from brgcn.data.inspect import distribution, training_memory
from brgcn.data.inspect_labels import telling_relations


def iri(name: object) -> str:
    return f"<urn:{name}>"


def node_data(
    tmp_path: Path, triples: list[tuple[str, str, str]], train: list[tuple[str, str]], test: list[tuple[str, str]]
) -> Dataset:
    """A data set from statements between short names, and labelled short names."""
    lines = [f"{iri(s)} {iri(p)} {o if o[0] in '_' + chr(34) else iri(o)} ." for s, p, o in triples]
    (tmp_path / "graph.nt").write_text("\n".join(lines) + "\n")
    for file, rows in (("train.tsv", train), ("test.tsv", test)):
        (tmp_path / file).write_text("node\tlabel\n" + "".join(f"urn:{node}\t{label}\n" for node, label in rows))
    return load_dataset(
        tmp_path / "graph.nt",
        labels=tmp_path / "train.tsv",
        test_labels=tmp_path / "test.tsv" if test else None,
        use_cache=False,
    )


def link_data(tmp_path: Path, **splits: list[tuple[str, str, str]]) -> Dataset:
    folder = tmp_path / "links"
    folder.mkdir()
    for split, triples in splits.items():
        (folder / f"{split}.tsv").write_text("".join("\t".join(triple) + "\n" for triple in triples))
    return load_dataset(folder, use_cache=False)


def people() -> list[tuple[str, str, str]]:
    """20 persons, 10 in each of two groups, with a number of their own, one type, and names shared across groups."""
    triples = []
    for i in range(20):
        triples += [
            (f"p{i}", "memberOf", f"group{i % 2}"),
            (f"p{i}", "number", f'"{i}"'),
            (f"p{i}", "type", "Person"),
            (f"p{i}", "name", f'"name {i // 4}"'),
        ]
    return triples


def labelled(nodes: range) -> list[tuple[str, str]]:
    return [(f"p{i}", "AB"[i % 2]) for i in nodes]


def test_counts_of_a_small_graph(tmp_path: Path) -> None:
    triples = [
        ("a", "p", "b"),
        ("a", "p", "c"),
        ("b", "q", "a"),
        ("b", "v", '"text"'),
        ("c", "q", "_:x"),
        ("a", "q", "a"),
    ]
    report = inspect_dataset(node_data(tmp_path, triples, [("a", "x"), ("b", "y")], [("c", "x")]))
    expected = {"nodes": 5, "relations": 3, "edges": 6, "literals": 1, "blank_nodes": 1, "isolated_nodes": 0}
    assert {key: report[key] for key in expected} == expected
    # (b,p) (c,p) (a,q) ("text",v) (_:x,q); with inverses also (a,p) (b,q) (b,v) (c,q) (a,q) of the other direction
    assert report["pairs"] == 5
    assert report["with_inverse"] == {"relations": 6, "edges": 12, "pairs": 10}
    assert report["splits"] == {"train": 2, "test": 1}
    assert report["classes"] == {"x": {"train": 1, "test": 1}, "y": {"train": 1, "test": 0}}
    assert report["degree"]["max"] == 5
    assert report["relations_per_node"]["max"] == 3
    assert report["top_relations"][0] == {"relation": "urn:q", "edges": 3, "share": 0.5}
    assert report["literal_datatypes"] == {"http://www.w3.org/2001/XMLSchema#string": 1}
    assert report["memory"] == training_memory(5, 12, 10)
    assert json.loads(json.dumps(report)) == report


def test_pairs_with_inverses_are_those_of_the_graph_with_inverses(tmp_path: Path) -> None:
    dataset = node_data(tmp_path, people(), labelled(range(20)), [])
    graph = dataset.graph.with_inverse()
    report = inspect_dataset(dataset)
    assert report["with_inverse"] == {
        "relations": graph.num_relations,
        "edges": graph.num_edges,
        "pairs": graph.num_pairs,
    }
    assert report["relations_per_node"] == distribution(graph.node_ptr.diff())
    # the estimate takes the number of distinct (relation, source) to be that of the pairs
    assert torch.unique(graph.edge_type * graph.num_nodes + graph.edge_source).numel() == graph.num_pairs


def test_distribution() -> None:
    found = distribution(torch.tensor([0, 1, 1, 2, 3, 4, 5, 100]))
    assert (found["min"], found["median"], found["mean"], found["max"]) == (0, 3, 14.5, 100)
    bins = [(row["from"], row["to"], row["nodes"]) for row in found["histogram"]]
    assert bins == [(0, 0, 1), (1, 1, 2), (2, 2, 1), (3, 4, 2), (5, 8, 1), (65, 128, 1)]
    assert distribution(torch.tensor([], dtype=torch.int64))["max"] == 0


def test_memory_estimate_is_the_stated_sum() -> None:
    estimate = training_memory(num_nodes=7, num_edges=100, num_pairs=30)
    assert estimate["parameter_bytes"] == 4 * 4 * (30 + 30 + 480 * 7)
    assert estimate["activation_bytes"] == 4 * (2 * 48 * 100 + (4 * 48 + 4 + 480 + 48) * 30)
    assert estimate["bytes"] == estimate["parameter_bytes"] + estimate["activation_bytes"]


def test_memory_estimate_is_for_the_model_that_is_trained() -> None:
    """The parameters are those of the first layer with the default settings, times weights, gradient and moments."""
    from brgcn.graph import RelationalGraph
    from brgcn.tasks import NodeSettings
    from brgcn.tasks.training import build_model

    graph = RelationalGraph.from_edges(torch.tensor([[0, 1, 2, 3], [1, 2, 0, 0]]), torch.tensor([0, 1, 0, 1]), 500, 2)
    graph = graph.with_inverse()
    model = build_model(graph, 2, NodeSettings(rare=0), 0)  # that some share a row is little
    tables = [p.numel() for n, p in model.layers[0].named_parameters() if not n.endswith("coefficients")]
    estimate = training_memory(graph.num_nodes, graph.num_edges, graph.num_pairs)
    assert estimate["parameter_bytes"] == 4 * 4 * sum(tables)


# ---------------------------------------------------------------------- labels


@pytest.mark.parametrize("reverse", [False, True])
def test_target_relation_left_in_the_graph_is_noticed(tmp_path: Path, reverse: bool) -> None:
    triples = people()
    if reverse:
        triples = [(o, p, s) if p == "memberOf" else (s, p, o) for s, p, o in triples]
    dataset = node_data(tmp_path, triples, labelled(range(20)), [])
    ((relation, direction, accuracy, coverage),) = telling_relations(dataset)
    assert dataset.relation_names[relation] == "urn:memberOf"
    assert (direction, accuracy, coverage) == ("incoming" if reverse else "outgoing", 1.0, 1.0)
    (warning,) = [text for text in inspect_dataset(dataset)["warnings"] if "alone predicts the label" in text]
    assert "urn:memberOf" in warning


def test_relation_of_too_few_nodes_or_with_errors_is_no_suspect(tmp_path: Path) -> None:
    few = [t for t in people() if t[1] != "memberOf" or int(t[0][1:]) < 16]
    assert telling_relations(node_data(tmp_path, few, labelled(range(20)), [])) == []
    wrong = [("p0", "A"), ("p1", "B"), *[(f"p{i}", "AB"[i // 2 % 2]) for i in range(2, 20)]]
    assert telling_relations(node_data(tmp_path, people(), wrong, [])) == []


def test_constant_relation_is_no_suspect_when_one_class_prevails(tmp_path: Path) -> None:
    labels = [(f"p{i}", "B" if i == 0 else "A") for i in range(20)] + [(f"q{i}", "A") for i in range(300)]
    triples = [*people(), *[(f"q{i}", "type", "Person") for i in range(300)]]
    assert telling_relations(node_data(tmp_path, triples, labels, [])) == []


def test_warnings_of_reading_are_passed_on(tmp_path: Path) -> None:
    train = [*labelled(range(10)), ("nobody", "A")]
    test = [*labelled(range(8, 12)), ("p15", "never seen")]
    warnings = inspect_dataset(node_data(tmp_path, people(), train, test))["warnings"]
    for part in ("1 of 11 labelled nodes", "2 nodes are in train and in test", "never seen"):
        assert any(part in text for text in warnings), part


def test_graph_without_labels(tmp_path: Path) -> None:
    (tmp_path / "graph.nt").write_text("<urn:a> <urn:p> <urn:b> .\n")
    report = inspect_dataset(load_dataset(tmp_path / "graph.nt", use_cache=False))
    assert report["splits"] == report["classes"] == {}
    assert any("no node has a label" in text for text in report["warnings"])


# ---------------------------------------------------------------------- links


def test_leakage_between_triple_splits(tmp_path: Path) -> None:
    pairs = [(f"e{i}", f"e{i + 1}") for i in range(0, 40, 2)]
    train = [(h, "parent", t) for h, t in pairs[:-2]] + [(t, "child", h) for h, t in pairs]
    train += (
        [(h, "mother", t) for h, t in pairs] + [(h, "near", t) for h, t in pairs] + [(t, "near", h) for h, t in pairs]
    )
    train += [(f"e{i}", "other", f"e{i + 20}") for i in range(15)]
    test = [(h, "parent", t) for h, t in pairs[-2:]] + [("e0", "parent", "e1"), ("e0", "other", "unseen")]
    report = inspect_dataset(link_data(tmp_path, train=train, test=test))
    leakage = report["leakage"]
    assert leakage["test"] == {
        "reversed_in_training": 0.75,
        "linked_in_training": 0.75,
        "repeated_from_training": 1,
        "with_unseen_entity": 1,
    }
    related = {
        kind: {frozenset(row[:2]) for row in leakage[kind]} for kind in ("inverse_relations", "duplicate_relations")
    }
    assert {"parent", "child"} in related["inverse_relations"]
    assert {"near"} in related["inverse_relations"]
    assert {"parent", "mother"} in related["duplicate_relations"]
    assert {"parent", "near"} not in related["duplicate_relations"]  # half of near goes the other way
    assert not any("other" in names for kind in related.values() for names in kind)
    assert leakage["entities_unseen_in_training"] == report["isolated_nodes"] == 1
    for part in (
        "inverse-relation leakage: for 75.0% of the test triples",
        "1 of 4 test triples are training triples too",
        "1 of 4 test triples have an entity unseen",
        "1 of 41 entities occur in no training triple",
        "inverses of each other",
        "duplicates",
    ):
        assert any(part in text for text in report["warnings"]), part


def test_clean_triples_give_no_warning(tmp_path: Path) -> None:
    train = [(f"e{i}", "p", f"e{i + 1}") for i in range(20)] + [(f"e{i}", "q", f"e{i + 3}") for i in range(17)]
    report = inspect_dataset(link_data(tmp_path, train=train, test=[("e0", "p", "e5")]))
    assert report["warnings"] == []
    assert "memory" not in report  # the estimate is one for node classification


# ---------------------------------------------------------------------- the real ones

READ_ME: dict[str, dict[str, Any]] = {
    "aifb": {"nodes": 8285, "relations": 45, "edges": 29043, "literals": 5450, "blank_nodes": 152},
    "mutag": {"nodes": 23644, "relations": 23, "edges": 74227, "literals": 1104, "blank_nodes": 0},
    "fb15k": {"nodes": 14951, "relations": 1345, "splits": {"train": 483142, "valid": 50000, "test": 59071}},
    "fb15k-237": {"nodes": 14541, "relations": 237, "splits": {"train": 272115, "valid": 17535, "test": 20466}},
    "wn18": {"nodes": 40943, "relations": 18, "splits": {"train": 141442, "valid": 5000, "test": 5000}},
    "bgs-standin": {"nodes": 85722, "relations": 86, "edges": 230947, "literals": 50477},
}


@pytest.mark.parametrize("name", READ_ME)
def test_real_counts(name: str, shared_data: Path) -> None:
    report = inspect_dataset(load_dataset(name, data_dir=shared_data), entry=catalogue.find(name))
    assert {key: report[key] for key in READ_ME[name]} == READ_ME[name]
    assert not any("not what the catalogue says" in text for text in report["warnings"])
    leaks = any("inverse-relation leakage" in text for text in report["warnings"])
    assert leaks == (name in ("fb15k", "wn18"))


def test_difference_to_the_catalogue_is_a_warning(tmp_path: Path) -> None:
    dataset = node_data(tmp_path, people(), labelled(range(20)), [])
    (text,) = [w for w in inspect_dataset(dataset, entry=catalogue.find("mutag"))["warnings"] if "catalogue" in w]
    assert "80 edges instead of 74,227" in text
