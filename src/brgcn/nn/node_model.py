"""A stack of bi-level layers that gives each node a score per class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from brgcn.errors import SettingsError
from brgcn.graph import RelationalGraph
from brgcn.nn.attention import AttentionWeights
from brgcn.nn.brgcn_conv import BRGCNConv
from brgcn.nn.featureless_conv import FeaturelessConv
from brgcn.nn.frame import BiLevelFrame, LayerOptions
from brgcn.nn.scorer import NodeScorer
from brgcn.nn.slots import Seed, layer_seed
from brgcn.ops import combine_seed, dropout_scale, lane_seeds

_HIDDEN = 1  # tells the dropout of hidden features from that of edges


def normalised(h: Tensor) -> Tensor:
    """Each row of the last axis with mean 0 and variance 1: of a node alone, so a cut graph changes nothing."""
    return torch.nn.functional.layer_norm(h, h.shape[-1:])


class InputMap(nn.Linear):
    """Features are mapped to the hidden width; ``together``, by a map for each replica [replicas, hidden, features]."""

    def forward(self, x: Tensor) -> Tensor:
        if self.weight.dim() == 2:
            return super().forward(x)
        return torch.einsum("nf,khf->nkh", x, self.weight) + self.bias

    def with_parameters(self, weight: Tensor, bias: Tensor) -> InputMap:
        copy = InputMap(self.in_features, self.out_features, device="meta")
        copy.weight, copy.bias = nn.Parameter(weight), nn.Parameter(bias)
        return copy

    @staticmethod
    def together(maps: Sequence[InputMap]) -> InputMap:
        weights, biases = torch.stack([m.weight.detach() for m in maps]), torch.stack([m.bias.detach() for m in maps])
        return maps[0].with_parameters(weights, biases)

    def apart(self, replica: int) -> InputMap:
        return self.with_parameters(self.weight.detach()[replica].clone(), self.bias.detach()[replica].clone())


class NodeModel(NodeScorer):
    """``num_layers`` layers; the last has no activation (its softmax is in the loss) and averages its heads.

    Without features the first layer is a ``FeaturelessConv`` for ``graph``. With ``num_features`` they are mapped to
    the hidden width first; ``one_hot`` beside them, the first layer is featureless all the same, and what the features
    are mapped to is added to its result.

    Args:
        graph: the whole graph, inverse relations included.
        hidden_dropout: of the features that enter a layer, in training.
        normalise: what one layer gives to the next.
        rare: sources that bring fewer edges than that to a relation share a row of the featureless layer.
        input_self_connection: of the featureless layer, where a self-connection can only memorise node ids.
    """

    def __init__(
        self,
        graph: RelationalGraph,
        num_classes: int,
        *,
        node_attention: bool,
        relation_attention: bool,
        num_layers: int = 2,
        hidden: int = 16,
        num_bases: int = 0,
        heads: int = 1,
        self_connection: str = "inside",
        input_self_connection: str = "inside",
        aggregate: str = "sum",
        scaled: bool = False,
        counts: str = "none",
        negative_slope: float = 0.2,
        dropout: float = 0.0,
        hidden_dropout: float = 0.0,
        normalise: bool = False,
        rare: int = 0,
        num_features: int | None = None,
        one_hot: bool = False,
    ) -> None:
        super().__init__()
        if num_layers < 1:
            raise SettingsError(f"the number of layers must be at least 1, not {num_layers}")
        self.num_layers = num_layers
        self.replicas, self.heads = 1, heads
        if not 0 <= hidden_dropout < 1:
            raise SettingsError(f"hidden_dropout must lie in [0, 1), not {hidden_dropout}")
        self.hidden_dropout, self.normalise = hidden_dropout, normalise
        self.one_hot = one_hot or num_features is None
        after_first = (num_classes if num_layers == 1 else hidden * heads) if self.one_hot else hidden
        self.input = InputMap(num_features, after_first) if num_features is not None else None
        layers: list[nn.Module] = []
        width = hidden
        for number in range(num_layers):
            last = number == num_layers - 1
            channels = num_classes if last else hidden
            featureless = number == 0 and self.one_hot
            options: LayerOptions = {
                "node_attention": node_attention,
                "relation_attention": relation_attention,
                "self_connection": input_self_connection if featureless else self_connection,
                "aggregate": aggregate,
                "activation": None if last else "relu",
                "negative_slope": negative_slope,
                "dropout": dropout,
                "scaled": scaled,
                "counts": counts,
                "num_bases": num_bases,
                "heads": heads,
                "concat": not last,
            }
            if featureless:
                layers.append(FeaturelessConv(graph, channels, rare=rare, **options))
            else:
                layers.append(BRGCNConv(width, channels, graph.num_relations, **options))
            width = channels * heads
        self.layers = nn.ModuleList(layers)

    def forward(self, graphs: Sequence[RelationalGraph], x: Tensor | None = None, seed: Seed = None) -> Tensor:
        return self._run(graphs, x, seed, None)

    def attention(self, graphs: Sequence[RelationalGraph], x: Tensor | None = None) -> list[AttentionWeights]:
        """What each layer attends to, the first layer first."""
        collected: list[AttentionWeights] = []
        training = self.training
        self.eval()
        with torch.no_grad():
            self._run(graphs, x, None, collected)
        self.train(training)
        return collected

    def _run(
        self,
        graphs: Sequence[RelationalGraph],
        x: Tensor | None,
        seed: Seed,
        collected: list[AttentionWeights] | None,
    ) -> Tensor:
        if len(graphs) != self.num_layers:
            raise SettingsError(f"the model has {self.num_layers} layers, but {len(graphs)} graphs were given")
        h = x
        if self.input is not None:
            if x is None:
                raise SettingsError("the model was built for features, but none were given")
            given = self.input(x)
            h = None if self.one_hot else torch.relu(given)
        for number, (layer, graph) in enumerate(zip(self.layers, graphs, strict=True)):
            own_seed = layer_seed(seed, number)
            inputs: tuple[Any, ...] = (graph,)
            if not isinstance(layer, FeaturelessConv):
                assert h is not None
                h = normalised(h) if self.normalise and number else h
                inputs = (self._dropped(h, graph, own_seed), graph)
            out = layer(*inputs, seed=own_seed, return_attention_weights=collected is not None)
            if collected is not None:
                out, attention = out
                collected.append(attention)
            h = out if number or not self.one_hot or self.input is None else out + given[: graph.num_targets]
        assert h is not None
        return h

    def _dropped(self, h: Tensor, graph: RelationalGraph, seed: Seed) -> Tensor:
        """Dropout of h [num_nodes, (replicas,) width], the same on a cut graph and for runs that train together."""
        if not self.training or not self.hidden_dropout:
            return h
        if not isinstance(seed, Tensor):
            number = int(torch.randint(2**31, ())) if seed is None else seed
            seed = lane_seeds(torch.tensor([number], device=h.device), self.heads)
        of_run = combine_seed(seed[:: self.heads], _HIDDEN)  # [replicas]
        node = torch.arange(h.size(0), device=h.device) if graph.origin is None else graph.origin.node
        number_of = node.unsqueeze(1) * h.size(-1) + torch.arange(h.size(-1), device=h.device)
        scale = dropout_scale(number_of.flatten(), of_run, self.hidden_dropout, h.dtype)
        kept: Tensor = scale.view(h.size(0), h.size(-1), self.replicas).transpose(1, 2).reshape(h.shape)
        return h * kept

    def rebuilt_for(self, old: RelationalGraph, new: RelationalGraph) -> NodeModel:
        """The same model for a grown graph whose first nodes are those of the ``old`` one."""
        first, *rest = self.layers
        if isinstance(first, FeaturelessConv):
            first = first.rebuilt_for(old, new)
        return self._copy([first, *rest], self.input, self.replicas)

    @staticmethod
    def together(models: Sequence[NodeScorer]) -> NodeModel:
        """The replicas are an axis of its results: logits [targets, replicas, classes]. One model stays as it is."""
        ours = [model for model in models if isinstance(model, NodeModel)]
        first = ours[0]
        if len(ours) == 1:
            return first
        columns = zip(*(model.layers for model in ours), strict=True)
        layers = [BiLevelFrame.together(column) for column in columns]
        input_map = None if first.input is None else InputMap.together([m.input for m in ours if m.input is not None])
        return first._copy(layers, input_map, len(ours))

    def apart(self, replica: int) -> NodeModel:
        """The model of one replica, with parameters of its own."""
        if self.replicas == 1:
            return self
        input_map = None if self.input is None else self.input.apart(replica)
        layers = [layer.apart(replica) for layer in self.layers if isinstance(layer, BiLevelFrame)]
        return self._copy(layers, input_map, 1)

    def _copy(self, layers: Sequence[nn.Module], input_map: InputMap | None, replicas: int) -> NodeModel:
        model = NodeModel.__new__(NodeModel)
        nn.Module.__init__(model)
        model.num_layers, model.one_hot, model.heads = self.num_layers, self.one_hot, self.heads
        model.hidden_dropout, model.normalise = self.hidden_dropout, self.normalise
        model.input, model.replicas = input_map, replicas
        model.layers = nn.ModuleList(layers)
        return model.train(self.training)
