"""A stack of bi-level layers that gives each node a score per class."""

from __future__ import annotations

from collections.abc import Sequence

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
    the hidden width first.

    Args:
        graph: the whole graph, inverse relations included.
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
        negative_slope: float = 0.2,
        dropout: float = 0.0,
        num_features: int | None = None,
    ) -> None:
        super().__init__()
        if num_layers < 1:
            raise SettingsError(f"the number of layers must be at least 1, not {num_layers}")
        self.num_layers = num_layers
        self.replicas = 1
        self.input = InputMap(num_features, hidden) if num_features is not None else None
        layers: list[nn.Module] = []
        width = hidden
        for number in range(num_layers):
            last = number == num_layers - 1
            channels = num_classes if last else hidden
            featureless = number == 0 and self.input is None
            options: LayerOptions = {
                "node_attention": node_attention,
                "relation_attention": relation_attention,
                "self_connection": input_self_connection if featureless else self_connection,
                "aggregate": aggregate,
                "activation": None if last else "relu",
                "negative_slope": negative_slope,
                "dropout": dropout,
                "scaled": scaled,
                "num_bases": num_bases,
                "heads": heads,
                "concat": not last,
            }
            if featureless:
                layers.append(FeaturelessConv(graph, channels, **options))
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
            h = torch.relu(self.input(x))
        for number, (layer, graph) in enumerate(zip(self.layers, graphs, strict=True)):
            inputs = (graph,) if isinstance(layer, FeaturelessConv) else (h, graph)
            out = layer(*inputs, seed=layer_seed(seed, number), return_attention_weights=collected is not None)
            if collected is not None:
                out, attention = out
                collected.append(attention)
            h = out
        assert h is not None
        return h

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
        model.num_layers, model.input, model.replicas = self.num_layers, input_map, replicas
        model.layers = nn.ModuleList(layers)
        return model.train(self.training)
