from __future__ import annotations

import pytest

from brgcn.errors import SettingsError
from brgcn.experiments.presets import node_settings
from brgcn.tasks.settings import NodeSettings

DATASETS = ("aifb", "mutag", "bgs", "am")
# The paper's appendix, "Model Hyperparameters", written down once more from the text.
APPENDIX = {
    "brgcn": {
        "learning_rate": (0.050, 0.010, 0.005, 0.010),
        "l2": (0, 5e-4, 0, 0),
        "bases": (0, 0, 1, 0),
        "epochs": (85, 90, 95, 100),
        "dropout": (0.4, 0.2, 0.6, 0.6),
        "negative_slope": (0.2, 0, 0.4, 0),
    },
    "brgcn-node": {
        "learning_rate": (0.010, 0.001, 0.001, 0.001),
        "l2": (0, 0, 0, 0),
        "bases": (6, 1, 0, 2),
        "epochs": (70, 90, 70, 80),
        "dropout": (0.6, 0.4, 0.0, 0.6),
        "negative_slope": (0.6, 0.8, 0.4, 0.8),
    },
    "brgcn-relation": {
        "learning_rate": (0.010, 0.010, 0.050, 0.001),
        "l2": (0, 0, 0, 5e-4),
        "bases": (2, 0, 4, 2),
        "epochs": (70, 75, 85, 85),
    },
}


@pytest.mark.parametrize("model", sorted(APPENDIX))
@pytest.mark.parametrize("number", range(4))
def test_paper_is_the_appendix_and_the_literal_equations(model: str, number: int) -> None:
    settings = node_settings(model, DATASETS[number], "paper")
    for name, values in APPENDIX[model].items():
        assert getattr(settings, name) == values[number], name
    assert settings.attention_l2 == settings.l2
    literal = (settings.self_connection, settings.input_self_connection, settings.aggregate, settings.scaled)
    assert literal == ("inside", "inside", "sum", False)
    assert (settings.layers, settings.hidden, settings.heads, settings.patience) == (2, 16, 1, 0)
    assert settings.model == model


@pytest.mark.parametrize(("dataset", "bases", "hidden", "l2"), [("aifb", 0, 16, 0), ("mutag", 30, 16, 5e-4)])
def test_rgcn_has_the_settings_of_its_own_release(dataset, bases, hidden, l2) -> None:
    settings = node_settings("rgcn", dataset, "paper")
    assert (settings.bases, settings.hidden, settings.l2) == (bases, hidden, l2)
    assert (settings.learning_rate, settings.epochs, settings.dropout) == (0.01, 50, 0)


@pytest.mark.parametrize("model", [*APPENDIX, "rgcn"])
@pytest.mark.parametrize("dataset", DATASETS)
def test_nothing_past_the_paper_is_in_its_preset(model, dataset) -> None:
    settings = node_settings(model, dataset, "paper")
    assert (settings.counts, settings.literals, settings.rare, settings.hidden_dropout) == ("none", "nodes", 0, 0)


def test_default_is_the_dataclass_unless_a_data_set_chose_otherwise() -> None:
    assert node_settings("brgcn", "my graph") == NodeSettings()
    assert node_settings("rgcn", "my graph") == NodeSettings(model="rgcn")
    for dataset in ("aifb", "mutag"):
        assert node_settings("brgcn", dataset) != NodeSettings()


def test_stand_ins_take_the_settings_of_what_they_stand_for() -> None:
    assert node_settings("brgcn", "am-standin", "paper") == node_settings("brgcn", "am", "paper")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("gat", "aifb", "paper"), "no settings for gat on aifb\n  It has none for gat"),
        (("brgcn", "mine", "paper"), "It has them for brgcn on aifb, am, bgs, mutag"),
        (("brgcn", "aifb", "best"), "Known: default, paper"),
        (("xgcn", "aifb", "default"), "model must be one of brgcn"),
    ],
)
def test_what_is_not_there(arguments, message) -> None:
    with pytest.raises(SettingsError, match=message):
        node_settings(*arguments)
