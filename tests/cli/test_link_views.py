from __future__ import annotations

import pytest

from brgcn.cli.link_views import row_table


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.91234, "0.9123"),
        (0.012345, "0.0123"),
        (0.01898, "0.0190"),
        (1.23456e-5, "1.23e-05"),
        (-0.5, "-0.5000"),
        (3, "3"),
    ],
)
def test_small_probabilities_keep_three_digits(value: float, shown: str) -> None:
    table = row_table("answers", [{"probability": value}])
    assert list(table.columns[0].cells) == [shown]
