"""What is left when relation types are taken away, in the order in which a trained BR-GCN attends to them.

The importance of a relation type is the attention it receives (``explain/importance.py``), pooled over both layers, the
two directions of the relation, and the runs of a BR-GCN on the training labels. Relation types are then kept in tenths
by highest, lowest and random order, and each model is trained anew on every cut with the settings it has on the whole
graph. Literals are nodes here, so that every relation can receive attention.

Attention as it is received is large where a node has few relations; ``lift``, the same times their number, is not.
Either can give the order.
"""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

from brgcn.data import Dataset, NamedGraph
from brgcn.errors import DataError, is_out_of_memory
from brgcn.experiments.kept import kept_result
from brgcn.experiments.node_table import accuracies, train_together
from brgcn.experiments.presets import node_settings
from brgcn.explain.importance import relation_importance
from brgcn.graph import RelationalGraph
from brgcn.nn import NodeModel
from brgcn.tasks.device import keep_freed_memory, threads
from brgcn.tasks.environment import environment
from brgcn.tasks.inputs import NodeInputs, node_inputs
from brgcn.tasks.run_files import write_json
from brgcn.tasks.settings import NodeSettings, read_settings
from brgcn.tasks.together import train_in_groups
from brgcn.tasks.training import field_for, input_rows

MODELS = ("brgcn", "brgcn-node", "brgcn-relation", "rgcn", "han", "gat")
ORDERS = ("highest", "random", "lowest")
MEASURES = ("attention", "lift")
STEPS = 10
Tell = Callable[[str], None]


class Cut(NamedTuple):
    """Relation types that are kept: the first ``step`` tenths in some order; ``draw`` numbers the random orders."""

    order: str
    step: int
    draw: int = 0

    @property
    def key(self) -> str:
        return "all" if self.step == STEPS else f"{self.order}-{self.step}-{self.draw}"

    def kept(self, ranking: Sequence[int]) -> list[int]:
        """``ranking``: all relation types, the most important first."""
        ordered = list(ranking)
        if self.order == "lowest":
            ordered.reverse()
        elif self.order == "random":
            ordered.sort()  # the same draws whatever the ranking
            random.Random(self.draw).shuffle(ordered)
        return sorted(ordered[: math.ceil(self.step * len(ordered) / STEPS)])


def cuts(draws: int) -> Iterator[Cut]:
    """Every cut once; with all relations the order does not matter."""
    yield Cut("highest", STEPS)
    for step in range(1, STEPS):
        yield Cut("highest", step)
        yield Cut("lowest", step)
        for draw in range(draws):
            yield Cut("random", step, draw)


def ablation_settings(model: str, data: Dataset) -> NodeSettings:
    return dataclasses.replace(node_settings(model, data.name), literals="nodes")


# ---------------------------------------------------------------------- importance


def measure_importance(
    data: Dataset, folder: Path, *, runs: int, device: torch.device | str, overwrite: bool = False, tell: Tell = print
) -> dict[str, Any]:
    """Relation types of the data set with what they receive; kept in a file."""
    path = folder / f"{data.name}-relations.json"
    settings = ablation_settings("brgcn", data)
    facts = _facts(settings, data, runs=runs)
    kept = kept_result(path, facts)
    if kept is not None and not overwrite:
        return kept
    tell(f"{data.name}: which relations BR-GCN attends to")
    device = torch.device(device)
    inputs = node_inputs(data.named_graph, settings, data.features).to(device)
    with threads(torch.get_num_threads()):
        rows = relation_ranking(data, inputs, settings, runs, device)
    result = facts | {"environment": environment(device), "relations": rows}
    write_json(path, result)
    return result


def relation_ranking(
    data: Dataset, inputs: NodeInputs, settings: NodeSettings, runs: int, device: torch.device
) -> list[dict[str, Any]]:
    """Each relation type with the attention that it receives, its lift (1: as much as uniform attention would give)
    and at how many places it occurs."""
    train, graph = data.splits["train"], inputs.graph
    field = field_for(graph, train.nodes, settings)
    count = data.graph.num_relations
    original = graph.original_relation(torch.arange(graph.num_relations))  # a relation and its inverse are one type
    totals = torch.zeros(3, count, dtype=torch.double)  # attention, lift, places
    for model in _trained(data, inputs, settings, runs, device):
        for layer in model.attention(field.layers, input_rows(field, inputs.features)):
            assert layer.relation is not None
            found = relation_importance(layer.relation, graph.num_relations + 1)
            places = found.nodes.double()
            for row, value in enumerate((found.attention, found.lift, torch.ones_like(found.attention))):
                totals[row].index_add_(0, original, (value.nan_to_num() * places)[: graph.num_relations].cpu())
    attention, lift = totals[0] / totals[2].clamp(min=1), totals[1] / totals[2].clamp(min=1)
    return [
        {
            "id": r,
            "relation": data.relation_names[r],
            "attention": float(attention[r]),
            "lift": float(lift[r]),
            "places": int(totals[2, r]) // runs,
        }
        for r in range(count)
    ]


def _trained(
    data: Dataset, inputs: NodeInputs, settings: NodeSettings, runs: int, device: torch.device
) -> list[NodeModel]:
    train = data.splits["train"]

    def models_of(group: range) -> list[NodeModel]:
        trainer = train_together(inputs, train.nodes, train.labels, data.num_classes, settings, group, device)
        models = [trainer.trained(run) for run in range(len(group))]
        return [model for model in models if isinstance(model, NodeModel)]

    return train_in_groups(inputs.graph, settings, runs, device, models_of)


def ranking_by(measure: str, importance: dict[str, Any]) -> list[int]:
    """Ids of the relation types, the most important first."""
    rows = sorted(importance["relations"], key=lambda row: (-row[measure], row["id"]))
    return [row["id"] for row in rows]


# ---------------------------------------------------------------------- accuracy on the cuts


def measure_ablation(
    data: Dataset,
    model: str,
    importance: dict[str, Any],
    folder: Path,
    *,
    by: str = "attention",
    runs: int = 3,
    draws: int = 5,
    device: torch.device | str = "cpu",
    overwrite: bool = False,
    tell: Tell = print,
) -> dict[str, Any]:
    """Test accuracies of a model on every cut; what its file has already is not computed again."""
    if "test" not in data.splits:
        raise DataError(f"{data.name} has no test labels", remedy="Choose a data set that has them.")
    path = folder / f"{data.name}-{model}-{by}.json"
    settings = ablation_settings(model, data)
    ranking = ranking_by(by, importance)
    facts = _facts(settings, data, model=model, by=by, runs=runs, ranking=ranking)
    result = kept_result(path, facts) if not overwrite else None
    if result is None:
        result = facts | {"accuracy": {}, "errors": {}, "environments": []}
    device = torch.device(device)
    made = environment(device)
    keep_freed_memory()
    for cut in cuts(draws):
        if cut.key in result["accuracy"]:
            continue
        tell(f"{data.name}: {model}, {cut.order} {100 * cut.step // STEPS} %" + f", draw {cut.draw}" * bool(cut.draw))
        named = only_relations(data.named_graph, cut.kept(ranking))
        inputs = node_inputs(named, settings, data.features).to(device)
        try:
            with threads(torch.get_num_threads()):
                result["accuracy"][cut.key] = accuracies(data, inputs, settings, range(runs), device)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            result["errors"][cut.key] = f"out of memory on {device}"
        else:
            result["errors"].pop(cut.key, None)
        if made not in result["environments"]:  # it may be continued elsewhere
            result["environments"].append(made)
        write_json(path, result)
    return result


def only_relations(named: NamedGraph, kept: Sequence[int]) -> NamedGraph:
    """All nodes, and the edges of these relations; ids stay what they were."""
    graph = named.graph
    chosen = torch.zeros(graph.num_relations, dtype=torch.bool)
    chosen[list(kept)] = True
    stays = chosen[graph.edge_type]
    cut = RelationalGraph.from_edges(
        graph.edge_index[:, stays], graph.edge_type[stays], graph.num_nodes, graph.num_relations
    )
    return dataclasses.replace(named, graph=cut)


def _facts(settings: NodeSettings, data: Dataset, **more: Any) -> dict[str, Any]:
    facts = {"dataset": data.name, "settings": read_settings(settings), "fingerprint": data.fingerprint}
    return facts | more
