"""What the command line says when links are asked for in a way that cannot be answered."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from towns import run, town_table

from brgcn.data import load_dataset
from brgcn.data.split_triples import with_splits
from brgcn.tasks.link_runs import train_link_runs
from brgcn.tasks.link_settings import LinkSettings


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("town")
    data = with_splits(load_dataset(town_table(folder / "town.tsv"), use_cache=False))
    return train_link_runs(data, LinkSettings(width=8, batch=50, epochs=2), folder / "run").path


@pytest.mark.parametrize("command", [["predict", "--head", "p1", "--relation", "knows"], ["evaluate"]])
def test_a_folder_is_looked_at_before_the_options(tmp_path: Path, capsys, command: list[str]) -> None:
    name, *options = command
    code, _, error = run(capsys, name, tmp_path / "gone", *options)
    assert code == 1
    assert "there is no such folder" in error
    code, _, error = run(capsys, name, tmp_path, *options)
    assert code == 1
    assert "this is not a run folder" in error


def test_all_unknown_names_of_a_table_are_said_before_anything_is_computed(
    trained: Path, tmp_path: Path, capsys, monkeypatch
) -> None:
    monkeypatch.setattr("brgcn.tasks.link_predictor.LinkPredictor.predict", lambda *_, **__: pytest.fail("computed"))
    queries = tmp_path / "q.tsv"
    lines = ["head\trelation\ttail", "p3\tknows\t?", "person3\tlives in\t?", "?\tlives on\tt1"]
    queries.write_text("\n".join([*lines, "p3\t<knows>\t?", "person3\t?\tnobody"]))
    code, _, error = run(capsys, "predict", trained, "--queries", queries)
    assert code == 1
    assert f"{queries}: 3 names are unknown to the model\n" in error
    assert "  line 3: there is no entity 'person3'\n" in error
    assert "  line 4: there is no relation 'lives on'; did you mean 'lives in'?\n" in error
    assert "  line 6: there is no entity 'nobody'\n" in error
    queries.write_text("".join(f"x{k}\tknows\t?\n" for k in range(25)))
    code, _, error = run(capsys, "predict", trained, "--queries", queries)
    assert "25 names are unknown" in error
    assert error.count("there is no entity") == 10
    assert "and 15 more" in error


def test_an_unknown_header_of_queries_is_explained(trained: Path, tmp_path: Path, capsys) -> None:
    queries = tmp_path / "q.tsv"
    queries.write_text("subj\tpred\tobj\np3\tknows\t?\n")
    code, _, error = run(capsys, "predict", trained, "--queries", queries)
    assert code == 1
    for part in (f"{queries}, line 1: nothing is asked for", "--columns", "subject, predicate, object"):
        assert part in error
    code, _, error = run(capsys, "predict", trained, "--queries", queries, "--columns", "subj,pred,obj")
    assert code == 0, error
    queries.write_text("head\trelation\ttail\np3\tknows\tp1\n")
    _, _, error = run(capsys, "predict", trained, "--queries", queries)
    assert f"{queries}, line 2: nothing is asked for" in error
    assert "--columns" not in error


def test_a_result_without_its_content_is_a_damaged_file(trained: Path, tmp_path: Path, capsys) -> None:
    spoilt = shutil.copytree(trained, tmp_path / "spoilt")
    (spoilt / "result.json").write_text("{}")
    code, out, error = run(capsys, "train", "--resume", spoilt)
    assert (code, out) == (1, "")
    assert f"{spoilt / 'result.json'}: 'dataset' is missing" in error
    assert "The run folder is damaged" in error


def test_columns_belong_to_a_table_of_queries(trained: Path, capsys) -> None:
    code, _, error = run(capsys, "predict", trained, "--head", "p1", "--relation", "knows", "--columns", "0,1,2")
    assert code == 1
    assert "--queries FILE" in error


def test_a_diverged_training_is_not_to_be_resumed(tmp_path: Path, capsys) -> None:
    table, out = town_table(tmp_path / "town.tsv"), tmp_path / "run"
    arguments = ["train", table, "--epochs", 3, "--set", "width=8", "--out", out]
    code, _, error = run(capsys, *arguments, "--set", "learning_rate=1e30")
    assert code == 1
    assert "learning_rate" in error
    code, _, error = run(capsys, "evaluate", out)
    assert code == 1
    assert "no run is finished yet: the loss became nan" in error
    assert "smaller --set learning_rate" in error
    assert "--resume" not in error
    code, _, error = run(capsys, *arguments, "--overwrite")
    assert code == 0, error
    code, _, error = run(capsys, "evaluate", out)
    assert code == 0, error
