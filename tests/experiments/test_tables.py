from __future__ import annotations

import json
from pathlib import Path

import pytest

from brgcn.data import load_dataset
from brgcn.errors import RunError
from brgcn.experiments.tables import keep, page
from brgcn.tasks import NodeSettings, train_runs

ROOT = Path(__file__).resolve().parent.parent.parent


def test_the_page_is_what_the_results_say() -> None:
    assert (ROOT / "docs" / "results.md").read_text(encoding="utf-8") == page(ROOT / "results" / "nodes")


def test_a_run_is_kept_with_what_it_was_made_with(toy: Path, tmp_path: Path) -> None:
    folder = train_runs(load_dataset(toy), NodeSettings(epochs=2), tmp_path / "run", runs=2, seed=4)
    kept = json.loads(keep(folder, tmp_path / "results").read_text())
    assert kept["seeds"] == [4, 5]
    assert kept["result"] == folder.result
    assert {"commit", "device", "packages", "command"} <= set(kept["environment"])
    changed = train_runs(
        load_dataset(toy), NodeSettings(epochs=2), tmp_path / "changed", changed_settings={"epochs": 2}
    )
    with pytest.raises(RunError, match=r"settings of the preset were changed \(epochs\)"):
        keep(changed, tmp_path / "results")
    assert f"{100 * folder.result['test_accuracy']['mean']:.2f}" in page(tmp_path / "results")
