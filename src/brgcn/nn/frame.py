"""The frame that the layers share: two slots, heads, bases, and how parameters start."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Self, TypedDict

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

# name: factor of a pair with n edges


def _edges(graph: RelationalGraph) -> Tensor:
    """[P] edges of each pair."""
    return graph.pair_ptr.diff().double()


def _share(graph: RelationalGraph) -> Tensor:
    """[P] of the edges of a pair's node."""
    return _edges(graph) / graph.pair_ptr[graph.node_ptr].diff()[graph.pair_node]


COUNTS: dict[str, Callable[[RelationalGraph], Tensor]] = {
    "none": lambda graph: torch.ones_like(_edges(graph)),
    "log": lambda graph: 1 + _edges(graph).log(),
    "sqrt": lambda graph: _edges(graph).sqrt(),
    "share": _share,
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
    counts: str
    num_bases: int
    num_blocks: int
    heads: int
    concat: bool
    replicas: int


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
        counts: str = "none",
        num_bases: int = 0,
        num_blocks: int = 0,
        heads: int = 1,
        concat: bool = True,
        replicas: int = 1,
    ) -> None:
        super().__init__()
        for name, size in (
            ("out_channels", out_channels),
            ("num_relations", num_relations),
            ("heads", heads),
            ("replicas", replicas),
        ):
            if size < 1:
                raise SettingsError(f"{name} must be at least 1, not {size}")
        for name, size in (("num_bases", num_bases), ("num_blocks", num_blocks)):
            if size < 0:
                raise SettingsError(f"{name} must not be negative, not {size}")
        if num_bases and num_blocks:
            raise SettingsError("num_bases and num_blocks are two ways to the same end", remedy="Give one of them.")
        if counts not in COUNTS:
            raise SettingsError(f"counts must be one of {', '.join(COUNTS)}, not {counts!r}")
        self.out_channels = out_channels
        self.counts = counts
        self.num_relations = num_relations
        self.num_bases = num_bases
        self.num_blocks = num_blocks
        self.heads = heads
        self.replicas = replicas
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

    @property
    def num_lanes(self) -> int:
        return self.replicas * self.heads

    def per_lane(self, *shape: int, leading: int | None = None) -> nn.Parameter:
        """A parameter [leading, lanes, *shape]; the axis of lanes is left out when there is one."""
        lane = () if self.num_lanes == 1 else (self.num_lanes,)
        lead = () if leading is None else (leading,)
        return nn.Parameter(torch.empty(*lead, *lane, *shape))

    def lanes(self, parameter: Tensor, axis: int) -> Tensor:
        """The parameter with its axis of lanes, also where there is one."""
        return parameter.unsqueeze(axis) if self.num_lanes == 1 else parameter

    def lane_axis(self, name: str) -> int:
        """Where a parameter has its axis of lanes."""
        return 1

    def with_parameters(self, parameters: dict[str, Tensor], **changed: Any) -> Self:
        """A copy of the layer with other parameters and attributes, sharing everything else."""
        layer = type(self).__new__(type(self))
        nn.Module.__init__(layer)
        layer.__dict__.update({k: v for k, v in self.__dict__.items() if not k.startswith("_")} | changed)
        layer.node_slot, layer.relation_slot = self.node_slot, self.relation_slot
        for name, buffer in self.named_buffers(recurse=False):
            layer.register_buffer(name, buffer, persistent=False)
        for name, value in parameters.items():
            layer.register_parameter(name, nn.Parameter(value))
        return layer

    @staticmethod
    def together(layers: Sequence[BiLevelFrame]) -> BiLevelFrame:
        """One layer that computes all of ``layers``, which differ in nothing but their parameters."""
        first = layers[0]
        parameters = {}
        for name, _ in first.named_parameters():
            axis = first.lane_axis(name)
            parts = [layer.lanes(getattr(layer, name).detach(), axis) for layer in layers]
            parameters[name] = torch.cat(parts, dim=axis)
        return first.with_parameters(parameters, replicas=len(layers))

    def apart(self, replica: int) -> BiLevelFrame:
        """The layer of one replica."""
        parameters = {}
        for name, parameter in self.named_parameters():
            axis = self.lane_axis(name)
            part = self.lanes(parameter.detach(), axis).narrow(axis, replica * self.heads, self.heads).clone()
            parameters[name] = part.squeeze(axis) if self.heads == 1 else part
        return self.with_parameters(parameters, replicas=1)

    def with_counts(self, z: Tensor, graph: RelationalGraph) -> Tensor:
        """Summaries z [P, ..] of pairs by how many edges they stand for, which a weighted mean forgets."""
        if self.counts == "none":
            return z
        factor = graph.derived(f"pair_{self.counts}", COUNTS[self.counts])
        return z * factor.to(z.dtype).view(-1, *[1] * (z.dim() - 1))

    def coefficients(self) -> Tensor:
        """[R, L, B, number of projections] how each relation mixes the bases."""
        names = self.relation_slot.projections
        return torch.stack([self.lanes(getattr(self, f"{name}_coefficients"), 1) for name in names], dim=-1)

    def add_coefficients(self) -> None:
        for name in self.relation_slot.projections:
            setattr(self, f"{name}_coefficients", self.per_lane(self.num_bases, leading=self.num_relations))

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
        out = out.unflatten(1, (self.replicas, self.heads))
        out = out.flatten(2) if self.concat or self.heads == 1 else out.mean(2)
        out = out.squeeze(1) if self.replicas == 1 else out
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
