from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from toys import EX

from brgcn.cli import main
from brgcn.tasks.settings import NodeSettings


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    captured = capsys.readouterr()
    return int(stopped.value.code or 0), captured.out, captured.err


@pytest.fixture
def trained(toy: Path, tmp_path: Path, capsys) -> Path:
    out = tmp_path / "run"
    settings = ["--epochs", "30", "--runs", "2", "--seed", "7", "--set", "bases=0", "--set", "l2=0"]
    drop = ["--drop-relation", f"{EX}favourite"]
    code, _, error = run(capsys, "train", str(toy), "--out", str(out), *settings, *drop, "--json")
    assert code == 0, error
    return out


def test_json_is_alone_on_standard_output(toy: Path, tmp_path: Path, capsys) -> None:
    out = tmp_path / "run"
    code, text, error = run(capsys, "train", str(toy), "--epochs", "2", "--runs", "2", "--out", str(out), "--json")
    assert code == 0
    result = json.loads(text)
    assert {"task", "dataset", "model", "preset", "runs", "test_accuracy"} <= set(result)
    assert (result["task"], result["model"], result["preset"]) == ("nodes", "brgcn", "default")
    assert {"seed", "test_accuracy", "epochs", "seconds_per_epoch"} <= set(result["runs"][0])
    assert set(result["test_accuracy"]) == {"mean", "std", "sem", "n"}
    mean = sum(row["test_accuracy"] for row in result["runs"]) / 2
    assert result["test_accuracy"]["mean"] == pytest.approx(mean)
    assert 0 <= mean <= 1
    assert "training labels" in error


def test_people_get_a_table_and_a_figure(toy: Path, tmp_path: Path, capsys) -> None:
    code, text, error = run(capsys, "train", str(toy), "--epochs", "2", "--out", str(tmp_path / "run"))
    assert code == 0
    assert "test accuracy %" in text
    assert f"figure      {tmp_path / 'run' / 'attention.png'}" in error
    code, text, error = run(capsys, "train", str(toy), "--epochs", "2", "--out", str(tmp_path / "r"), "--model", "rgcn")
    assert code == 0  # no attention, no figure, no fuss
    assert "figure" not in error


def test_an_rdf_file_with_label_tables(toy: Path, tmp_path: Path, capsys) -> None:
    labels = ["--labels", str(toy / "trainingSet.tsv"), "--test-labels", str(toy / "testSet.tsv")]
    code, text, _ = run(
        capsys, "train", str(toy / "graph.nt"), *labels, "--epochs", "2", "--out", str(tmp_path / "r"), "--json"
    )
    assert code == 0
    assert json.loads(text)["splits"] == {"train": 40, "test": 20}


def test_show_config_lists_every_setting_and_can_be_read_back(tmp_path: Path, capsys) -> None:
    code, text, _ = run(capsys, "train", "--show-config", "--set", "hidden=8", "--epochs", "3")
    assert code == 0
    values = yaml.safe_load(text)
    assert list(values) == list(NodeSettings.__dataclass_fields__)
    assert (values["hidden"], values["epochs"]) == (8, 3)
    config = tmp_path / "c.yaml"
    config.write_text(text)
    code, again, _ = run(capsys, "train", "--show-config", "--config", str(config))
    assert again == text
    _, paper, _ = run(capsys, "train", "mutag", "--preset", "paper", "--show-config")
    assert yaml.safe_load(paper)["epochs"] == 90


def test_the_model_is_named_once_and_changes_are_recorded(toy: Path, tmp_path: Path, capsys) -> None:
    config = tmp_path / "c.yaml"
    config.write_text("model: rgcn\nhidden: 8\n")
    code, _, error = run(capsys, "train", str(toy), "--model", "brgcn", "--config", str(config))
    assert code == 1
    assert "two models were named: brgcn and rgcn" in error
    arguments = ["train", str(toy), "--config", str(config), "--epochs", "2", "--out", str(tmp_path / "r"), "--json"]
    result = json.loads(run(capsys, *arguments)[1])
    assert result["model"] == "rgcn"
    assert result["changed_settings"] == {"hidden": 8, "epochs": 2}
    code, _, error = run(capsys, "train", "mutag", "--preset", "paper", "--set", "model=gat", "--show-config")
    assert code == 1
    assert "no settings for gat" in error


def test_evaluate(trained: Path, capsys) -> None:
    code, text, _ = run(capsys, "evaluate", str(trained), "--json")
    assert code == 0
    assert json.loads(text)["test_accuracy"] == json.loads((trained / "result.json").read_text())["test_accuracy"]
    _, text, _ = run(capsys, "evaluate", str(trained))
    assert "confusion on test" in text


def test_predict(trained: Path, tmp_path: Path, capsys) -> None:
    _, text, _ = run(capsys, "predict", str(trained), "--node", f"{EX}p41", "--json")
    (row,) = json.loads(text)
    assert row["predicted"] == "blue"
    nodes = tmp_path / "nodes.txt"
    nodes.write_text(f"{EX}p0\n\n{EX}p1\n")
    _, text, _ = run(capsys, "predict", str(trained), "--nodes", str(nodes))
    lines = [line.split("\t") for line in text.splitlines()]
    assert lines[0] == ["node", "predicted", "blue", "green", "red"]
    assert [line[:2] for line in lines[1:]] == [[f"{EX}p0", "red"], [f"{EX}p1", "green"]]
    code, text, _ = run(capsys, "predict", str(trained), "--out", str(tmp_path / "all.tsv"))
    assert (code, text) == (0, "")
    assert len((tmp_path / "all.tsv").read_text().splitlines()) == 1 + 109
    new = tmp_path / "new.nt"
    new.write_text("".join(f"<{EX}new> <{EX}likes> <{EX}green{i}> .\n" for i in range(4)))
    _, text, _ = run(capsys, "predict", str(trained), "--triples", str(new), "--json")
    assert [(row["node"], row["predicted"]) for row in json.loads(text)] == [(f"{EX}new", "green")]


def test_explain(trained: Path, tmp_path: Path, capsys) -> None:
    code, text, _ = run(
        capsys, "explain", str(trained), "--node", f"{EX}p0", "--out", str(tmp_path / "a.svg"), "--json"
    )
    assert code == 0
    explained = json.loads(text)
    assert explained["node"]["name"] == f"{EX}p0"
    assert Path(explained["figure"]).exists()
    _, text, _ = run(capsys, "explain", str(trained))
    assert "compared with uniform" in text


def test_resume_of_a_finished_folder_shows_its_result(trained: Path, capsys) -> None:
    code, text, error = run(capsys, "train", "--resume", str(trained), "--json")
    assert code == 0
    assert "finished already" in error
    assert json.loads(text)["runs"] == json.loads((trained / "result.json").read_text())["runs"]


@pytest.mark.parametrize(
    "command", [(), ("train",), ("evaluate",), ("predict",), ("explain",), ("data",), ("data", "inspect")]
)
def test_help_has_an_example(command: tuple[str, ...], capsys) -> None:
    code, text, _ = run(capsys, *command, "--help")
    assert code == 0
    assert "Usage: brgcn" in text
    if command and command != ("data",):
        assert "Example" in text


def test_version(capsys) -> None:
    assert run(capsys, "--version")[1].startswith("brgcn ")


@pytest.mark.parametrize("columns", ["von,art,nach", "1,2,0"])
def test_a_table_of_triples_with_columns_of_its_own(toy: Path, tmp_path: Path, capsys, columns: str) -> None:
    rows = [line.replace("<", "").replace(">", "").split()[:3] for line in (toy / "graph.nt").read_text().splitlines()]
    table = tmp_path / "t.csv"
    table.write_text(
        "\n".join(["nach,von,art", *(f"{tail},{head},{kind}" for head, kind, tail in rows)]).replace('"', "")
    )
    labels = ["--labels", str(toy / "trainingSet.tsv"), "--test-labels", str(toy / "testSet.tsv")]
    arguments = [
        "train",
        str(table),
        *labels,
        "--columns",
        columns,
        "--epochs",
        "2",
        "--out",
        str(tmp_path / "r"),
        "--json",
    ]
    if columns[0].isdigit():
        table.write_text(table.read_text().split("\n", 1)[1])  # positions need no header
    code, text, error = run(capsys, *arguments)
    assert code == 0, error
    assert json.loads(text)["splits"] == {"train": 40, "test": 20}
    code, _, error = run(capsys, "data", "inspect", str(table), "--columns", "a,b")
    assert code == 1
    assert "does not name three columns" in error
