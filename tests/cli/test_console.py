"""What is printed, and where."""

from __future__ import annotations

from typing import Any

import pytest
from rich.table import Table
from typer.main import get_command

from brgcn.cli import app
from brgcn.cli.console import stdout


def test_a_table_in_a_pipe_is_not_squeezed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    table = Table()
    for column in range(12):
        table.add_column(f"a column {column}", justify="right")
    table.add_row(*["0.12345678"] * 12)
    for columns, whole in ((None, True), ("60", False)):
        monkeypatch.delenv("COLUMNS", raising=False)
        if columns is not None:
            monkeypatch.setenv("COLUMNS", columns)
        stdout().print(table)
        assert (capsys.readouterr().out.count("0.12345678") == 12) is whole


def test_no_option_is_explained_by_its_own_name() -> None:
    """typer 0.27.0 takes ``metavar="DEVICE"`` of an option --device for its name, and then knows --DEVICE alone."""

    def look(command: Any) -> int:
        if commands := getattr(command, "commands", None):
            return sum(look(one) for one in commands.values())
        for option in command.params:
            assert option.metavar is None or f"--{option.metavar.lower()}" not in option.opts, option.opts
        return len(command.params)

    assert look(get_command(app)) > 100
