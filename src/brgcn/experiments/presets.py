"""Named settings: ``default`` is ``NodeSettings()``, ``paper`` the paper's appendix, a file per model and data set."""

from __future__ import annotations

from importlib import resources

import yaml

from brgcn.config import update
from brgcn.errors import SettingsError
from brgcn.tasks.settings import NodeSettings

PRESETS = ("default", "paper")
# The stand-ins are trained with what the paper gives for the data set they stand in for.
_SETTINGS_OF = {"am-standin": "am", "am-standin-categories": "am", "bgs-standin": "bgs"}


def node_settings(model: str, dataset: str, preset: str = "default") -> NodeSettings:
    """The settings of ``preset`` for a model on a data set (any name; ``paper`` knows the paper's four)."""
    settings = update(NodeSettings(), {"model": model}, "--model")
    if preset == "default":
        return settings
    if preset not in PRESETS:
        raise SettingsError(f"unknown preset {preset!r}", remedy=f"Known: {', '.join(PRESETS)}.")
    folder = resources.files("brgcn.experiments") / "settings" / "nodes" / model
    name = _SETTINGS_OF.get(dataset, dataset)
    file = folder / f"{name}.{preset}.yaml"
    if not file.is_file():
        known = sorted(f.name.split(".")[0] for f in folder.iterdir()) if folder.is_dir() else []
        have = f"It has them for {model} on {', '.join(known)}." if known else f"It has none for {model}."
        raise SettingsError(
            f"the paper gives no settings for {model} on {dataset}", remedy=f"{have} Use --preset default instead."
        )
    return update(settings, yaml.safe_load(file.read_text(encoding="utf-8")), str(file))
