"""What we are compared with, on PyG's own layers, so that it is not our code that loses.

GAT, GIN and GCN see edges without their relation. HAN attends within each relation (every relation is a meta-path of
its own) and between relations with one weight for the whole graph. The majority class is a bias.

Nodes without features are one-hot vectors, as for our models: the first linear map of a layer is then a table with a
row per node, and stands here in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from brgcn.errors import BrgcnError, SettingsError
from brgcn.graph import RelationalGraph
from brgcn.nn.frame import glorot
from brgcn.nn.node_model import InputMap, normalised
from brgcn.nn.scorer import NodeScorer, torch_seeded
from brgcn.nn.slots import Seed

BASELINES = ("han", "gat", "gin", "gcn", "majority")
# HAN weighs relations by a mean over all target nodes: on a part of the graph it would be another model.
NEEDS_WHOLE_GRAPH = ("han",)
NODE = "node"


class Baseline(NodeScorer):
    """What the baselines share."""

    @staticmethod
    def together(models: Sequence[NodeScorer]) -> NodeScorer:
        return models[0] if len(models) == 1 else SideBySide(models)

    def apart(self, replica: int) -> Baseline:
        return self

    def rebuilt_for(self, old: RelationalGraph, new: RelationalGraph) -> NoReturn:
        raise SettingsError(
            "a baseline knows only the nodes that it was trained with",
            remedy="Train it again with them, or train brgcn, brgcn-node, brgcn-relation or rgcn.",
        )


class SideBySide(Baseline):
    """Several baselines that are trained together: each computes by itself, on CUDA all at the same time. PyG's layers
    draw their dropout from torch, here one after another from the same random numbers, so with dropout a run depends on
    which others it is trained with."""

    draws = True

    def __init__(self, models: Sequence[NodeScorer]) -> None:
        super().__init__()
        self.models = nn.ModuleList(models)
        self.replicas, self.num_layers = len(models), models[0].num_layers
        self._streams: list[torch.cuda.Stream] = []

    def forward(self, graphs: Sequence[RelationalGraph], x: Tensor | None = None, seed: Seed = None) -> Tensor:
        if graphs[0].device.type != "cuda":
            return torch.stack([model(graphs, x, seed=seed) for model in self.models], dim=1)
        here = torch.cuda.current_stream()
        self._streams = self._streams or [torch.cuda.Stream() for _ in self.models]
        for model in self.models:
            if isinstance(model, PygBaseline):
                model.prepare(graphs)  # what all of them read
        scores = []
        try:
            for model, stream in zip(self.models, self._streams, strict=True):
                stream.wait_stream(here)
                with torch.cuda.stream(stream):
                    scores.append(model(graphs, x, seed=seed))
        finally:  # also when memory runs out: a recording ends well only when its branches come together again
            for stream in self._streams:
                here.wait_stream(stream)
        return torch.stack(scores, dim=1)

    def apart(self, replica: int) -> Baseline:
        model = self.models[replica]
        assert isinstance(model, Baseline)
        return model


class MajorityClass(Baseline):
    """The same scores for every node: what is learned is how frequent the classes are."""

    def __init__(self, num_classes: int, num_layers: int) -> None:
        super().__init__()
        self.num_layers = num_layers
        self.frequency = nn.Parameter(torch.zeros(num_classes))

    def forward(self, graphs: Sequence[RelationalGraph], x: Tensor | None = None, seed: Seed = None) -> Tensor:
        return self.frequency.expand(graphs[-1].num_targets, -1)


class PygBaseline(Baseline):
    """``num_layers`` layers of ``kind``; HAN's are followed by a linear map to the classes, since a layer of HAN ends
    with a ReLU. ``dropout`` is that of the attention, which GIN and GCN do not have.

    Args:
        graph: the whole graph, inverse relations included.
        rare: nodes with fewer edges share a row, as if they were one.
        one_hot: beside features; what these are mapped to is added to the result of the first layer.
    """

    draws = True

    def __init__(
        self,
        kind: str,
        graph: RelationalGraph,
        num_classes: int,
        *,
        num_layers: int = 2,
        hidden: int = 16,
        heads: int = 1,
        negative_slope: float = 0.2,
        dropout: float = 0.0,
        hidden_dropout: float = 0.0,
        normalise: bool = False,
        rare: int = 0,
        num_features: int | None = None,
        one_hot: bool = False,
    ) -> None:
        super().__init__()
        self.kind, self.num_layers = kind, num_layers
        self.hidden_dropout, self.normalise = hidden_dropout, normalise
        many_headed = kind in ("gat", "han")
        width = hidden * heads if many_headed else hidden
        self.one_hot = one_hot or num_features is None
        after_first = (num_classes if _is_last(0, self) else width) if self.one_hot else hidden
        self.input = InputMap(num_features, after_first) if num_features is not None else None
        self.table: nn.Parameter | None = None
        self.row: Tensor  # [N] of each node in the table; rare ones share the last
        self.register_buffer("row", _table_rows(graph, rare), persistent=False)
        if self.one_hot:
            last_width = num_classes * heads if kind == "gat" else num_classes
            rows = int(self.row.max()) + 1 if graph.num_nodes else 0
            self.table = nn.Parameter(torch.empty(rows, last_width if _is_last(0, self) else width))
            glorot(self.table, graph.num_nodes, self.table.size(1))
        options: dict[str, Any] = {"negative_slope": negative_slope, "dropout": dropout} if many_headed else {}
        layers = []
        for number in range(num_layers):
            sizes = (hidden if number == 0 else width, num_classes if _is_last(number, self) else width)
            layers.append(self._layer(number, sizes, heads, options, graph))
        self.layers = nn.ModuleList(layers)
        self.output = nn.Linear(width, num_classes) if kind == "han" else None
        if kind == "gcn":
            self.degree: Tensor  # of each node of the whole graph
            self.register_buffer("degree", torch.bincount(_with_loops(graph)[1]).float(), persistent=False)

    def _layer(
        self, number: int, sizes: tuple[int, int], heads: int, options: dict[str, Any], graph: RelationalGraph
    ) -> Any:
        pyg, (before, after) = _pyg(), sizes
        from_table = number == 0 and self.one_hot
        layer: Any
        if self.kind == "gin":
            first = nn.Identity() if from_table else nn.Linear(before, after)
            layer = pyg.GINConv(nn.Sequential(first, nn.ReLU(), nn.Linear(after, after)), train_eps=True)
        elif self.kind == "gcn":
            layer = pyg.GCNConv(before, after, normalize=False)
            layer.lin = nn.Identity() if from_table else layer.lin
        elif self.kind == "gat":
            last = _is_last(number, self)
            width = after if last else after // heads
            layer = pyg.GATConv(before, width, heads, concat=not last, add_self_loops=False, **options)
            layer.lin = nn.Identity() if from_table else layer.lin
        else:
            layer = pyg.HANConv(before, after, ([NODE], relation_names(graph.num_relations)), heads=heads, **options)
            if from_table:
                layer.proj[NODE] = nn.Identity()
        return layer

    def forward(self, graphs: Sequence[RelationalGraph], x: Tensor | None = None, seed: Seed = None) -> Tensor:
        if len(graphs) != self.num_layers:
            raise SettingsError(f"the model has {self.num_layers} layers, but {len(graphs)} graphs were given")
        if seed is None or not self.training:
            return self._run(graphs, x)
        number = int(seed.flatten()[0]) if isinstance(seed, Tensor) else seed
        with torch_seeded(number, graphs[0].device):
            return self._run(graphs, x)

    def _run(self, graphs: Sequence[RelationalGraph], x: Tensor | None) -> Tensor:
        """As our models do it: what features are mapped to is added to the activated result of the first layer."""
        h, given = self._input(graphs[0], x)
        for number, (layer, graph) in enumerate(zip(self.layers, graphs, strict=True)):
            if number:
                h = normalised(h) if self.normalise else h
            if number or self.table is None:
                h = F.dropout(h, self.hidden_dropout, self.training)
            h = self._convolve(layer, h, graph)[: graph.num_targets]
            if not _is_last(number, self):
                h = F.elu(h) if self.kind == "gat" else F.relu(h)
            if number == 0 and given is not None:
                h = h + given[: graph.num_targets]
        return h if self.output is None else self.output(h)

    def _input(self, graph: RelationalGraph, x: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """What enters the first layer, and what is added to its result."""
        given = None
        if self.input is not None:
            if x is None:
                raise SettingsError("the model was built for features, but none were given")
            given = self.input(x)
        if self.table is None:
            assert given is not None
            return torch.relu(given), None
        return self.table.index_select(0, self.row if graph.origin is None else self.row[graph.origin.node]), given

    def _convolve(self, layer: Any, h: Tensor, graph: RelationalGraph) -> Tensor:
        """[num_nodes, ..]; the rows of nodes that are no targets are not what the whole graph would give."""
        out: Tensor
        if self.kind == "han":
            edges = self._edges(graph)
            if not edges:  # HANConv gives nothing at all then
                return h.new_zeros(h.size(0), layer.out_channels)
            out = layer({NODE: h}, edges)[NODE]
        else:
            out = layer(h, *self._edges(graph))
        return out

    def prepare(self, graphs: Sequence[RelationalGraph]) -> None:
        for graph in graphs:
            self._edges(graph)

    def _edges(self, graph: RelationalGraph) -> Any:
        """As PyG's layer takes them, kept with the graph: to make them anew, the host would have to look at numbers."""
        make: dict[str, Callable[[RelationalGraph], Any]] = {
            "han": lambda g: edges_by_relation(g.edge_index, g.edge_type, g.num_relations),
            "gcn": lambda g: _symmetric(g, self.degree),
            "gat": lambda g: (_with_loops(g),),
            "gin": lambda g: (g.edge_index,),
        }
        return graph.derived(f"edges of {self.kind}", make[self.kind])


def relation_names(num_relations: int) -> list[tuple[str, str, str]]:
    """What PyG's typed layers call relations between nodes of one type."""
    return [(NODE, str(relation), NODE) for relation in range(num_relations)]


def edges_by_relation(edge_index: Tensor, edge_type: Tensor, num_relations: int) -> dict[tuple[str, str, str], Tensor]:
    """The edges [2, ..] of each relation that has any, as those layers take them."""
    order = torch.argsort(edge_type, stable=True)
    counts = torch.bincount(edge_type, minlength=num_relations).tolist()
    parts = edge_index[:, order].split(counts, dim=1)
    named = zip(relation_names(num_relations), parts, strict=True)
    return {name: part.contiguous() for name, part in named if part.size(1)}


def _symmetric(graph: RelationalGraph, degree: Tensor) -> tuple[Tensor, Tensor]:
    """Edges with self-loops, and 1 / sqrt(d_i d_j) with the degrees in the whole graph."""
    edges = _with_loops(graph)
    share = (degree if graph.origin is None else degree.index_select(0, graph.origin.node)).rsqrt()
    return edges, share[edges[0]] * share[edges[1]]


def _table_rows(graph: RelationalGraph, rare: int) -> Tensor:
    """[N] nodes with fewer than ``rare`` edges share a row after those of the others."""
    edges = torch.bincount(graph.edge_source, minlength=graph.num_nodes)
    own = edges >= rare
    return torch.where(own, own.cumsum(0) - 1, own.sum())


def _with_loops(graph: RelationalGraph) -> Tensor:
    """The edges with one self-loop for each node."""
    source, target = graph.edge_index
    loops = torch.arange(graph.num_nodes, device=graph.device).expand(2, -1)
    return torch.cat([graph.edge_index[:, source != target], loops], dim=1)


def _is_last(number: int, model: PygBaseline) -> bool:
    """Whether the layer gives scores."""
    return number == model.num_layers - 1 and model.kind != "han"


def _pyg() -> Any:
    try:
        import torch_geometric.nn
    except ImportError as error:
        raise BrgcnError(
            "the baselines are PyG's, which is not installed", remedy="pip install 'brgcn[pyg]'"
        ) from error
    return torch_geometric.nn
