"""A town to predict links in, and the command line that does it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from brgcn.cli import main

SMALL = ["--set", "width=8", "--set", "batch=50", "--set", "initial_scale=0.1"]


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return int(stopped.value.code or 0), captured.out, captured.err


def town_triples() -> list[str]:
    """People live in towns, towns have residents, and people know anybody."""
    rng = random.Random(0)
    lines = []
    for person in range(60):
        lines += [f"p{person}\tlives in\tt{person % 5}", f"t{person % 5}\thas resident\tp{person}"]
        lines.append(f"p{person}\tknows\tp{rng.randrange(60)}")
    return lines


def town_table(path: Path) -> Path:
    path.write_text("\n".join(["head\trelation\ttail", *town_triples()]) + "\n")
    return path
