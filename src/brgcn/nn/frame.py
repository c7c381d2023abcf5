"""The frame that the layers share: two slots, heads, bases, and how parameters start."""

from __future__ import annotations

import math
from typing import TypedDict

import torch
from torch import Tensor, nn

from brgcn.errors import SettingsError
from brgcn.graph import RelationalGraph
from brgcn.nn.attention import AttentionWeights, collect_attention
from brgcn.nn.slots import NodeAttention, NodeMean, ProjectedSum, RelationAttention

# name of the model: (attention at the node level, attention at the relation level)
MODELS = {
    "brgcn": (True, True),
    "brgcn-node": (True, False),
    "brgcn-relation": (False, True),
    "rgcn": (False, False),
}


class LayerOptions(TypedDict, total=False):
    """Options of both layers; ``BRGCNConv`` explains them, the defaults stand in ``BiLevelFrame``."""

    node_attention: bool
    relation_attention: bool
    self_connection: str
    aggregate: str
    activation: str | None
    negative_slope: float
    dropout: float
    scaled: bool
    num_bases: int
    heads: int
    concat: bool


class BiLevelFrame(nn.Module):
    """Base of ``BRGCNConv`` and ``FeaturelessConv``: what does not depend on where features come from."""

    def __init__(
        self,
        out_channels: int,
        num_relations: int,
        *,
        node_attention: bool = True,
        relation_attention: bool = True,
        self_connection: str = "inside",
        aggregate: str = "sum",
        activation: str | None = "relu",
        negative_slope: float = 0.2,
        dropout: float = 0.0,
        scaled: bool = False,
        num_bases: int = 0,
        heads: int = 1,
        concat: bool = True,
    ) -> None:
        super().__init__()
        for name, size in (("out_channels", out_channels), ("num_relations", num_relations), ("heads", heads)):
            if size < 1:
                raise SettingsError(f"{name} must be at least 1, not {size}")
        if num_bases < 0:
            raise SettingsError(f"num_bases must not be negative, not {num_bases}")
        self.out_channels = out_channels
        self.num_relations = num_relations
        self.num_bases = num_bases
        self.heads = heads
        self.concat = concat
        activation = activation or "none"
        self.node_slot = NodeAttention(negative_slope, dropout) if node_attention else NodeMean()
        self.relation_slot = (
            RelationAttention(self_connection, aggregate, activation, scaled)
            if relation_attention
            else ProjectedSum(self_connection, aggregate, activation)
        )

    @property
    def has_root(self) -> bool:
        return self.relation_slot.self_connection != "none"

    def per_head(self, *shape: int, leading: int | None = None) -> nn.Parameter:
        """A parameter [leading, heads, *shape]; the axis of heads is left out when there is one."""
        head = () if self.heads == 1 else (self.heads,)
        lead = () if leading is None else (leading,)
        return nn.Parameter(torch.empty(*lead, *head, *shape))

    def lanes(self, parameter: Tensor, axis: int) -> Tensor:
        """The parameter with its axis of heads, also where there is one head."""
        return parameter.unsqueeze(axis) if self.heads == 1 else parameter

    def coefficients(self) -> Tensor:
        """[R, L, B, number of projections] how each relation mixes the bases."""
        names = self.relation_slot.projections
        return torch.stack([self.lanes(getattr(self, f"{name}_coefficients"), 1) for name in names], dim=-1)

    def add_coefficients(self) -> None:
        for name in self.relation_slot.projections:
            setattr(self, f"{name}_coefficients", self.per_head(self.num_bases, leading=self.num_relations))

    def reset_coefficients(self) -> None:
        for name in self.relation_slot.projections:
            coefficients = getattr(self, f"{name}_coefficients")
            bound = math.sqrt(6 / (self.num_bases + self.num_relations))
            nn.init.uniform_(coefficients, -bound, bound)

    def finish(
        self,
        out: Tensor,
        edge_attention: Tensor,
        relation_attention: Tensor | None,
        graph: RelationalGraph,
        return_attention_weights: bool,
    ) -> Tensor | tuple[Tensor, AttentionWeights]:
        """Merge the heads of out [targets, L, C] and collect attention where it was asked for."""
        out = out.flatten(1) if self.concat else out.mean(1)
        if not return_attention_weights:
            return out
        with_self = self.relation_slot.attends_to_self
        return out, collect_attention(graph, edge_attention, relation_attention, with_self)

    def check_graph(self, graph: RelationalGraph) -> None:
        if graph.num_relations != self.num_relations:
            hint = (
                "Add inverse relations with graph.with_inverse(), or build the layer with num_relations of the graph."
            )
            raise SettingsError(
                f"the layer was built for {self.num_relations} relations, but the graph has {graph.num_relations}",
                remedy=hint,
            )


def glorot(parameter: Tensor, fan_in: int, fan_out: int) -> None:
    bound = math.sqrt(6 / (fan_in + fan_out))
    nn.init.uniform_(parameter, -bound, bound)
