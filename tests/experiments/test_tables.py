from __future__ import annotations

from pathlib import Path

from brgcn.experiments.tables import page

ROOT = Path(__file__).resolve().parent.parent.parent


def test_the_page_is_what_the_results_say() -> None:
    assert (ROOT / "docs" / "results.md").read_text(encoding="utf-8") == page(ROOT / "results" / "nodes")
