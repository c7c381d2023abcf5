"""Named settings of link prediction.

A regime is a way to train: ``modern`` (the default), ``paper``, ``rgcn-reference``. ``modern`` has settings for
decoders and data sets, which a table of vectors and the encoders share, some for encoders, a few where there is no GPU,
and what an encoder needs beside a decoder; the later of the files (in ``link_regimes``) that are looked for wins.
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
    folder = resources.files("brgcn.tasks") / "link_regimes"
    kinds = [] if encoder == "none" else ["encoder", encoder]
    names = [*kinds, decoder, f"{decoder}.{dataset}", *(f"{kind}.{dataset}" for kind in kinds)]
    if device == "cpu":
        names += ["cpu", f"{dataset}.cpu", f"{decoder}.cpu", *(f"{kind}.cpu" for kind in kinds)]
        names += [f"{decoder}.{dataset}.cpu", *(f"{kind}.{dataset}.cpu" for kind in kinds)]
    names += [f"{kind}.{decoder}" for kind in kinds]
    for place in (f"{regime}.yaml", *(f"{regime}/{name}.yaml" for name in names)):
        file = folder.joinpath(*place.split("/"))
        if file.is_file():
            chosen = update(chosen, yaml.safe_load(file.read_text(encoding="utf-8")) or {}, str(file))
    return chosen
