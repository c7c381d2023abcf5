"""The two slots of the bi-level frame (equation 1 of the paper) and their fillings.

    h_i' = AGG over relations r of f( AGG over sources j of g(edge ij | r) )

The node-level slot computes g and the inner sum, the relation-level slot f and the outer one. A slot has no parameters:
the layer that owns it projects with its own, which differ between features and one-hot input.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from brgcn.errors import SettingsError
from brgcn.graph import RelationalGraph
from brgcn.ops import add_relations, attend_edges, attend_relations, average_edges, combine_seed
from brgcn.ops.relation_level import Activation

SELF_CONNECTIONS = ("inside", "outside", "relation", "none")
AGGREGATES = ("sum", "mean")
ACTIVATIONS: dict[str, Activation | None] = {"relu": torch.relu, "none": None}


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
        row: Tensor,
        scores: tuple[Tensor, Tensor] | None,
        graph: RelationalGraph,
        seed: int | None,
    ) -> tuple[Tensor, Tensor]:
        assert scores is not None
        dropout = self.dropout if self.training else 0.0
        if dropout and seed is None:  # outside our own training loop: follow torch.manual_seed
            seed = int(torch.randint(2**31, ()))
        return attend_edges(
            values,
            row,
            *scores,
            graph,
            negative_slope=self.negative_slope,
            dropout=dropout,
            seed=seed or 0,
        )

    def extra_repr(self) -> str:
        return f"negative_slope={self.negative_slope}, dropout={self.dropout}"


class NodeMean(nn.Module):
    """g_ij = 1 / |N_i^r|."""

    has_scores = False

    def forward(
        self,
        values: Tensor,
        row: Tensor,
        scores: tuple[Tensor, Tensor] | None,
        graph: RelationalGraph,
        seed: int | None,
    ) -> tuple[Tensor, Tensor]:
        return average_edges(values, row, graph)


class RelationSlot(nn.Module):
    """What the two relation-level fillings share: activation, self-connection, sum or mean."""

    projections: tuple[str, ...] = ()

    def __init__(self, self_connection: str, aggregate: str, activation: str) -> None:
        super().__init__()
        _check("self_connection", self_connection, SELF_CONNECTIONS)
        _check("aggregate", aggregate, AGGREGATES)
        _check("activation", activation, tuple(ACTIVATIONS))
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
        self, projected: list[Tensor], root: Tensor | None, own: list[Tensor] | None, graph: RelationalGraph
    ) -> tuple[Tensor, Tensor | None]:
        """Args:
        projected: query, key, value of the pairs, [P, L, C] each.
        root: h W_root of the target nodes [targets, L, C], unless there is no self-connection.
        own: query and key of the target nodes themselves where they are attended to (root is then their value).
        """
        if own is not None and root is not None:
            projected = [torch.cat(part) for part in zip(projected, [*own, root], strict=True)]
            root = None
        query, key, value = projected
        return attend_relations(
            query,
            key,
            value,
            graph,
            root=root,
            root_outside=self.self_connection == "outside",
            with_self=own is not None,
            activation=ACTIVATIONS[self.activation],
            mean=self.aggregate == "mean",
            scale=projected[0].size(-1) ** -0.5 if self.scaled else 1.0,
        )


class ProjectedSum(RelationSlot):
    """h_i' = act(sum_r z_ir W_r + h_i W_root): no attention between relations."""

    projections = ("value",)

    def forward(
        self, projected: list[Tensor], root: Tensor | None, own: list[Tensor] | None, graph: RelationalGraph
    ) -> tuple[Tensor, Tensor | None]:
        out = add_relations(
            projected[0],
            graph,
            root=root,
            root_outside=self.self_connection == "outside",
            with_self=self.self_connection == "relation",
            activation=ACTIVATIONS[self.activation],
            mean=self.aggregate == "mean",
        )
        return out, None


def layer_seed(seed: int | None, layer: int) -> int | None:
    """The dropout seed of one layer from that of a training step."""
    return None if seed is None else combine_seed(seed, layer)


def _check(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise SettingsError(f"{name} must be one of {', '.join(known)}, not {value!r}")
