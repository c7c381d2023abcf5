"""Ranks from plain loops, and small examples to rank."""

from __future__ import annotations

import torch


def brute_force(triples, scores, known, entities):
    """[(optimistic, realistic, pessimistic, candidates)] for raw and filtered; tails of all triples, then heads."""
    rows = {"raw": [], "filtered": []}
    for side in ("tail", "head"):
        for h, r, t in triples:
            for setting, found in rows.items():
                true, higher, equal, candidates = scores[h][r][t], 0, 0, 0
                for e in range(entities):
                    other = (h, r, e) if side == "tail" else (e, r, t)
                    if setting == "filtered" and other in known and other != (h, r, t):
                        continue
                    value = scores[other[0]][other[1]][other[2]]
                    higher, equal, candidates = higher + (value > true), equal + (value == true), candidates + 1
                found.append((1 + higher, 1 + higher + (equal - 1) / 2, higher + equal, candidates))
    return rows


def scorers(table):
    """table [N, R, N]"""
    return lambda h, r: table[h, r], lambda t, r: table[:, r, t].T


def example(entities: int, relations: int, edges: int, seed: int, levels: int):
    random = torch.Generator().manual_seed(seed)
    sizes = torch.tensor([entities, relations, entities])
    triples = (torch.rand(edges, 3, generator=random) * sizes).long()
    table = torch.randint(levels, (entities, relations, entities), generator=random).float()
    return triples, table
