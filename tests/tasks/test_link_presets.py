"""The regimes of link prediction: which files are chosen, and what they say."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import pytest

from brgcn.config import update
from brgcn.errors import SettingsError
from brgcn.nn.decoders import DECODERS
from brgcn.tasks.link_presets import REGIMES, link_settings
from brgcn.tasks.link_settings import ENCODERS, LinkSettings


def test_regimes() -> None:
    for regime in REGIMES:
        assert link_settings("brgcn", "distmult", "fb15k-237", regime).encoder == "brgcn"
    paper = link_settings("brgcn", "distmult", "wn18", "paper")
    assert (paper.learning_rate, paper.width, paper.epochs, paper.dropout, paper.negative_slope) == (
        0.01,
        16,
        100,
        0.6,
        0,
    )
    assert link_settings("none", "complex", "any", device="cpu").candidates > 0
    with_encoder = link_settings("brgcn", "complex", "any")
    assert with_encoder.batches_per_pass > 1
    assert link_settings("brgcn", "transe", "any").encoder_learning_rate == 0  # Adam's rates are of another kind
    assert link_settings("brgcn", "complex", "any", device="cpu").width < with_encoder.width
    assert link_settings("rgcn", "distmult", "any", "rgcn-reference", device="cpu").width == 200
    assert link_settings("none", "complex", "any", device="cuda").candidates == 0
    for encoder in ("none", "brgcn"):  # a sample suits neither
        assert link_settings(encoder, "distmult", "wn18", device="cpu").candidates == 0
    with pytest.raises(SettingsError, match="unknown regime"):
        link_settings("none", "complex", "any", "best")


def test_all_of_the_table_can_be_built_and_no_file_is_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings are checked as they are put together: an even width for ComplEx, for one."""
    opened: set[str] = set()

    def noticed(settings: LinkSettings, changes: dict[str, object], where: str) -> LinkSettings:
        opened.add(Path(where).name)
        return update(settings, changes, where)

    monkeypatch.setattr("brgcn.tasks.link_presets.update", noticed)
    for device in ("cuda", "cpu"):
        for dataset in ("fb15k", "wn18", "fb15k-237", "my own"):
            for encoder in ENCODERS:
                for decoder in DECODERS:
                    link_settings(encoder, decoder, dataset, "rgcn-reference", device=device)
                    settings = link_settings(encoder, decoder, dataset, device=device)
                    if device == "cpu" and dataset == "my own":
                        assert settings.candidates > 0
                        assert settings.width <= 200
    for regime in ("modern", "rgcn-reference"):
        folder = resources.files("brgcn.tasks") / "link_regimes" / regime
        assert {file.name for file in folder.iterdir()} <= opened
