"""The two slots of the bi-level frame (equation 1 of the paper) and their fillings.

    h_i' = AGG over relations r of f( AGG over sources j of g(edge ij | r) )

The node-level slot computes g and the inner sum, the relation-level slot f and the outer one. A slot has no parameters:
the layer that owns it projects with its own, which differ between features and one-hot input.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from brgcn.errors import SettingsError
from brgcn.graph import RelationalGraph
from brgcn.ops import EdgeRows, add_relations, attend_edges, attend_relations, average_edges, combine_seed, lane_seeds

SELF_CONNECTIONS = ("inside", "outside", "relation", "none")
AGGREGATES = ("sum", "mean")
ACTIVATIONS = ("relu", "none")


Seed = int | Tensor | None  # of a dropout: a number, or the ``lane_seeds`` [L] themselves


class EdgeScores(NamedTuple):
    """a_r . [h_i || h_j] in its two halves."""

    target: Tensor  # [P, L]
    source: Tensor  # [M, L]
    source_rows: EdgeRows  # the row of ``source`` that belongs to each edge


class NodeAttention(nn.Module):
    """g_ij = softmax over j in N_i^r of LeakyReLU(a_r . [h_i || h_j]), with dropout on g."""

    has_scores = True

    def __init__(self, negative_slope: float, dropout: float) -> None:
        super().__init__()
        if not 0 <= dropout < 1:
            raise SettingsError(f"dropout must lie in [0, 1), not {dropout}")
        self.negative_slope = negative_slope
        self.dropout = dropout

    def forward(
        self,
        values: Tensor,
        rows: EdgeRows,
        scores: EdgeScores | None,
        graph: RelationalGraph,
        seed: Seed,
    ) -> tuple[Tensor, Tensor]:
        assert scores is not None
        dropout = self.dropout if self.training else 0.0
        return attend_edges(
            values,
            rows,
            scores.target,
            scores.source,
            scores.source_rows,
            graph,
            negative_slope=self.negative_slope,
            dropout=dropout,
            seed=_lane_seeds(seed, values) if dropout else None,
        )

    def extra_repr(self) -> str:
        return f"negative_slope={self.negative_slope}, dropout={self.dropout}"


class NodeMean(nn.Module):
    """g_ij = 1 / |N_i^r|."""

    has_scores = False

    def forward(
        self,
        values: Tensor,
        rows: EdgeRows,
        scores: EdgeScores | None,
        graph: RelationalGraph,
        seed: Seed,
    ) -> tuple[Tensor, Tensor]:
        return average_edges(values, rows, graph)


class RelationSlot(nn.Module):
    """What the two relation-level fillings share: activation, self-connection, sum or mean."""

    projections: tuple[str, ...] = ()

    def __init__(self, self_connection: str, aggregate: str, activation: str) -> None:
        super().__init__()
        _check("self_connection", self_connection, SELF_CONNECTIONS)
        _check("aggregate", aggregate, AGGREGATES)
        _check("activation", activation, ACTIVATIONS)
        self.self_connection = self_connection
        self.aggregate = aggregate
        self.activation = activation

    @property
    def attends_to_self(self) -> bool:
        return False

    def extra_repr(self) -> str:
        return f"self_connection={self.self_connection}, aggregate={self.aggregate}, activation={self.activation}"


class RelationAttention(RelationSlot):
    """h_i' = sum_r act(sum_r' psi_i[r, r'] v_ir' + h_i W_root) with psi_i = softmax over r' in R_i of q_ir . k_ir'."""

    projections = ("query", "key", "value")

    def __init__(self, self_connection: str, aggregate: str, activation: str, scaled: bool) -> None:
        super().__init__(self_connection, aggregate, activation)
        self.scaled = scaled

    @property
    def attends_to_self(self) -> bool:
        return self.self_connection == "relation"

    def forward(
        self,
        projected: Tensor,
        root: Tensor | None,
        own: Tensor | None,
        graph: RelationalGraph,
        want_attention: bool,
    ) -> tuple[Tensor, Tensor | None]:
        """Args:
        projected: query, key and value of the pairs side by side, [P, L, 3 * C].
        root: h W_root of the target nodes [targets, L, C], unless there is no self-connection.
        own: query and key of the target nodes themselves [targets, L, 2 * C] where they are attended to (root is then
            their value).
        """
        if own is not None and root is not None:
            projected = torch.cat([projected, torch.cat([own, root], dim=-1)])
            root = None
        return attend_relations(
            projected,
            graph,
            root=root,
            root_outside=self.self_connection == "outside",
            with_self=own is not None,
            relu=self.activation == "relu",
            mean=self.aggregate == "mean",
            scale=(projected.size(-1) // 3) ** -0.5 if self.scaled else 1.0,
            want_attention=want_attention,
        )


class ProjectedSum(RelationSlot):
    """h_i' = act(sum_r z_ir W_r + h_i W_root): no attention between relations."""

    projections = ("value",)

    def forward(
        self,
        projected: Tensor,
        root: Tensor | None,
        own: Tensor | None,
        graph: RelationalGraph,
        want_attention: bool,
    ) -> tuple[Tensor, Tensor | None]:
        out = add_relations(
            projected,
            graph,
            root=root,
            root_outside=self.self_connection == "outside",
            with_self=self.self_connection == "relation",
            relu=self.activation == "relu",
            mean=self.aggregate == "mean",
        )
        return out, None


def step_seeds(seed: Tensor, epoch: Tensor, num_layers: int, heads: int) -> Tensor:
    """The lane seeds [epochs, layers, lanes] of training runs with ``seed`` [replicas], in the epochs ``epoch``."""
    of_epoch = combine_seed(seed.view(1, 1, -1), epoch.view(-1, 1, 1))
    of_layer = combine_seed(of_epoch, torch.arange(num_layers, device=seed.device).view(1, -1, 1))
    return lane_seeds(of_layer, heads)


def layer_seed(seed: Seed, layer: int) -> Seed:
    """The dropout seed of one layer from that of a training step: a number, or lane seeds [layers, L]."""
    if isinstance(seed, Tensor):
        return seed[layer]
    return None if seed is None else combine_seed(seed, layer)


def _lane_seeds(seed: Seed, values: Tensor) -> Tensor:
    """[L] for values [V, L, C]."""
    if isinstance(seed, Tensor):
        return seed
    if seed is None:  # outside our own training loop: follow torch.manual_seed
        seed = int(torch.randint(2**31, ()))
    return lane_seeds(torch.tensor([seed], device=values.device), values.size(1))


def _check(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise SettingsError(f"{name} must be one of {', '.join(known)}, not {value!r}")
