"""The tables of link prediction: rows, what is kept, and the paper's figures beside them."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from brgcn.cli import main
from brgcn.data import load_dataset
from brgcn.errors import SettingsError
from brgcn.experiments import link_table, side_by_side
from brgcn.experiments.link_report import report
from brgcn.experiments.link_table import DEFAULT_ROWS, LinkRow, measure_row
from brgcn.experiments.pages import links
from brgcn.experiments.paper_links import PAPER, remark
from brgcn.tasks.link_ensemble import KINDS, compare_ensembles
from brgcn.tasks.link_folder import LinkFolder
from brgcn.tasks.link_settings import LinkSettings


@pytest.fixture
def town(tmp_path: Path) -> Path:
    rng = random.Random(0)
    lines = []
    for person in range(40):
        lines += [f"p{person}\tlives in\tt{person % 4}\n", f"t{person % 4}\thas resident\tp{person}\n"]
    rng.shuffle(lines)
    folder = tmp_path / "town"
    folder.mkdir()
    for name, part in (("train", lines[:60]), ("valid", lines[60:70]), ("test", lines[70:])):
        (folder / f"{name}.tsv").write_text("".join(part))
    return folder


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two epochs of narrow models, whatever the regime."""

    def small(
        encoder: str, decoder: str, dataset: str, regime: str = "modern", *, device: str = "cuda"
    ) -> LinkSettings:
        return LinkSettings(encoder=encoder, decoder=decoder, width=4, epochs=2, evaluate_every=1, initial_scale=0.1)

    monkeypatch.setattr(link_table, "link_settings", small)


def test_every_row_of_the_paper_has_a_name() -> None:
    parsed = [LinkRow.parse(name) for name in DEFAULT_ROWS]
    rows = {(row.encoder, row.beside) for row in parsed if row.beside and row.decoder == "distmult"}
    assert rows == {key for key in PAPER if key[1]}
    assert LinkRow.parse("brgcn:hole@empty") == LinkRow("brgcn:hole@empty", "brgcn", "hole", "empty")
    both = LinkRow.parse("brgcn:complex+hole")
    assert (both.encoder, both.decoder, both.beside) == ("brgcn", "complex", "hole")
    for wrong in (
        "",
        "brgcn",
        "brgcn+hole@empty",
        "gat:complex",
        "complex@empty",
        "brgcn:complex@half",
        "brgcn:complex@true",
        "complex+rgcn",
        "complex+complex",
    ):
        with pytest.raises(SettingsError, match="unknown row"):
            LinkRow.parse(wrong)


@pytest.mark.parametrize(
    "name", ["rules", "complex", "brgcn:distmult", "rgcn:distmult@random", "rgcn+hole", "rgcn:hole+hole"]
)
def test_a_row_is_measured_once(town: Path, tmp_path: Path, name: str) -> None:
    data, told = load_dataset(town), []
    arguments = (data, LinkRow.parse(name), "modern", tmp_path / "kept", tmp_path / "models")
    cell = measure_row(*arguments, runs=2 if name == "complex" else 1, tell=told.append)
    assert told
    assert {"environment", "settings", "fingerprint", "runs"} <= set(cell)
    assert cell["filter"] == ["train", "valid", "test"]
    assert set(cell["with_unseen_entities"]) == set(cell["filter"])
    again: list[str] = []
    assert measure_row(*arguments, tell=again.append) == json.loads(json.dumps(cell))
    assert not again
    found = report([cell])
    (row,) = (one for one in found if one["row"] == name)
    assert 0 < row["mrr"] <= 1
    assert row["paper"] is None
    assert len(found) == (4 if "+" in name else 1)
    if name == "rules":
        assert row["mrr"] > 0.5  # the relations are inverse
    if "+" in name:
        assert len(cell["runs"][0]["components"]) == 2
        assert cell["runs"][0]["rules"]["test"]["filtered"]["mrr"] > 0.5
        encoder, beside = name.split("+")
        parts = [encoder if ":" in encoder else f"{encoder}:distmult", beside]
        assert [one["row"] for one in found[:3]] == [*parts, name]
        assert "chosen on valid" in found[3]["row"]


def test_more_runs_are_added_to_those_that_are_there(town: Path, tmp_path: Path) -> None:
    data, row = load_dataset(town), LinkRow.parse("complex")
    for folder in ("a", "b"):
        for runs in (1, 3) if folder == "a" else (3,):
            cell = measure_row(data, row, "modern", tmp_path / folder, tmp_path / f"models {folder}", runs=runs)
            path = tmp_path / f"models {folder}" / "town-modern-none-complex-true"
            first = path / "runs" / "00" / "weights.safetensors"
            if runs == 1:
                before = first.stat().st_mtime_ns
        if folder == "a":
            assert first.stat().st_mtime_ns == before
            added = cell["runs"]
    assert [run["seed"] for run in added] == [0, 1, 2]
    assert [run["test"] for run in added] == [run["test"] for run in cell["runs"]]
    assert len(LinkFolder.open(path).result["runs"]) == 3


def test_an_ensemble_is_chosen_by_what_has_seen_nothing_of_test(
    town: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The MRR on valid that is printed is filtered by test triples, too; it must not choose."""

    def other(*given: object, **options: object) -> dict[str, object]:
        found = compare_ensembles(*given, **options)  # type: ignore[arg-type]
        for place, row in enumerate(row for row in found["ensembles"] if row["tuned"]):
            row["curve"] = {row["beta"]: 0.1 * place}
            row["valid"]["filtered"]["mrr"] = 1 - 0.1 * place
        return found

    monkeypatch.setattr(link_table, "compare_ensembles", other)
    row = LinkRow.parse("rgcn+complex")
    cell = measure_row(load_dataset(town), row, "modern", tmp_path / "kept", tmp_path / "models")
    assert cell["runs"][0]["chosen_on_valid"]["kind"] == KINDS[-1]


def test_the_parts_of_an_ensemble_are_of_different_seeds_where_there_are_several(town: Path, tmp_path: Path) -> None:
    data, models = load_dataset(town), tmp_path / "models"
    cells = {
        name: measure_row(data, LinkRow.parse(name), "modern", tmp_path / "kept", models, runs=2)
        for name in ("rgcn:distmult", "complex", "rgcn+complex")
    }
    encoder, embedding, ensemble = (cell["runs"] for cell in cells.values())
    assert embedding[0]["test"] != embedding[1]["test"]
    for run in range(2):
        parts = [part["test"] for part in ensemble[run]["components"]]
        assert parts == [encoder[run]["test"], embedding[1 - run]["test"]]


def test_the_parts_of_an_ensemble_stand_beside_it_once(town: Path, tmp_path: Path) -> None:
    data = load_dataset(town)
    names = ("complex", "rgcn:distmult", "rgcn+complex", "rgcn+hole")
    cells = [
        measure_row(data, LinkRow.parse(name), regime, tmp_path / "kept", tmp_path / "models")
        for regime in ("modern", "paper")
        for name in (names if regime == "modern" else names[2:])
    ]
    found = [(row["regime"], row["row"].split(" chosen")[0]) for row in report(cells)]
    assert found == [
        ("modern", "complex"),
        ("modern", "rgcn:distmult"),
        ("modern", "rgcn+complex"),
        ("modern", "rgcn+complex,"),
        ("modern", "hole"),
        ("modern", "rgcn+hole"),
        ("modern", "rgcn+hole,"),
        ("paper", "rgcn:distmult"),
        ("paper", "complex (modern)"),
        ("paper", "rgcn+complex"),
        ("paper", "rgcn+complex,"),
        ("paper", "hole (modern)"),
        ("paper", "rgcn+hole"),
        ("paper", "rgcn+hole,"),
    ]


@pytest.mark.parametrize("ties", ["", " optimistic"])
def test_kept_measures_that_cannot_be_are_refused(town: Path, tmp_path: Path, ties: str, capsys) -> None:
    arguments = ["reproduce", "links", "--datasets", str(town), "--rows", "rules", "--out", str(tmp_path)]
    with pytest.raises(SystemExit, match="0"):
        main(arguments)
    (path,) = tmp_path.glob("*.json")
    cell = json.loads(path.read_text())
    cell["runs"][0]["test"]["filtered"].update({f"mrr{ties}": 0.2, f"hits@1{ties}": 0.9})
    path.write_text(json.dumps(cell))
    capsys.readouterr()
    with pytest.raises(SystemExit, match="1"):
        main(arguments)
    said = " ".join(capsys.readouterr().err.split())
    assert "impossible" in said
    assert path.name in said
    assert "--overwrite" in said


def test_the_page_and_its_picture(town: Path, tmp_path: Path) -> None:
    data = load_dataset(town)
    for name in ("rules", "complex", "rgcn:distmult", "rgcn+complex"):
        measure_row(data, LinkRow.parse(name), "modern", tmp_path / "links", tmp_path / "models")
    measure_row(data, LinkRow.parse("hole"), "paper", tmp_path / "links", tmp_path / "models")
    links.figures(tmp_path)
    picture = tmp_path / "links" / f"{data.name}-modern.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    text = links.section(tmp_path)
    assert f"({Path('..') / 'results' / 'links' / picture.name})" in text
    tables = [
        [line.split("|")[1].strip() for line in part.splitlines() if line.startswith("|")][2:]
        for part in text.split("\n## ")[1:]
    ]
    assert tables[0][:3] == ["rules", "complex", "rgcn:distmult"]
    assert "Filtered by the triples of train, valid, test" in text
    assert tables[1] == ["rules", "hole"]


def test_a_row_says_when_settings_have_changed_since(town: Path, tmp_path: Path) -> None:
    data = load_dataset(town)
    for name in ("rules", "complex", "rgcn:complex+hole"):
        arguments = (data, LinkRow.parse(name), "modern", tmp_path / "kept", tmp_path / "models")
        measure_row(*arguments)
        (path,) = (tmp_path / "kept").glob(f"*-{arguments[1].file_name}-*.json")
        cell = json.loads(path.read_text())
        assert all(row["remark"] == "" for row in report([cell]))
        for of in ("settings", "settings_beside"):
            if cell.get(of):
                other = {**cell, of: {**cell[of], "width": 8}}
                assert all("have changed since" in row["remark"] for row in report([other]))


def test_the_command_prints_and_keeps(town: Path, tmp_path: Path, capsys) -> None:
    arguments = [
        "reproduce",
        "links",
        "--datasets",
        str(town),
        "--rows",
        "distmult",  # rules come unasked
        "--out",
        str(tmp_path / "k"),
    ]
    with pytest.raises(SystemExit) as stopped:
        main([*arguments, "--models", str(tmp_path / "m"), "--device", "cpu"])
    assert not stopped.value.code
    text = capsys.readouterr().out
    assert "rules" in text
    assert "raw MRR" in text
    assert len(list((tmp_path / "k").glob("*.json"))) == 2


@pytest.mark.parametrize("more", [[], ["--overwrite"]])
def test_an_interruption_says_how_to_go_on(more: list[str], town: Path, tmp_path: Path, capsys, monkeypatch) -> None:
    def interrupted(*given: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(side_by_side, "measure_rows", interrupted)
    with pytest.raises(SystemExit) as stopped:
        main(["reproduce", "links", "--datasets", str(town), "--device", "cpu", "--out", str(tmp_path), *more])
    assert stopped.value.code == 130
    assert ("--rows" if more else "The same command goes on") in capsys.readouterr().err


def test_trained_again_when_asked(town: Path, tmp_path: Path) -> None:
    arguments = (load_dataset(town), LinkRow.parse("complex"), "modern", tmp_path / "kept", tmp_path / "models")
    cells = [measure_row(*arguments, overwrite=overwrite) for overwrite in (False, True)]
    assert cells[0]["runs"][0]["seconds"] != cells[1]["runs"][0]["seconds"]
    assert cells[0]["runs"][0]["test"] == cells[1]["runs"][0]["test"]


def test_a_row_is_marked_where_a_cpu_has_settings_of_its_own(
    town: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An ensemble is if its embedding is, which is modern in every regime."""

    def small(
        encoder: str, decoder: str, dataset: str, regime: str = "modern", *, device: str = "cuda"
    ) -> LinkSettings:
        width = 4 if regime == "paper" or device == "cuda" else 2
        return LinkSettings(encoder=encoder, decoder=decoder, width=width, epochs=1, initial_scale=0.1)

    monkeypatch.setattr(link_table, "link_settings", small)
    found = {}
    for name, regime in (("complex", "modern"), ("rgcn:distmult", "paper"), ("rgcn+complex", "paper")):
        cell = measure_row(load_dataset(town), LinkRow.parse(name), regime, tmp_path / "kept", tmp_path / "models")
        assert [row["remark"] for row in report([cell])] == [""] * (4 if "+" in name else 1)
        found[name] = cell["regime"]
    assert found == {"complex": "modern-cpu", "rgcn:distmult": "paper", "rgcn+complex": "paper-cpu"}


def test_the_papers_impossible_row_is_named() -> None:
    assert "impossible" in remark("brgcn", "distmult", "fb15k-237")
    impossible = [(key, data) for key, rows in PAPER.items() for data in rows if remark(*key, data)]
    assert impossible == [(("brgcn", "distmult"), "fb15k-237")]
    assert remark("none", "complex", "fb15k") == ""
