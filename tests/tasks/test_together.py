"""Runs in groups, and what happens when a group does not fit into memory."""

from __future__ import annotations

import pytest
import torch

from brgcn.graph import RelationalGraph
from brgcn.tasks.settings import NodeSettings
from brgcn.tasks.together import train_in_groups

GRAPH = RelationalGraph.from_edges(torch.tensor([[0, 1], [1, 0]]), torch.tensor([0, 0]))


def test_a_group_that_does_not_fit_is_halved_and_no_run_is_lost() -> None:
    tried: list[range] = []

    def train(group: range) -> list[int]:
        tried.append(group)
        if len(group) > 3:
            raise RuntimeError("CUDA out of memory. Tried to allocate 3 GiB")
        return list(group)

    done = train_in_groups(GRAPH, NodeSettings(), 10, "cpu", train)
    assert done == list(range(10))
    assert [len(group) for group in tried] == [10, 5, 3, 3, 3, 1]


def test_a_single_run_that_does_not_fit_and_other_errors_are_raised() -> None:
    def too_large(group: range) -> list[int]:
        raise MemoryError

    def wrong(group: range) -> list[int]:
        raise RuntimeError("another reason")

    with pytest.raises(MemoryError):
        train_in_groups(GRAPH, NodeSettings(), 4, "cpu", too_large)
    with pytest.raises(RuntimeError, match="another reason"):
        train_in_groups(GRAPH, NodeSettings(), 4, "cpu", wrong)
