"""Brute-force twins of the layers: the equations of the paper with plain loops in float64, and random graphs to try.

Nothing here uses the package's own arithmetic: edges are a list of (source, relation, target), and the twin works on
that list as it was given.
"""

from __future__ import annotations

import math
import random

import torch
from torch import Tensor

Edge = tuple[int, int, int]  # source, relation, target


def random_edges(num_nodes: int, num_relations: int, num_edges: int, seed: int) -> list[Edge]:
    """Isolated nodes, self-loops, parallel edges and relations without edges occur by construction."""
    rng = random.Random(seed)
    usable_nodes = max(1, num_nodes - 2)  # the last two stay isolated
    usable_relations = max(1, num_relations - 1)  # the last has no edges
    edges = [
        (rng.randrange(usable_nodes), rng.randrange(usable_relations), rng.randrange(usable_nodes))
        for _ in range(num_edges)
    ]
    if edges:
        edges.append(edges[0])  # a parallel edge
        edges.append((0, 0, 0))  # a self-loop
    rng.shuffle(edges)
    return edges


def tensors(edges: list[Edge]) -> tuple[Tensor, Tensor]:
    """edge_index [2, E] and edge_type [E]."""
    if not edges:
        return torch.empty(2, 0, dtype=torch.long), torch.empty(0, dtype=torch.long)
    source, relation, target = zip(*edges, strict=True)
    return torch.tensor([source, target]), torch.tensor(relation)


def softmax(scores: list[Tensor]) -> list[Tensor]:
    highest = max(float(score.detach()) for score in scores)
    exps = [torch.exp(score - highest) for score in scores]
    total = sum(exps[1:], exps[0])
    return [value / total for value in exps]


def layer_twin(
    x: Tensor,
    edges: list[Edge],
    weights: dict[str, Tensor],
    *,
    node_attention: bool = True,
    relation_attention: bool = True,
    self_connection: str = "inside",
    aggregate: str = "sum",
    relu: bool = True,
    negative_slope: float = 0.2,
    scaled: bool = False,
    counts: str = "none",
) -> tuple[Tensor, dict[int, Tensor], dict[tuple[int, int, int], Tensor]]:
    """One head without bases. Returns the output, g by edge position, psi by (node, relation, attended relation).

    ``weights``: attention_target, attention_source [R, in]; query, key, value [R, in, out]; root [in, out] (root_query,
    root_key where the node itself is attended to; its relation id in psi is -1).
    """
    act = torch.relu if relu else (lambda value: value)
    out_channels = weights["value"].size(-1)
    rows, gammas, psis = [], {}, {}
    for i in range(x.size(0)):
        by_relation: dict[int, list[int]] = {}
        for position, (_, relation, target) in enumerate(edges):
            if target == i:
                by_relation.setdefault(relation, []).append(position)
        z = {}
        for relation, positions in by_relation.items():
            sources = [edges[position][0] for position in positions]
            if node_attention:
                scores = []
                for j in sources:
                    both = torch.cat([x[i], x[j]])
                    a = torch.cat([weights["attention_target"][relation], weights["attention_source"][relation]])
                    e = (a * both).sum()
                    scores.append(e if e > 0 else negative_slope * e)
                gamma = softmax(scores)
            else:
                gamma = [torch.tensor(1.0 / len(sources), dtype=x.dtype)] * len(sources)
            n = len(sources)
            all_edges = sum(len(of_relation) for of_relation in by_relation.values())
            factors = {"none": 1.0, "log": 1 + math.log(n), "sqrt": math.sqrt(n), "share": n / all_edges}
            factor = factors[counts]
            mean = sum((g * x[j] for g, j in zip(gamma, sources, strict=True)), torch.zeros_like(x[i]))
            z[relation] = factor * mean
            gammas.update(dict(zip(positions, gamma, strict=True)))
        value = {r: z[r] @ weights["value"][r] for r in z}
        root = x[i] @ weights["root"] if self_connection != "none" else torch.zeros(out_channels, dtype=x.dtype)
        zero = torch.zeros(out_channels, dtype=x.dtype)
        if relation_attention:
            query = {r: z[r] @ weights["query"][r] for r in z}
            key = {r: z[r] @ weights["key"][r] for r in z}
            if self_connection == "relation":
                query[-1], key[-1], value[-1] = x[i] @ weights["root_query"], x[i] @ weights["root_key"], root
            members = list(value)
            total = zero
            for r in members:
                scale = 1 / math.sqrt(out_channels) if scaled else 1.0
                psi = softmax([(query[r] * key[other]).sum() * scale for other in members])
                for other, weight in zip(members, psi, strict=True):
                    psis[(i, r, other)] = weight
                attended = sum((w * value[other] for w, other in zip(psi, members, strict=True)), zero)
                total = total + act(attended + root if self_connection == "inside" else attended)
            if aggregate == "mean" and members:
                total = total / len(members)
            if self_connection == "outside":
                total = total + root
            elif self_connection == "inside" and not members:
                total = act(root)
            rows.append(total)
        else:
            total, count = sum(value.values(), zero), len(value)
            if self_connection == "relation":
                total, count = total + root, count + 1
            if aggregate == "mean" and count:
                total = total / count
            if self_connection == "inside":
                total = total + root
            total = act(total)
            rows.append(total + root if self_connection == "outside" else total)
    return torch.stack(rows), gammas, psis
