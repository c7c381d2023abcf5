"""What is printed, and where."""

from __future__ import annotations

import pytest
from rich.table import Table

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
