"""What can be set for node classification; the defaults are the preset ``default``."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from brgcn.config import setting
from brgcn.errors import SettingsError
from brgcn.nn.baselines import BASELINES
from brgcn.nn.frame import COUNTS, MODELS
from brgcn.nn.slots import AGGREGATES, SELF_CONNECTIONS

LITERALS = ("nodes", "features", "both")
MODEL_NAMES = (*MODELS, *BASELINES)
# Far beyond sense, and within what torch can count and Adam can compute.
MOST, MOST_OF_A_FRACTION = 10**9, 1e30


@dataclass(frozen=True)
class NodeSettings:
    """The defaults are what was best for BR-GCN on the left-out training labels of four data sets together
    (docs/protocol.md says how).

    Of the baselines, all know layers, hidden, inverse, literals, rare, one_hot, hidden_dropout, normalise and how to
    train; GAT and HAN also heads, dropout and negative_slope. The rest is for our models.
    """

    model: str = setting("brgcn", f"one of {', '.join(MODEL_NAMES)}")
    layers: int = setting(2, "number of layers")
    hidden: int = setting(16, "width of the hidden layers")
    heads: int = setting(1, "attention heads, concatenated, averaged in the last layer")
    bases: int = setting(30, "bases shared by the relations' matrices; 0: a matrix for each")
    inverse: bool = setting(True, "add an inverse relation for each relation")
    literals: str = setting(
        "both", "what numbers, dates and texts are: nodes; features of the nodes that have them; or both"
    )
    rare: int = setting(2, "one-hot nodes that bring fewer edges than this to a relation share one row there")
    one_hot: bool = setting(
        False,
        "beside given features, nodes are one-hot vectors; they always are without them or with literals as features",
    )
    self_connection: str = setting("inside", f"one of {', '.join(SELF_CONNECTIONS)}")
    input_self_connection: str = setting("none", "the same for the first layer when nodes have no features")
    aggregate: str = setting("sum", f"over the relations of a node: one of {', '.join(AGGREGATES)}")
    scaled: bool = setting(False, "divide the scores between relations by the square root of the width")
    counts: str = setting("sqrt", f"weigh summaries by how many neighbours they are of: one of {', '.join(COUNTS)}")
    negative_slope: float = setting(0.2, "of the LeakyReLU in the attention between nodes")
    dropout: float = setting(0.2, "share of edges whose attention is dropped in training")
    hidden_dropout: float = setting(0.75, "share of the features between layers that are dropped in training")
    normalise: bool = setting(False, "bring the features between layers to mean 0 and variance 1, each node by itself")
    learning_rate: float = setting(0.0047, "of Adam")
    l2: float = setting(0.0017, "weight decay of Adam, for what is summed up: values, root, bases, input")
    attention_l2: float = setting(
        2.4e-6, "weight decay of Adam, for what decides on attention: queries, keys, attention vectors"
    )
    epochs: int = setting(70, "passes over the training labels (at most, with patience)")
    patience: int = setting(0, "stop when validation has not improved for so many epochs; 0: train for all epochs")
    validation: float = setting(0.2, "share of the training labels held back for patience")
    refit: bool = setting(
        True, "after patience ran out, train anew on all training labels for the best number of epochs"
    )
    class_weights: bool = setting(False, "weigh classes by the inverse of their frequency")
    receptive_field: bool = setting(True, "compute only what reaches the labelled nodes (exact, faster)")

    def __post_init__(self) -> None:
        check_one_of("model", self.model, MODEL_NAMES)
        check_one_of("self_connection", self.self_connection, SELF_CONNECTIONS)
        check_one_of("input_self_connection", self.input_self_connection, SELF_CONNECTIONS)
        check_one_of("literals", self.literals, LITERALS)
        check_one_of("counts", self.counts, tuple(COUNTS))
        check_one_of("aggregate", self.aggregate, AGGREGATES)
        for name in ("layers", "hidden", "heads", "epochs"):
            check_at_least(name, getattr(self, name), 1)
        for name in ("bases", "rare", "patience", "l2", "attention_l2", "negative_slope"):
            check_at_least(name, getattr(self, name), 0)
        for name in ("dropout", "hidden_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise SettingsError(f"{name} must be at least 0 and below 1, not {getattr(self, name)}")
        if not 0 < self.validation < 1:
            raise SettingsError(f"validation must lie between 0 and 1, not {self.validation}")
        if not self.learning_rate > 0:
            raise SettingsError(f"learning_rate must be above 0, not {self.learning_rate}")
        check_at_least("learning_rate", self.learning_rate, 0)


_OF_OURS = ("bases", "self_connection", "input_self_connection", "aggregate", "scaled", "counts", "attention_l2")
_OF_HEADS = ("heads", "dropout", "negative_slope")
_OF_INPUTS = ("hidden", "literals", "rare", "one_hot", "hidden_dropout", "normalise")
_UNREAD = {
    "brgcn-node": ("scaled",),
    "rgcn": ("scaled", "negative_slope", "dropout"),
    "brgcn-relation": ("negative_slope", "dropout"),
    "han": _OF_OURS,
    "gat": _OF_OURS,
    "gin": _OF_OURS + _OF_HEADS,
    "gcn": _OF_OURS + _OF_HEADS,
    "majority": _OF_OURS + _OF_HEADS + _OF_INPUTS,
}


def read_settings(settings: NodeSettings) -> dict[str, Any]:
    """What the model reads of its settings: a result does not depend on the others."""
    unread = _UNREAD.get(settings.model, ())
    return {name: value for name, value in asdict(settings).items() if name not in unread}


def check_one_of(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise SettingsError(f"{name} must be one of {', '.join(known)}, not {value!r}")


def check_at_least(name: str, value: float, low: int) -> None:
    if not value >= low:
        raise SettingsError(f"{name} must be at least {low}, not {value}")
    most = MOST if isinstance(value, int) else MOST_OF_A_FRACTION
    if value > most:
        raise SettingsError(f"{name} must be at most {most:,}")
