"""Named settings of link prediction.

A regime is a way to train: ``modern`` (the default), ``paper``, ``rgcn-reference``. ``modern`` has settings for data
sets and models, found on validation triples, and a few of its own where there is no GPU.
"""

from __future__ import annotations

from importlib import resources

import yaml

from brgcn.config import update
from brgcn.errors import SettingsError
from brgcn.tasks.link_settings import LinkSettings

REGIMES = ("modern", "paper", "rgcn-reference")


def link_settings(
    encoder: str, decoder: str, dataset: str, regime: str = "modern", *, device: str = "cuda"
) -> LinkSettings:
    """The settings of ``regime`` for an encoder with a decoder on a data set (any name)."""
    if regime not in REGIMES:
        raise SettingsError(f"unknown regime {regime!r}", remedy=f"Known: {', '.join(REGIMES)}.")
    chosen = update(LinkSettings(), {"encoder": encoder, "decoder": decoder}, "the model")
    folder = resources.files("brgcn.experiments") / "settings" / "links"
    places = [f"{regime}.yaml", f"{regime}/{encoder}-{decoder}.yaml", f"{regime}/{dataset}.yaml"]
    places += [f"{regime}/{encoder}-{decoder}.{dataset}.yaml"]
    if device == "cpu":
        places += [f"{regime}/cpu.yaml", f"{regime}/{dataset}.cpu.yaml"]
    for place in places:
        file = folder.joinpath(*place.split("/"))
        if file.is_file():
            chosen = update(chosen, yaml.safe_load(file.read_text(encoding="utf-8")) or {}, str(file))
    return chosen
