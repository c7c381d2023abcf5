"""Attention made visible: how much each relation receives, what one node looks at, and a figure of both."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from brgcn.explain.explanation import EXPLAINABLE, Explanation, explain
from brgcn.explain.importance import RelationImportance, relation_importance
from brgcn.tasks.run_folder import RunFolder

__all__ = ["EXPLAINABLE", "Explanation", "RelationImportance", "explain", "explain_run", "relation_importance"]


def explain_run(folder: RunFolder, *, run: int = 0, node: str | None = None, out: Path | None = None) -> Explanation:
    """Explain one run's model and draw it, into the run folder unless ``out`` says where."""
    from brgcn.explain.figure import draw

    explanation = explain(folder, run=run, node=node)
    return replace(explanation, figure=draw(explanation, out or folder.path / "attention.png"))
