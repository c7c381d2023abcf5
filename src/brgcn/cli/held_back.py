"""Triples held back for validation and test, as ``--split`` says, where the data hold back none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from brgcn.cli.inputs import split_names
from brgcn.errors import BrgcnError

if TYPE_CHECKING:
    from brgcn.data import Dataset

Split = Annotated[
    str | None,
    typer.Option(
        metavar="VALID,TEST",
        help="For links: shares of the triples to hold back where the data hold back none.",
        show_default="0.1,0.1",
    ),
]


def hold_back_as_asked(data: Dataset, shares: list[float] | None) -> Dataset:
    """``shares`` of validation and test triples, where they were asked for; then there must be some to hold back."""
    from brgcn.data.split_triples import SHARES, holds_back, with_splits

    if shares is not None and not holds_back(data):
        raise BrgcnError(
            f"{data.name} has validation triples of its own, so none are held back as --split says",
            remedy="Leave --split out, or give the training triples alone.",
        )
    return with_splits(data, SHARES if shares is None else shares)


def parse_shares(text: str | None) -> list[float] | None:
    try:
        return None if text is None else [float(part) for part in split_names(text)]
    except ValueError:
        raise BrgcnError(f"--split {text!r} does not give two numbers", remedy="For example --split 0.1,0.1") from None
