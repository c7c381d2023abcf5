"""Settings of link prediction that do nothing are named; that they do nothing is true."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from brgcn.graph import RelationalGraph
from brgcn.tasks.link_settings import LinkSettings, without_effect
from brgcn.tasks.link_trainer import LinkTrainer

CHANGED = {
    "layers": 2,
    "bases": 2,
    "block_width": 2,
    "heads": 2,
    "self_connection": "none",
    "aggregate": "mean",
    "scaled": False,
    "counts": "log",
    "negative_slope": 0.5,
    "message_graph": "random",
    "mask_target_edges": True,
    "batch_graph": 0.5,
    "batches_per_pass": 2,
    "dropout": 0.5,
    "edge_dropout": 0.5,
    "encoder_learning_rate": 0.02,
    "answers": 1,
    "candidates": 3,
    "relation_prediction": 0.5,
    "n3": 0.5,
    "negatives": 3,
    "l2": 0.5,
    "entity_dropout": 0.5,
    "relation_dropout": 0.5,
    "reciprocal": False,
    "clip": 0.01,
}


def records(settings: LinkSettings) -> list[dict[str, Any]]:
    """Two trained epochs of a small graph."""
    generator = torch.Generator().manual_seed(1)
    columns = [torch.randint(high, (60,), generator=generator) for high in (12, 2, 12)]
    triples = torch.unique(torch.stack(columns, 1), dim=0)
    graph = RelationalGraph.from_edges(triples[:, [0, 2]].T, triples[:, 1], 12, 2)
    return list(LinkTrainer(graph, triples, settings, 0).epochs())


@pytest.mark.parametrize("loss", ["1vsall", "kvsall", "negatives"])
@pytest.mark.parametrize("encoder", ["none", "rgcn", "brgcn", "brgcn-relation"])
def test_what_is_named_changes_nothing_and_what_is_not_named_changes_something(encoder: str, loss: str) -> None:
    plain = LinkSettings(
        encoder=encoder, loss=loss, width=4, epochs=2, batch=16, initial_scale=0.5, layers=1, optimizer="adam"
    )
    plain = replace(plain, residual=encoder == "none")  # encoders that start at nothing have heads that start alike
    before = records(plain)
    for name, value in {**CHANGED, "residual": not plain.residual}.items():
        changed = replace(plain, **{name: value})
        said = without_effect(changed, [name])
        assert (records(changed) == before) == bool(said), (name, said)


def test_what_the_user_did_not_change_or_switched_off_is_not_named() -> None:
    settings = LinkSettings(loss="negatives", n3=0.1, candidates=0, edge_dropout=0.2)
    assert without_effect(settings, []) == []
    assert without_effect(settings, ["candidates", "loss", "width"]) == []
    assert without_effect(settings, ["n3", "edge_dropout"]) == [
        "n3 does nothing with the loss negatives",
        "edge_dropout does nothing without an encoder",
    ]
    assert without_effect(LinkSettings(loss="kvsall", negatives=5), ["negatives"]) == [
        "negatives does nothing with the loss kvsall"
    ]
