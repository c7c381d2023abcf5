"""``brgcn data``: results on standard output, the rest on standard error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from brgcn.cli.data import data_app
from brgcn.data import catalogue
from brgcn.errors import BrgcnError

runner = CliRunner()


@pytest.fixture(autouse=True)
def _no_mirror(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BRGCN_DATA", raising=False)


@pytest.fixture
def own_files(tmp_path: Path) -> dict[str, str]:
    triples = [f"<urn:p{i}> <urn:{p}> <urn:{o}> ." for i in range(20) for p, o in (("in", f"g{i % 2}"), ("is", "x"))]
    (tmp_path / "graph.nt").write_text("\n".join(triples))
    for file, nodes in (("train.tsv", range(16)), ("test.tsv", range(15, 20))):
        rows = "".join(f"urn:p{i}\t{i % 2}\n" for i in nodes)
        (tmp_path / file).write_text("who\twhat\n" + rows)
    return {name: str(tmp_path / name) for name in ("graph.nt", "train.tsv", "test.tsv")}


def test_list_shows_every_name() -> None:
    result = runner.invoke(data_app, ["list"])
    assert result.exit_code == 0
    for name in catalogue.names():
        assert name in result.stdout


def test_list_as_json_tells_everything(tmp_path: Path) -> None:
    facts = {entry["name"]: entry for entry in json.loads(runner.invoke(data_app, ["list", "--json"]).stdout)}
    assert list(facts) == list(catalogue.names())
    mutag = facts["mutag"]
    assert mutag["expected"]["edges"] == 74227
    assert mutag["drop_relations"] == ["http://dl-learner.org/carcinogenesis#isMutagenic"]
    assert mutag["package"]["project"] == "pyRDF2Vec"
    assert mutag["node_column"] == "bond"
    for key in ("sources", "sha256", "content_sha256", "licence", "citation"):
        assert mutag[key]
    assert mutag["local"] is None
    (tmp_path / "mutag").mkdir()
    for file in mutag["required_files"]:
        (tmp_path / "mutag" / file).write_bytes(b"")
    one = json.loads(runner.invoke(data_app, ["list", "MUTAG", "--json", "--data-dir", str(tmp_path)]).stdout)
    assert one["local"] == str(tmp_path / "mutag")


@pytest.mark.parametrize("arguments", [["list", "aifb"], ["list"]])
def test_list_in_full(arguments: list[str]) -> None:
    text = runner.invoke(data_app, arguments).stdout
    for part in (
        "label_affiliation",
        "http://swrc.ontoware.org/ontology#employs",
        "MIT for the split files",
        "Bloehdorn",
    ):
        assert part in text
    assert "ba4191235456e09d8f12a2415f24273b8d7641ffee6001ca9340f02c04d77fea" in text


@pytest.mark.parametrize("command", ["list", "fetch"])
def test_unknown_name_gets_the_nearest_one(command: str) -> None:
    result = runner.invoke(data_app, [command, "mutagg"])
    assert isinstance(result.exception, BrgcnError)
    assert "did you mean 'mutag'" in str(result.exception)


def test_fetch_prints_the_folder_alone(shared_data: Path) -> None:
    result = runner.invoke(data_app, ["fetch", "aifb", "--data-dir", str(shared_data)])
    assert result.exit_code == 0
    assert result.stdout == f"{shared_data / 'aifb'}\n"


def test_inspect_own_files_as_json(own_files: dict[str, str]) -> None:
    arguments = ["inspect", own_files["graph.nt"], "--labels", own_files["train.tsv"]]
    arguments += ["--test-labels", own_files["test.tsv"], "--node-column", "who", "--label-column", "what", "--json"]
    result = runner.invoke(data_app, arguments)
    assert result.exit_code == 0, result.exception
    report = json.loads(result.stdout)
    assert {"nodes", "relations", "edges", "literals", "splits", "classes", "warnings"} <= set(report)
    assert (report["nodes"], report["relations"], report["edges"]) == (23, 2, 40)
    assert report["splits"] == {"train": 16, "test": 5}
    assert any("alone predicts the label" in text and "urn:in" in text for text in report["warnings"])
    assert any("in train and in test" in text for text in report["warnings"])
    assert result.stderr.count("warning:") == len(report["warnings"])

    dropped = json.loads(runner.invoke(data_app, [*arguments, "--drop-relation", "urn:in"]).stdout)
    assert (dropped["relations"], dropped["edges"]) == (1, 20)
    assert not any("alone predicts" in text for text in dropped["warnings"])


def test_inspect_as_text(own_files: dict[str, str]) -> None:
    result = runner.invoke(data_app, ["inspect", own_files["graph.nt"], "--labels", own_files["train.tsv"]])
    assert result.exit_code == 0, result.exception
    for part in ("urn:in", "training memory: about", "train labelled nodes", "relations, either direction"):
        assert part in result.stdout
    assert "alone predicts the label" in result.stderr
    assert "alone predicts the label" not in result.stdout


def test_inspect_by_name(shared_data: Path) -> None:
    report = json.loads(runner.invoke(data_app, ["inspect", "AIFB", "--json", "--data-dir", str(shared_data)]).stdout)
    assert report["nodes"] == 8285
    assert report["warnings"] == []


@pytest.mark.parametrize("command", ["list", "fetch", "inspect"])
def test_help_has_an_example(command: str) -> None:
    assert f"brgcn data {command}" in runner.invoke(data_app, [command, "--help"]).stdout
