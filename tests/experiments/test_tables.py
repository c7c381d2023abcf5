"""The page of results is generated, and says what the files say."""

from __future__ import annotations

import json
from pathlib import Path

from brgcn.experiments.ablation import cuts
from brgcn.experiments.cost import PAPER, VARIED
from brgcn.experiments.tables import page

ROOT = Path(__file__).resolve().parent.parent.parent
MADE = {"device": "cpu", "cpus": 2, "packages": {"torch": "2.13.0"}, "command": "brgcn reproduce"}


def test_the_page_is_what_the_results_say() -> None:
    assert (ROOT / "docs" / "results.md").read_text(encoding="utf-8") == page(ROOT / "results")


def test_ablation_and_cost(tmp_path: Path) -> None:
    accuracy = {cut.key: [0.5, 0.6] if cut.order == "lowest" else [0.8, 0.9] for cut in cuts(2)}
    ablation = {
        "dataset": "toy",
        "model": "gat",
        "by": "lift",
        "runs": 2,
        "environments": [MADE, {**MADE, "device": "gpu", "command": None, "script": "a script of ours"}],
        "accuracy": accuracy,
        "errors": {},
    }
    one = dict.fromkeys(VARIED, 1.0)
    exponents = {model: {"ms": one, "peak_bytes": dict.fromkeys(VARIED)} for model in PAPER}
    cost = {"environment": MADE, "exponents": exponents, "quick": False, "growth": []}
    for name, content in (("ablation", ablation), ("cost", cost)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "some.json").write_text(json.dumps(content))
    relations = tmp_path / "ablation" / "toy-relations.json"
    relations.write_text(json.dumps({"dataset": "toy", "relations": []}))
    text = page(tmp_path)
    assert "## toy, ordered by lift" in text
    assert "2 runs, made with `brgcn reproduce` (cpu, torch 2.13.0); a script of ours (gpu, torch 2.13.0).\n" in text
    cells = "85.00 | 85.00 | 85.00 | 75.25, 81.90, 88.52 | 85.00 | 85.00 | 55.00 | 2" + 3 * " | +0.00 ± 0.00"
    assert f"| gat | {cells} |" in text
    assert "| gat | 1.00 | 1.00 | 1.00 | 1.00 | O(K · \\|N_i^r\\| · d²) | – | – | – | – |" in text
    assert "# Ablation" not in page(tmp_path / "nowhere")
    lifts = [{"lift": lift, "places": places} for lift, places in ((0.5, 1), (1.0, 2), (1.5, 3), (9.0, 0))]
    relations.write_text(json.dumps({"dataset": "toy", "relations": lifts}))
    assert "Lift of the relation types: median 1.00, half of them between 0.50 and 1.50.\n" in page(tmp_path)
