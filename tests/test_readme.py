"""What the README shows works."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from brgcn.cli import app, main

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
COMMANDS = re.findall(r"^(?:Your own graph: `)?(brgcn [^#`\n]+)", TEXT, re.MULTILINE)


def test_python_examples_run(shared_data: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setenv("BRGCN_DATA", str(shared_data))
    assert len(PYTHON) == 3
    whole, short = 'decoder="complex", seed=0', 'decoder="complex", seed=0, candidates=50, epochs=1, width=16'
    assert sum(whole in example for example in PYTHON) == 1  # else it would be trained to its end
    for example in PYTHON:
        exec(example.replace(whole, short), {})
    accuracy = float(capsys.readouterr().out.split()[0])
    assert 0.5 < accuracy <= 1


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_and_options_exist(line: str) -> None:
    words = shlex.split(line)[1:]
    command = get_command(app)
    while words and words[0] in getattr(command, "commands", {}):
        command = command.commands[words.pop(0)]
    assert not hasattr(command, "commands"), line
    options = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= options


def test_the_tour_runs_in_order(shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    """Every command of the tour as it stands, with fewer epochs and runs."""
    monkeypatch.setenv("BRGCN_DATA", str(shared_data))
    monkeypatch.chdir(tmp_path)
    bond = "<http://dl-learner.org/carcinogenesis#new> <http://dl-learner.org/carcinogenesis#hasAtom>"
    (tmp_path / "new.nt").write_text(f"{bond} <http://dl-learner.org/carcinogenesis#d1_1> .\n")
    # what takes minutes is run on tiny graphs by its own tests
    long = ("brgcn bench", "brgcn reproduce", "brgcn tune")
    tour = [line for line in COMMANDS if "graph.nt.gz" not in line and not line.strip().startswith(long)]
    assert len(tour) >= 9
    for line in tour:
        words = shlex.split(line)[1:]
        if words[0] == "train" and "--resume" not in words:
            words = ["1" if before == "--runs" else word for before, word in zip(["", *words], words, strict=False)]
            words += ["--epochs", "1"]
        with pytest.raises(SystemExit) as stopped:
            main(words)
        assert not stopped.value.code, (line, capsys.readouterr().err)


def test_what_it_names_is_there() -> None:
    assert len(COMMANDS) >= 9
    for target in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert (ROOT / target).exists(), target
    for target in ("demo", "test"):
        assert f"make {target}" in TEXT
        assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
