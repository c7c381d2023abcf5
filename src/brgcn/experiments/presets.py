"""Named settings.

``default`` is ``NodeSettings()``, unless a search (``brgcn tune``) on labels of the data set chose otherwise for the
model and left a file here. ``paper`` is the paper's appendix, a file per model and data set.
"""

from __future__ import annotations

from importlib import resources
from importlib.resources.abc import Traversable

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
    if preset not in PRESETS:
        raise SettingsError(f"unknown preset {preset!r}", remedy=f"Known: {', '.join(PRESETS)}.")
    folder = resources.files("brgcn.experiments") / "settings" / "nodes"
    if preset == "default":
        file = folder / model / f"{dataset}.default.yaml"
        return _put_in(settings, file) if file.is_file() else settings
    file = folder / model / f"{_SETTINGS_OF.get(dataset, dataset)}.{preset}.yaml"
    if file.is_file():
        return _put_in(settings, file)
    files = [entry.name for entry in (folder / model).iterdir()] if (folder / model).is_dir() else []
    known = sorted(name.split(".")[0] for name in files if name.endswith(f".{preset}.yaml"))
    have = f"It has them for {model} on {', '.join(known)}." if known else f"It has none for {model}."
    message = f"the paper gives no settings for {model} on {dataset}"
    raise SettingsError(message, remedy=f"{have} Use --preset default instead.")


def _put_in(settings: NodeSettings, file: Traversable) -> NodeSettings:
    return update(settings, yaml.safe_load(file.read_text(encoding="utf-8")), str(file))
