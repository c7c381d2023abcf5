"""Link prediction from Python."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from brgcn import Dataset, LinkPredictor, load_dataset
from brgcn.errors import BrgcnError, DataError
from brgcn.tasks.link_runs import train_link_runs
from brgcn.tasks.link_settings import LinkSettings

SETTINGS = {"width": 8, "epochs": 20, "batch": 16, "initial_scale": 0.1}


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
    train_link_runs(towns, LinkSettings(**SETTINGS), tmp_path / "run", runs=2, seed=1)  # type: ignore[arg-type]
    one = LinkPredictor.load(tmp_path / "run", run=0)
    fitted = LinkPredictor(seed=1, device="cpu", **SETTINGS).fit(towns)
    asked = {"relation": "lives_in", "tail": "t2"}
    assert one.predict(**asked) == fitted.predict(**asked)
    both = LinkPredictor.load(tmp_path / "run")
    assert len(both.scores_) == 2
    assert both.predict(**asked) != one.predict(**asked)
    other = LinkPredictor.load(tmp_path / "run", run=1)
    valid = towns.triples["valid"]
    ranks = [predictor.score(valid)["raw"]["mr"] for predictor in (one, other, both)]
    assert ranks[2] == pytest.approx((ranks[0] + ranks[1]) / 2)


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
