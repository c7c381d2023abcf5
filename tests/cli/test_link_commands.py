"""Link prediction from the command line: train, resume, evaluate, predict, export, neighbours."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from towns import SMALL, run, town_table
from toys import EX

from brgcn.tasks.link_folder import LinkFolder
from brgcn.tasks.link_runs import continue_link_runs
from brgcn.tasks.link_settings import LinkSettings


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return town_table(tmp_path / "town.tsv")


@pytest.fixture
def trained(table: Path, tmp_path: Path, capsys) -> Path:
    out = tmp_path / "run"
    code, _, error = run(capsys, "train", table, "--out", out, "--epochs", 40, "--runs", 2, *SMALL, "--json")
    assert code == 0, error
    return out


def test_json_holds_runs_valid_and_test_with_raw_and_filtered(table: Path, tmp_path: Path, capsys) -> None:
    out = tmp_path / "r"
    code, text, error = run(
        capsys, "train", table, "--epochs", 10, "--runs", 2, "--out", out, *SMALL, "--split", "0.1,0.05", "--json"
    )
    assert code == 0, error
    result = json.loads(text)
    assert (result["task"], result["encoder"], result["decoder"], result["regime"]) == (
        "links",
        "none",
        "complex",
        "modern",
    )
    assert result["splits"] == {"train": 153, "valid": 18, "test": 9}
    assert result["with_unseen_entities"] == {"train": 0, "valid": 0, "test": 0}
    assert set(result["rules"]) == {"rules", "valid", "test"}
    assert len(result["runs"]) == 2
    assert result["out"] == str(out)
    for split in ("valid", "test"):
        for setting in ("raw", "filtered"):
            measured = result[split][setting]
            assert {"mrr", "mr", "hits@1", "hits@3", "hits@10", "amri"} <= set(measured)
            mean = sum(report[split][setting]["mrr"] for report in result["runs"]) / 2
            assert measured["mrr"] == pytest.approx(mean)
    assert "153 train, 18 valid, 9 test triples" in error


@pytest.mark.parametrize("encoder", ["rgcn", "brgcn"])
def test_an_encoder_with_a_decoder(table: Path, tmp_path: Path, capsys, encoder: str) -> None:
    arguments = ["train", table, "--encoder", encoder, "--decoder", "distmult", "--epochs", 3, "--out", tmp_path / "r"]
    code, text, error = run(capsys, *arguments, *SMALL)
    assert code == 0, error
    assert f"{encoder} · distmult · modern" in text
    assert "hits@10 %" in text
    code, _, error = run(capsys, "train", table, "--regime", "paper", "--encoder", encoder, "--out", tmp_path / "p")
    assert code == 0, error
    settings = LinkFolder.open(tmp_path / "p").settings
    assert (settings.loss, settings.negatives, settings.width, settings.reciprocal) == ("negatives", 1, 16, False)


def test_a_graph_of_labelled_nodes_can_predict_links(toy: Path, tmp_path: Path, capsys) -> None:
    code, text, error = run(
        capsys, "train", toy, "--task", "links", "--epochs", 2, "--out", tmp_path / "r", *SMALL, "--json"
    )
    assert code == 0, error
    assert json.loads(text)["splits"]["train"] > 0
    code, text, _ = run(
        capsys, "predict", tmp_path / "r", "--head", f"<{EX}p0>", "--relation", f"<{EX}likes>", "--json"
    )
    assert code == 0
    assert json.loads(text)["queries"][0]["asked"] == "tail"


def test_show_config_knows_the_task(capsys) -> None:
    code, text, _ = run(capsys, "train", "--task", "links", "--show-config", "--decoder", "distmult")
    values = yaml.safe_load(text)
    assert code == 0
    assert list(values) == list(LinkSettings.__dataclass_fields__)
    assert values["decoder"] == "distmult"
    _, text, _ = run(capsys, "train", "fb15k", "--show-config")
    assert "reciprocal" in yaml.safe_load(text)


def test_settings_that_do_nothing_are_named_where_the_user_gave_them(capsys) -> None:
    arguments = [
        "train",
        "--task",
        "links",
        "--show-config",
        "--regime",
        "rgcn-reference",
    ]  # whose encoder has settings
    code, _, error = run(capsys, *arguments)
    assert (code, error) == (0, "")
    code, _, error = run(capsys, *arguments, "--set", "candidates=10", "--set", "edge_dropout=0.1")
    assert code == 0
    assert "candidates does nothing with the loss negatives" in error
    assert "edge_dropout does nothing without an encoder" in error
    assert error.count("warning") == 2


def test_evaluate_computes_the_same_again(trained: Path, capsys) -> None:
    code, text, _ = run(capsys, "evaluate", trained, "--json")
    assert code == 0
    again, before = json.loads(text), LinkFolder.open(trained).result
    for split in ("valid", "test"):
        assert again[split]["filtered"]["mrr"] == pytest.approx(before[split]["filtered"]["mrr"])
        assert {"side", "cardinality", "relation"} == set(again["runs"][0][split]["by"])
    assert "lives in" in again["runs"][0]["valid"]["by"]["relation"]
    code, text, _ = run(capsys, "evaluate", trained)
    assert code == 0
    assert "which tail?" in text
    assert "mean rank" in text
    assert again["rules"]["rules"] >= 1  # the two relations are inverse to each other
    assert f"{100 * again['rules']['test']['filtered']['mrr']:.1f}" in text


def test_predict_each_part_of_a_triple(trained: Path, capsys) -> None:
    code, text, _ = run(capsys, "predict", trained, "--head", "p3", "--relation", "lives in", "--top", 3, "--json")
    query = json.loads(text)["queries"][0]
    assert code == 0
    assert query["asked"] == "tail"
    assert len(query["answers"]) == 3
    assert query["answers"][0]["tail"] == "t3"
    assert query["answers"][0]["known"] in ("train", "valid", "test")
    probabilities = [row["probability"] for row in query["answers"]]
    assert probabilities == sorted(probabilities, reverse=True)
    assert 0 < sum(probabilities) <= 1
    code, text, _ = run(capsys, "predict", trained, "--relation", "lives in", "--tail", "t2", "--top", 3)
    assert code == 0
    assert "(?, lives in, t2)" in text
    code, text, _ = run(capsys, "predict", trained, "--head", "p3", "--tail", "t3", "--run", 1, "--json")
    assert json.loads(text)["queries"][0]["answers"][0]["relation"] == "lives in"


def test_a_table_of_queries_gives_a_table_of_answers(trained: Path, tmp_path: Path, capsys) -> None:
    queries, out = tmp_path / "q.tsv", tmp_path / "a.tsv"
    queries.write_text("head\trelation\ttail\np3\tlives in\t?\n?\tknows\tp1\n")
    code, text, error = run(capsys, "predict", trained, "--queries", queries, "--top", 2, "--out", out)
    assert code == 0, error
    assert not text
    assert f"4 predictions in {out}" in error
    lines = [line.split("\t") for line in out.read_text().splitlines()]
    assert lines[0] == ["query", "asked", "rank", "head", "relation", "tail", "probability", "known"]
    assert [line[:3] for line in lines[1:]] == [
        ["1", "tail", "1"],
        ["1", "tail", "2"],
        ["2", "head", "1"],
        ["2", "head", "2"],
    ]
    code, text, _ = run(capsys, "predict", trained, "--queries", queries, "--top", 2)
    assert text == out.read_text()
    queries.write_text("p3\tlives in\tt1\n")
    code, _, error = run(capsys, "predict", trained, "--queries", queries)
    assert code == 1
    assert "line 1" in error
    assert "nothing is asked for" in error


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--head", "p3"], "two of head, relation and tail"),
        (["--head", "p3", "--relation", "knows", "--tail", "p1"], "nothing is asked for"),
        (["--head", "p3", "--relation", "lives on"], "did you mean 'lives in'?"),
        (["--head", "q3", "--relation", "lives in"], "there is no entity 'q3'"),
        (["--node", "p3"], "knows no --node"),
        (["--head", "p3", "--relation", "knows", "--run", "7"], "there is no run 7"),
    ],
)
def test_questions_that_cannot_be_answered(trained: Path, capsys, arguments: list[str], said: str) -> None:
    code, _, error = run(capsys, "predict", trained, *arguments)
    assert code == 1
    assert said in error


def test_vectors_by_name(trained: Path, tmp_path: Path, capsys) -> None:
    code, text, _ = run(capsys, "export", trained, "--out", tmp_path / "v")
    assert code == 0
    assert text.split() == [str(tmp_path / "v" / f"{what}.tsv") for what in ("entities", "relations")]
    rows = [line.split("\t") for line in (tmp_path / "v" / "relations.tsv").read_text().splitlines()]
    assert [row[0] for row in rows[1:]][3] == "inverse of lives in"
    assert len(rows[1]) == 9
    code, text, _ = run(capsys, "export", trained, "--out", tmp_path / "n", "--format", "npy", "--run", 1, "--json")
    matrix = np.load(tmp_path / "n" / "entities.npy", allow_pickle=False)
    names = (tmp_path / "n" / "entities.txt").read_text().splitlines()
    assert len(names) == len(matrix) == 65
    assert len(json.loads(text)["files"]) == 4
    model = LinkFolder.open(trained).load_model(1)
    np.testing.assert_allclose(matrix, model.entity.detach().numpy())
    code, _, error = run(capsys, "export", trained, "--format", "csv")
    assert code == 1
    assert "Known: tsv, npy" in error


def test_neighbours_leave_out_the_entity_itself(trained: Path, capsys) -> None:
    code, text, _ = run(capsys, "neighbours", trained, "--entity", "t1", "--top", 5, "--json")
    rows = json.loads(text)["neighbours"]
    assert code == 0
    assert len(rows) == 5
    assert "t1" not in [row["entity"] for row in rows]
    assert all(-1.001 <= row["cosine"] <= 1.001 for row in rows)


def test_an_interrupted_training_goes_on_to_the_same_result(table: Path, tmp_path: Path, capsys, monkeypatch) -> None:
    arguments = ["--epochs", 8, "--set", "evaluate_every=2", *SMALL, "--checkpoint-every", 0]
    code, text, _ = run(capsys, "train", table, "--out", tmp_path / "whole", *arguments, "--json")
    assert code == 0
    import brgcn.cli.links as links

    def stop(bar: object, run: int, record: dict[str, float]) -> None:
        if record["epoch"] == 5:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(links.LinkBar, "update", stop)
        code, _, error = run(capsys, "train", table, "--out", tmp_path / "half", *arguments)
    assert code == 130
    assert "brgcn train --resume" in error
    code, resumed, error = run(capsys, "train", "--resume", tmp_path / "half", "--json")
    assert code == 0, error
    assert json.loads(resumed)["test"] == json.loads(text)["test"]
    metrics = [(tmp_path / name / "metrics.jsonl").read_text() for name in ("whole", "half")]
    assert metrics[0] == metrics[1]
    assert continue_link_runs(LinkFolder.open(tmp_path / "half")).finished


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--model", "rgcn"], "town holds triples to predict links"),
        (["--task", "links", "--model", "rgcn"], "--model is for a training that classifies nodes"),
        (["--encoder", "gat"], "encoder must be one of none, brgcn"),
        (["--decoder", "rotate"], "decoder must be one of distmult"),
        (["--set", "width=7"], "needs an even width"),
        (["--regime", "best"], "Known: modern, paper, rgcn-reference"),
        (["--split", "0.5,0.6"], "not the shares"),
        (["--split", "half"], "does not give two numbers"),
        (["--task", "graphs"], "Known: nodes, links"),
        (["--set", "candidate=5"], "Did you mean candidates?"),
    ],
)
def test_settings_that_cannot_be(table: Path, tmp_path: Path, capsys, arguments: list[str], said: str) -> None:
    code, _, error = run(capsys, "train", table, "--out", tmp_path / "r", *arguments)
    assert code == 1
    assert said in error
    assert not (tmp_path / "r").exists()


def test_commands_say_when_a_folder_is_of_the_other_task(trained: Path, toy: Path, tmp_path: Path, capsys) -> None:
    run(capsys, "train", toy, "--epochs", 1, "--out", tmp_path / "nodes", "--no-figure")
    code, _, error = run(capsys, "export", tmp_path / "nodes")
    assert code == 1
    assert "holds node classification" in error
    code, _, error = run(capsys, "explain", trained)
    assert code == 1
    assert "holds link prediction" in error
    code, _, error = run(capsys, "predict", tmp_path / "nodes", "--head", "x")
    assert code == 1
    assert "knows no --head" in error
    code, _, error = run(capsys, "train", toy, "--decoder", "hole", "--out", tmp_path / "none")
    assert code == 1
    assert "holds labelled nodes" in error
    assert "--task links" in error
    code, _, error = run(capsys, "train", "mutag", "--decoder", "hole")
    assert code == 1
    assert "--decoder is for a training that predicts links" in error


def test_an_ensemble_stands_beside_its_components(trained: Path, table: Path, tmp_path: Path, capsys) -> None:
    other = tmp_path / "other"
    run(capsys, "train", table, "--out", other, "--decoder", "transe-l2", "--epochs", 10, *SMALL)
    arguments = ["ensemble", other, trained, "--kinds", "z,logits,z"]
    code, text, error = run(capsys, *arguments, "--json", "--out", tmp_path / "e.json")
    assert code == 0, error
    result = json.loads(text)
    assert json.loads((tmp_path / "e.json").read_text()) == result
    assert [row["decoder"] for row in result["components"]] == ["transe-l2", "complex"]
    assert [(row["kind"], row["tuned"]) for row in result["ensembles"]] == [
        ("z", False),
        ("z", True),
        ("logits", False),
        ("logits", True),
    ]
    assert result["components"][1]["test"] == LinkFolder.open(trained).report(0)["test"]
    code, text, _ = run(capsys, *arguments)
    assert code == 0
    assert "none · transe-l2" in text
    assert "chosen on valid" in text
    run(capsys, "train", table, "--out", tmp_path / "split", "--split", "0.2,0.2", "--epochs", 1, *SMALL)
    code, _, error = run(capsys, "ensemble", other, tmp_path / "split")
    assert code == 1
    assert "different data" in error


def test_readable_names_are_shown_where_the_data_have_them(table: Path, tmp_path: Path, capsys) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "train.tsv").write_text(table.read_text())
    (folder / "entity_names.tsv").write_text("entity\tlabel\nt3\tThreetown\np3\tPaula\n")
    out = tmp_path / "named"
    code, _, error = run(capsys, "train", folder, "--out", out, "--epochs", 40, *SMALL)
    assert code == 0, error
    code, text, _ = run(capsys, "predict", out, "--head", "p3", "--relation", "lives in", "--top", 2)
    assert code == 0
    assert "Threetown" in text
    _, text, _ = run(capsys, "predict", out, "--head", "p3", "--relation", "lives in", "--json")
    assert json.loads(text)["queries"][0]["answers"][0]["head_label"] == "Paula"
    _, text, _ = run(capsys, "neighbours", out, "--entity", "t1", "--top", 64)
    assert "Threetown" in text


def test_triples_with_entities_unseen_in_training_are_ranked_and_counted(tmp_path: Path, capsys) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "train.tsv").write_text("".join(f"a{k}\tr\ta{(3 * k) % 10}\n" for k in range(10)))
    (folder / "test.tsv").write_text("a1\tr\ta2\nnew\tr\ta2\nnew\tr\tnewer\n")
    code, text, error = run(capsys, "train", folder, "--out", tmp_path / "r", "--epochs", 1, *SMALL, "--json")
    assert code == 0, error
    result = json.loads(text)
    assert result["with_unseen_entities"] == {"train": 0, "valid": 0, "test": 2}
    assert result["test"]["filtered"]["n"] == 6
    assert "1 of 10 training triples are held back" in error


def test_seconds_of_an_interrupted_run_are_those_of_all_its_epochs(table: Path, tmp_path: Path, capsys) -> None:
    run(capsys, "train", table, "--out", tmp_path / "r", "--epochs", 3, *SMALL)
    timings = [json.loads(line) for line in (tmp_path / "r" / "timings.jsonl").read_text().splitlines()]
    assert len(timings) == 3
    report = LinkFolder.open(tmp_path / "r").report(0)
    assert report["seconds"] == pytest.approx(sum(row["seconds"] for row in timings))
