"""What can be set for link prediction; a regime (``tasks/link_regimes``) says what of it suits it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from brgcn.config import setting
from brgcn.errors import SettingsError
from brgcn.message_graph import MESSAGE_GRAPHS
from brgcn.nn.decoders import DECODERS, decoder
from brgcn.nn.frame import COUNTS, MODELS
from brgcn.nn.slots import AGGREGATES, SELF_CONNECTIONS
from brgcn.tasks.settings import check_at_least, check_one_of

ENCODERS = ("none", *MODELS)
LOSSES = ("1vsall", "kvsall", "negatives")
OPTIMIZERS = ("adagrad", "adam")
PRECISIONS = ("float32", "tf32", "bfloat16")


@dataclass(frozen=True)
class LinkSettings:
    """An encoder gives each entity a vector, a decoder scores triples of vectors."""

    encoder: str = setting("none", f"one of {', '.join(ENCODERS)}; none: a table of vectors")
    decoder: str = setting("complex", f"one of {', '.join(DECODERS)}")
    width: int = setting(200, "numbers in a vector; ComplEx takes half of them as real, half as imaginary parts")
    reciprocal: bool = setting(True, "heads of (?, r, t) are asked for as tails of (t, inverse of r, ?)")
    # ---------------------------------------------------------------- encoder
    layers: int = setting(1, "of the encoder")
    bases: int = setting(0, "bases shared by the relations' matrices; 0: a matrix for each")
    block_width: int = setting(
        0,
        "numbers in each block on the diagonal of the relations' matrices, all else being 0, or the next fewer that "
        "divide the width; 0: whole matrices",
    )
    heads: int = setting(1, "attention heads of the encoder, averaged in its last layer")
    self_connection: str = setting("outside", f"one of {', '.join(SELF_CONNECTIONS)}")
    aggregate: str = setting("sum", f"over the relations of a node: one of {', '.join(AGGREGATES)}")
    scaled: bool = setting(True, "divide the scores between relations by the square root of the width")
    counts: str = setting("none", f"weigh summaries by how many neighbours they are of: one of {', '.join(COUNTS)}")
    negative_slope: float = setting(0.2, "of the LeakyReLU in the attention between nodes")
    residual: bool = setting(True, "add the entity's own vector to what the encoder makes of it")
    message_graph: str = setting("true", f"what the encoder sees, one of {', '.join(MESSAGE_GRAPHS)}")
    mask_target_edges: bool = setting(False, "hide the triples that are scored from the encoder, in training")
    batch_graph: float = setting(0.0, "share of a step's own triples that the encoder sees in training; 0: all triples")
    batches_per_pass: int = setting(1, "batches that are trained with one pass of the encoder")
    dropout: float = setting(0.0, "share of edges whose attention is dropped in training")
    edge_dropout: float = setting(0.0, "share of edges that are taken out of the encoder's graph in training")
    # ---------------------------------------------------------------- loss
    loss: str = setting("1vsall", f"one of {', '.join(LOSSES)}")
    negatives: int = setting(1, "corrupted triples for each true one, with the loss negatives")
    answers: int = setting(8, "answers of a query that share a row of scores in a step; 0: all")
    candidates: int = setting(0, "entities drawn at random that a batch is scored against, beside its answers; 0: all")
    relation_prediction: float = setting(0.0, "weight of the loss of predicting the relation between head and tail")
    n3: float = setting(0.0, "weight of the cubed sizes of the vectors of a triple")
    l2: float = setting(0.0, "weight of the mean square of all vectors")
    entity_dropout: float = setting(0.0, "share of the numbers of entity vectors that are dropped in training")
    relation_dropout: float = setting(0.0, "the same for relations")
    # ---------------------------------------------------------------- training
    optimizer: str = setting("adagrad", f"one of {', '.join(OPTIMIZERS)}")
    learning_rate: float = setting(0.1, "of the optimizer")
    encoder_learning_rate: float = setting(0.0, "of the parameters of the encoder; 0: the same")
    batch: int = setting(500, "queries (with the loss negatives: triples) per step; 0: all")
    epochs: int = setting(100, "passes over the training triples, at most")
    evaluate_every: int = setting(5, "epochs between two looks at the validation triples")
    patience: int = setting(5, "looks without a better filtered MRR after which training stops; 0: never")
    initial_scale: float = setting(1e-3, "standard deviation of the vectors at the start")
    clip: float = setting(0.0, "longest gradient; 0: any")
    precision: str = setting(
        "tf32",
        f"of products in training where the machine has it, one of {', '.join(PRECISIONS)}; ranks are always float32",
    )

    def __post_init__(self) -> None:
        check_one_of("encoder", self.encoder, ENCODERS)
        check_one_of("decoder", self.decoder, DECODERS)
        check_one_of("self_connection", self.self_connection, SELF_CONNECTIONS)
        check_one_of("aggregate", self.aggregate, AGGREGATES)
        check_one_of("counts", self.counts, tuple(COUNTS))
        check_one_of("message_graph", self.message_graph, MESSAGE_GRAPHS)
        check_one_of("loss", self.loss, LOSSES)
        check_one_of("optimizer", self.optimizer, OPTIMIZERS)
        check_one_of("precision", self.precision, PRECISIONS)
        for name in ("width", "layers", "heads", "negatives", "batches_per_pass", "epochs", "evaluate_every"):
            check_at_least(name, getattr(self, name), 1)
        for name in (
            "bases",
            "block_width",
            "answers",
            "candidates",
            "batch",
            "patience",
            "relation_prediction",
            "n3",
            "l2",
            "clip",
            "encoder_learning_rate",
        ):
            check_at_least(name, getattr(self, name), 0)
        for name in ("dropout", "edge_dropout", "entity_dropout", "relation_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise SettingsError(f"{name} must be at least 0 and below 1, not {getattr(self, name)}")
        if not 0 <= self.batch_graph <= 1:
            raise SettingsError(f"batch_graph must be a share between 0 and 1, not {self.batch_graph}")
        for name in ("learning_rate", "initial_scale"):
            if not getattr(self, name) > 0:
                raise SettingsError(f"{name} must be above 0, not {getattr(self, name)}")
        if self.block_width and self.bases:
            raise SettingsError("bases and block_width are two ways to the same end", remedy="Set one of them to 0.")
        decoder(self.decoder, self.width)  # an odd width does not suit all

    @property
    def num_blocks(self) -> int:
        """Of the relations' matrices; 0: they are whole."""
        if not self.block_width:
            return 0
        fits = max(size for size in range(1, min(self.block_width, self.width) + 1) if self.width % size == 0)
        return self.width // fits if fits < self.width else 0


_OF_ENCODERS = (
    "layers",
    "bases",
    "block_width",
    "heads",
    "self_connection",
    "aggregate",
    "scaled",
    "counts",
    "negative_slope",
    "residual",
    "message_graph",
    "mask_target_edges",
    "batch_graph",
    "batches_per_pass",
    "dropout",
    "edge_dropout",
    "encoder_learning_rate",
)
_OF_QUERIES = ("answers", "candidates", "relation_prediction", "n3")


def without_effect(settings: LinkSettings, names: Iterable[str]) -> list[str]:
    """Of the settings ``names``, a sentence about each that does nothing beside the others; one that is at its default
    asks for nothing. Presets hold such settings rightly, so they are no errors."""
    usual, because = LinkSettings(), _idle(settings)
    asked = (name for name in names if getattr(settings, name) != getattr(usual, name))
    return [f"{name} does nothing {because[name]}" for name in asked if name in because]


def _idle(settings: LinkSettings) -> dict[str, str]:
    """Setting -> why it does nothing."""
    between_nodes, between_relations = MODELS.get(settings.encoder, (True, True))
    with_negatives = settings.loss == "negatives"
    rules = (
        (settings.encoder == "none", _OF_ENCODERS, "without an encoder"),
        (not between_nodes, ("dropout", "negative_slope"), f"in the encoder {settings.encoder}: no attention to nodes"),
        (not between_relations, ("scaled",), f"in the encoder {settings.encoder}: no attention to relations"),
        (with_negatives, _OF_QUERIES, "with the loss negatives"),
        (not with_negatives, ("negatives",), f"with the loss {settings.loss}"),
    )
    return {name: why for holds, names, why in rules if holds for name in names}
