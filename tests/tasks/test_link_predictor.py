"""Link prediction from Python."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from brgcn import Dataset, LinkPredictor, load_dataset
from brgcn.config import update
from brgcn.errors import BrgcnError, DataError, SettingsError
from brgcn.tasks.link_presets import link_settings
from brgcn.tasks.link_runs import train_link_runs
from brgcn.tasks.link_settings import LinkSettings

SETTINGS = {"width": 8, "epochs": 20, "batch": 16, "initial_scale": 0.1}
FEW = {"width": 8, "epochs": 1}


@pytest.fixture(scope="module")
def towns(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """People live in towns, and towns have residents; some of the latter are held back."""
    folder = tmp_path_factory.mktemp("towns")
    lives = [f"p{k}\tlives_in\tt{k % 4}\n" for k in range(28)]
    has = [f"t{k % 4}\thas\tp{k}\n" for k in range(28)]
    (folder / "train.tsv").write_text("".join(lives + has[8:]))
    (folder / "valid.tsv").write_text("".join(has[:4]))
    (folder / "test.tsv").write_text("".join(has[4:8]))
    return load_dataset(folder)


def test_fit_predict_score_and_neighbours(towns: Dataset) -> None:
    told: list[dict[str, object]] = []
    predictor = LinkPredictor(seed=1, device="cpu", **SETTINGS).fit(towns, on_epoch=told.append)
    assert predictor.history_ == told
    assert predictor.history_[-1]["loss"] < predictor.history_[0]["loss"]
    rows = predictor.predict(head="p9", relation="lives_in", top=3)
    assert [row["rank"] for row in rows] == [1, 2, 3]
    assert (rows[0]["tail"], rows[0]["known"]) == ("t1", "train")
    assert rows[0]["probability"] > rows[1]["probability"]
    assert sum(row["probability"] for row in predictor.predict(head="p9", tail="t1")) == pytest.approx(1)
    known = {row["head"]: row["known"] for row in predictor.predict(relation="has", tail="p5", top=32)}
    assert known["t1"] == "test"
    assert set(known.values()) == {"test", None}
    measures = predictor.score(towns.triples["test"])
    assert measures["filtered"]["mrr"] >= measures["raw"]["mrr"] > 0
    found = predictor.neighbours("t1", top=31)
    assert "t1" not in [row["entity"] for row in found]
    assert found[0]["cosine"] >= found[-1]["cosine"]


def test_a_folder_says_the_same_as_what_was_trained(towns: Dataset, tmp_path: Path) -> None:
    settings = update(link_settings("none", "complex", towns.name, device="cpu"), SETTINGS, "the test")
    train_link_runs(towns, settings, tmp_path / "run", runs=2, seed=1)
    one = LinkPredictor.load(tmp_path / "run", run=0)
    fitted = LinkPredictor(seed=1, device="cpu", **SETTINGS).fit(towns)
    assert one.settings == fitted.settings == settings
    asked = {"relation": "lives_in", "tail": "t2"}
    assert one.predict(**asked) == fitted.predict(**asked)
    both = LinkPredictor.load(tmp_path / "run")
    assert len(both.scores_) == 2
    assert both.predict(**asked) != one.predict(**asked)
    other = LinkPredictor.load(tmp_path / "run", run=1)
    valid = towns.triples["valid"]
    ranks = [predictor.score(valid)["raw"]["mr"] for predictor in (one, other, both)]
    assert ranks[2] == pytest.approx((ranks[0] + ranks[1]) / 2)


def test_the_regime_has_settings_for_the_data_and_what_is_given_wins(towns: Dataset) -> None:
    def trained(data: Dataset, **given: Any) -> LinkSettings:
        return LinkPredictor(device="cpu", **FEW, **given).fit(data).settings

    known = replace(towns, name="wn18")  # which has settings of its own
    expected = link_settings("none", "distmult", "wn18", device="cpu")
    assert expected != link_settings("none", "distmult", towns.name, device="cpu")
    assert trained(known, decoder="distmult") == replace(expected, **FEW)
    assert trained(known, decoder="distmult", n3=0.3).n3 == 0.3
    encoder = {"encoder": "rgcn", "decoder": "distmult"}
    for regime in ("paper", "rgcn-reference"):
        of_regime = replace(link_settings(**encoder, dataset=towns.name, regime=regime, device="cpu"), **FEW)
        assert trained(towns, regime=regime, **encoder) == of_regime
    assert trained(towns, regime=None, **encoder) == LinkSettings(**encoder, **FEW)  # type: ignore[arg-type]


def test_a_predictor_can_be_fitted_again(towns: Dataset, tmp_path: Path) -> None:
    """On other data, with what the regime has for these; one of a folder, with the settings of the folder."""
    predictor = LinkPredictor(device="cpu", decoder="distmult", **FEW).fit(towns)
    first = predictor.settings
    assert predictor.fit(replace(towns, name="wn18")).settings != first
    assert predictor.fit(towns).settings == first
    folder = train_link_runs(towns, LinkSettings(**FEW, n3=0.2), tmp_path / "run")  # type: ignore[arg-type]
    assert LinkPredictor.load(folder.path).fit(towns).settings == folder.settings


def test_settings_that_do_nothing_are_named(towns: Dataset, tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    with pytest.warns(UserWarning, match="n3 does nothing with the loss negatives") as said:
        LinkPredictor(device="cpu", loss="negatives", n3=0.1, **FEW).fit(towns)
    assert [warning.filename for warning in said] == [__file__]
    LinkPredictor(device="cpu", regime="rgcn-reference", **FEW).fit(towns)  # presets may hold such settings
    folder = train_link_runs(towns, LinkSettings(**FEW, edge_dropout=0.2), tmp_path / "run")  # type: ignore[arg-type]
    LinkPredictor.load(folder.path).fit(towns)  # and so may folders
    assert not [warning for warning in recwarn if "does nothing" in str(warning.message)]


def test_wrong_settings_are_known_before_there_are_data() -> None:
    with pytest.raises(SettingsError, match="unknown regime 'best'") as unknown:
        LinkPredictor(regime="best")
    assert "modern, paper, rgcn-reference" in str(unknown.value)
    with pytest.raises(SettingsError, match="unknown setting 'widht'"):
        LinkPredictor(widht=3)
    with pytest.raises(SettingsError, match="decoder"):
        LinkPredictor(decoder="rescal")


def test_what_cannot_be_answered(towns: Dataset) -> None:
    with pytest.raises(BrgcnError, match="has not been fitted"):
        LinkPredictor().predict(head="p1", relation="has")
    with pytest.raises(BrgcnError, match="width"):
        LinkPredictor(width="wide")
    predictor = LinkPredictor(device="cpu", epochs=1, width=4).fit(towns)
    with pytest.raises(DataError, match="did you mean 'lives_in'"):
        predictor.predict(head="p1", relation="live_in")
    with pytest.raises(DataError, match="two of head, relation and tail"):
        predictor.predict(head="p1")
    with pytest.raises(DataError, match="there is no tail 99"):
        predictor.score(torch.tensor([[0, 0, 99]]))


def test_torch_keeps_its_threads_while_links_are_trained(towns: Dataset, tmp_path: Path) -> None:
    """Its products are most of the work; where fused operators are, it keeps to one."""
    before, seen = torch.get_num_threads(), []
    torch.set_num_threads(2)
    try:
        train_link_runs(
            towns,
            LinkSettings(width=4, epochs=1),
            tmp_path / "run",
            listener=lambda run, record: seen.append(torch.get_num_threads()),
        )
    finally:
        torch.set_num_threads(before)
    assert set(seen) == {2}
