from __future__ import annotations

import torch

from brgcn.ops.dropout import combine_seed, dropout_scale, lane_seeds


def lanes(seed: int, count: int) -> torch.Tensor:
    return lane_seeds(torch.tensor([seed]), count)


def test_keeps_the_right_share_and_scales_it_up() -> None:
    scale = dropout_scale(torch.arange(200_000), lanes(7, 2), 0.3, torch.double)
    assert sorted(set(scale.flatten().tolist())) == [0.0, 1 / 0.7]
    kept = (scale > 0).double().mean(0)
    assert torch.allclose(kept, torch.full((2,), 0.7, dtype=torch.double), atol=0.005)


def test_lanes_seeds_and_neighbours_are_independent() -> None:
    edge = torch.arange(100_000)
    first = dropout_scale(edge, lanes(1, 2), 0.5) > 0
    other = dropout_scale(edge, lanes(2, 2), 0.5) > 0
    for a, b in [(first[:, 0], first[:, 1]), (first[:, 0], other[:, 0]), (first[1:, 0], first[:-1, 0])]:
        assert abs(float((a == b).double().mean()) - 0.5) < 0.01


def test_an_edge_is_dropped_wherever_it_stands() -> None:
    edge = torch.tensor([5, 99, 2**33 + 5, 5])
    alone = dropout_scale(torch.tensor([99]), lanes(3, 3), 0.5)
    together = dropout_scale(edge, lanes(3, 3), 0.5)
    assert together[1].equal(alone[0])
    assert together[0].equal(together[3])


def test_seeds_do_not_collide() -> None:
    seeds = {combine_seed(s, epoch, layer) for s in range(20) for epoch in range(100) for layer in range(3)}
    assert len(seeds) == 20 * 100 * 3
