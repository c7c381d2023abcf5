"""Training of link predictors: they learn, go on where they stopped, and hide what they must."""

from __future__ import annotations

import copy

import pytest
import torch

from brgcn.errors import DataError
from brgcn.graph import RelationalGraph
from brgcn.tasks.link_loss import LinkLoss
from brgcn.tasks.link_settings import LinkSettings
from brgcn.tasks.link_trainer import LinkTrainer
from brgcn.tasks.recorded_step import RecordedStep

PEOPLE, TOWNS = 40, 5


def world() -> tuple[RelationalGraph, torch.Tensor, torch.Tensor]:
    """People live in towns and towns have residents; every fifth residence is held back."""
    lives = torch.tensor([[p, 0, PEOPLE + p % TOWNS] for p in range(PEOPLE)])
    has = torch.stack([lives[:, 2], torch.ones(PEOPLE, dtype=torch.long), lives[:, 0]], 1)
    held = torch.arange(PEOPLE) % 7 == 0
    train, valid = torch.cat([lives, has[~held]]), has[held]
    graph = RelationalGraph.from_edges(train[:, [0, 2]].T, train[:, 1], PEOPLE + TOWNS, 2)
    return graph, train, valid


def trainer(seed: int = 0, device: str = "cpu", **changes: object) -> LinkTrainer:
    graph, train, valid = world()
    settings = LinkSettings(**{"width": 8, "epochs": 30, "batch": 16, "patience": 0, **changes})  # type: ignore[arg-type]
    return LinkTrainer(graph, train, settings, seed, valid=valid, device=device)


def edges_of(graph: RelationalGraph | None) -> zip:
    assert graph is not None
    return zip(graph.edge_source, graph.edge_target, graph.edge_type, strict=True)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"decoder": "distmult", "loss": "kvsall", "optimizer": "adam", "learning_rate": 0.05},
        {"decoder": "transe-l2", "reciprocal": False},
        {"decoder": "transe"},
        {"decoder": "hole", "n3": 0.001, "relation_prediction": 0.5},
        {"candidates": 5, "entity_dropout": 0.1},
        {"encoder": "brgcn", "learning_rate": 0.03, "initial_scale": 0.3},
        {"encoder": "brgcn", "batches_per_pass": 3, "mask_target_edges": True, "initial_scale": 0.3},
        {"encoder": "rgcn", "bases": 2, "edge_dropout": 0.3, "learning_rate": 0.03, "initial_scale": 0.3},
        {"loss": "negatives", "negatives": 4, "optimizer": "adam", "learning_rate": 0.05, "epochs": 60},
        {"loss": "negatives", "reciprocal": False, "optimizer": "adam", "learning_rate": 0.05, "epochs": 60},
    ],
)
def test_it_learns_that_relations_are_inverse(changes: dict[str, object]) -> None:
    trained = trainer(initial_scale=0.1, **changes) if "initial_scale" not in changes else trainer(**changes)
    records = list(trained.epochs())
    assert records[-1]["loss"] < records[0]["loss"]
    found = max(record["valid"]["filtered"]["mrr"] for record in records if "valid" in record)
    assert found > 0.3, found  # by chance 0.1


def test_the_same_seed_gives_the_same_run_and_the_users_random_numbers_are_left_alone() -> None:
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    first, same, other = (list(trainer(s, epochs=3, entity_dropout=0.2).epochs()) for s in (1, 1, 2))
    assert torch.equal(torch.rand(2), expected)
    assert first == same
    assert first != other


def test_all_encoders_and_none_start_from_the_same_tables() -> None:
    alone = trainer().model
    for changes in ({"encoder": "rgcn"}, {"encoder": "brgcn", "message_graph": "random"}):
        other = trainer(**changes).model
        assert torch.equal(other.entity, alone.entity)
        assert torch.equal(other.relation, alone.relation)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"encoder": "brgcn", "dropout": 0.3, "optimizer": "adam"},
        {"encoder": "brgcn", "batches_per_pass": 3, "edge_dropout": 0.2},
        {"candidates": 4},
    ],
)
def test_going_on_is_as_if_it_had_never_stopped(changes: dict[str, object]) -> None:
    whole = trainer(epochs=6, evaluate_every=2, **changes)
    records = list(whole.epochs())
    first = trainer(epochs=6, evaluate_every=2, **changes)
    steps = first.epochs()
    before = [next(steps) for _ in range(3)]
    second = trainer(epochs=6, evaluate_every=2, **changes)
    second.restore(*first.state())
    assert before + list(second.epochs()) == records
    for name, value in whole.trained().state_dict().items():
        assert torch.equal(value, second.trained().state_dict()[name]), name


def test_the_best_weights_are_kept_and_patience_ends_it() -> None:
    stopping = trainer(epochs=200, evaluate_every=1, patience=3, learning_rate=0.5)
    records = list(stopping.epochs())
    assert len(records) < 200
    values = [record["valid"]["filtered"]["mrr"] for record in records]
    assert stopping.progress.best_mrr == max(values)
    assert stopping.progress.best_epoch == values.index(max(values)) + 1
    assert len(records) == stopping.progress.best_epoch + 3


def test_scored_triples_are_hidden_from_the_encoder_in_both_directions() -> None:
    masked = trainer(encoder="rgcn", mask_target_edges=True)
    assert masked.visible is not None
    assert masked.graph is not None
    scored = torch.tensor([0, 3])
    seen = {(int(s), int(t), int(r)) for s, t, r in edges_of(masked.visible(scored))}
    hidden = {(int(s), int(t), int(r)) for s, t, r in edges_of(masked.graph)} - seen
    expected = set()
    for h, r, t in masked.queries.triples[scored].tolist():
        expected |= {(h, t, r), (t, h, r + 2)}
    assert hidden == expected
    assert masked.visible(scored).num_edges == masked.graph.num_edges - 4


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_a_step_can_see_a_share_of_its_own_triples_alone(share: float) -> None:
    half = trainer(encoder="rgcn", batch_graph=share)
    assert half.visible is not None
    scored = torch.arange(0, 60, 2)
    place = {tuple(triple): n for n, triple in enumerate(half.queries.triples.tolist())}
    triples = []
    for source, target, relation in edges_of(half.visible(scored)):
        s, t, r = int(source), int(target), int(relation)
        triples.append(place[(s, r, t) if r < 2 else (t, r - 2, s)])
    assert set(triples) <= set(scored.tolist())
    assert len(triples) == 2 * len(set(triples))  # in both directions
    assert len(set(triples)) == len(scored) if share == 1 else 5 < len(set(triples)) < 25


def test_out_of_memory_is_answered_with_smaller_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same step with the same random numbers, and nothing of the failed one is left."""
    changes = {"epochs": 2, "entity_dropout": 0.3, "evaluate_every": 1}
    expected = list(trainer(**changes).epochs())
    small = trainer(**changes)
    compute, asked = small._compute, []

    def tight(batch: torch.Tensor) -> torch.Tensor:
        asked.append(small.cells)
        loss = compute(batch)
        if small.cells > 1 << 19:
            raise RuntimeError("CUDA out of memory")
        return loss

    monkeypatch.setattr(small, "_compute", tight)
    assert list(small.epochs()) == expected
    assert asked[:3] == [1 << 21, 1 << 20, 1 << 19]
    assert small.cells == 1 << 19
    again = trainer(**changes)
    again.restore(*small.state())
    assert again.cells == 1 << 19


@pytest.mark.parametrize("encoder", [{}, {"encoder": "rgcn", "batch_graph": 0.5}, {"encoder": "brgcn", "dropout": 0.3}])
@pytest.mark.parametrize("reciprocal", [True, False])
def test_out_of_memory_with_negatives_is_answered_with_parts_of_the_triples(
    encoder: dict[str, object], reciprocal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They agree with the whole step, the encoder is run once in a step, and what was learned about memory is kept."""
    monkeypatch.setattr("brgcn.tasks.link_trainer.FEWEST_CELLS", 1)
    changes = {"loss": "negatives", "negatives": 3, "batch": 0, "epochs": 3, "evaluate_every": 3, "optimizer": "adam"}
    changes |= {"reciprocal": reciprocal, "entity_dropout": 0.3, "initial_scale": 0.3, **encoder}
    whole, small = trainer(**changes), trainer(**changes)
    for one in (whole, small):
        one.model.double()
    match_some, entities, sizes, passes = small.model.decoder.match_some, small.model.entities, [], []

    def tight(query: torch.Tensor, asked: torch.Tensor, *rest: torch.Tensor) -> torch.Tensor:
        sizes.append(asked.numel())
        if asked.numel() > 100:
            raise RuntimeError("CUDA out of memory")
        return match_some(query, asked, *rest)

    monkeypatch.setattr(small.model.decoder, "match_some", tight)
    monkeypatch.setattr(small.model, "entities", lambda *rest: passes.append(1) or entities(*rest))
    steps = small.epochs()
    count = len(small.directed)
    expected = list(whole.epochs())
    for theirs in expected[:2]:
        assert next(steps)["loss"] == pytest.approx(theirs["loss"], rel=1e-9)
    tries = [size for size in sizes if size > 100]
    assert tries == [4 * count, *(4 * (count >> halving) for halving in range(1, len(tries)))]
    assert small.progress.cells == small.loss.numbers_of_triples(count) >> len(tries)
    assert len(passes) == len(tries) + 2  # those that failed, and one in each of two epochs
    again = trainer(**changes)
    again.model.double()
    again.restore(*small.state())
    assert again.progress.cells == small.progress.cells
    (last,) = again.epochs()
    assert last["loss"] == pytest.approx(expected[-1]["loss"], rel=1e-9)
    for (name, mine), theirs in zip(again.model.named_parameters(), whole.model.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-6, atol=1e-8, msg=name)


def test_what_no_part_is_small_enough_for_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    full = trainer(loss="negatives", batch=0)

    def tight(*rest: torch.Tensor) -> torch.Tensor:
        raise RuntimeError("CUDA out of memory")

    monkeypatch.setattr(full.model.decoder, "match_some", tight)
    with pytest.raises(RuntimeError, match="out of memory"):
        list(full.epochs())


@pytest.mark.parametrize(
    ("width", "block_width", "blocks"), [(200, 20, 10), (200, 30, 8), (14, 5, 7), (8, 20, 0), (8, 8, 0), (8, 0, 0)]
)
def test_any_width_can_be_cut_into_blocks(width: int, block_width: int, blocks: int) -> None:
    assert LinkSettings(width=width, block_width=block_width).num_blocks == blocks


@pytest.mark.parametrize("residual", [True, False])
@pytest.mark.parametrize("masked", [True, False])
def test_batches_that_share_a_pass_by_hand(residual: bool, masked: bool) -> None:
    """Two batches move the table and the relations with the encoder's part held; then their mean gradient goes through
    the encoder as it was."""
    changes = {"encoder": "rgcn", "batch": 10, "batches_per_pass": 2, "residual": residual, "n3": 0.01}
    ours = trainer(mask_target_edges=masked, initial_scale=0.3, learning_rate=0.05, **changes)
    for parameter in ours.model.layers.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    model = copy.deepcopy(ours.model).train()
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
    batches = list(ours.queries.batches(torch.arange(20), 10))
    assert ours._shared is not None
    assert ours.visible is not None
    ours._take_together(ours._shared, batches)

    table = model.entity.detach().clone().requires_grad_()
    graph = ours.visible(torch.cat([batch.triple for batch in batches]))
    encoded = table
    for layer in model.layers:
        encoded = layer(encoded, graph)
    slopes = []
    for batch in batches:
        optimizer.zero_grad()
        held = encoded.detach().clone().requires_grad_()
        LinkLoss(model, ours.settings).of_queries(model.entity + held if residual else held, batch, 1 << 20).backward()
        slopes.append(held.grad)
        optimizer.step()
    optimizer.zero_grad()
    encoded.backward(torch.stack(slopes).mean(0))
    model.entity.grad = table.grad
    optimizer.step()
    for (name, mine), theirs in zip(ours.model.named_parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-6, msg=name)


@pytest.mark.parametrize("residual", [True, False])
def test_batches_that_share_a_pass_need_but_the_rows_of_their_samples(
    residual: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = {
        "encoder": "brgcn",
        "candidates": 4,
        "batch": 7,
        "batches_per_pass": 3,
        "epochs": 2,
        "initial_scale": 0.3,
    }
    alone, whole = (trainer(residual=residual, **changes) for _ in range(2))
    assert alone._samples_alone
    assert not trainer(encoder="brgcn", batches_per_pass=3)._samples_alone  # without a sample
    for mine in alone.epochs():
        assert mine["loss"] > 0
    with monkeypatch.context() as patched:
        patched.setattr(LinkTrainer, "_samples_alone", False)
        list(whole.epochs())
    for (name, mine), theirs in zip(alone.model.named_parameters(), whole.model.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-6, msg=name)


@pytest.mark.parametrize("optimizer", ["adagrad", "adam"])
def test_steps_of_one_shape_are_those_of_any_shape(optimizer: str) -> None:
    """What is recorded on CUDA: batches filled up to the same number of answers, and the rest as it comes."""
    changes = {"optimizer": optimizer, "epochs": 3, "batch": 7, "n3": 0.01, "relation_prediction": 0.5}
    plain, filled = trainer(**changes), trainer(**changes)
    assert plain._recorded is None
    filled._recorded = RecordedStep(filled._step, 7, filled.queries.most_answers(7), filled.device)
    for mine, theirs in zip(filled.epochs(), plain.epochs(), strict=True):
        assert mine["loss"] == pytest.approx(theirs["loss"], rel=1e-4)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="steps are recorded on CUDA")
@pytest.mark.parametrize("decoder", ["complex", "hole", "transe", "transe-l2"])
@pytest.mark.parametrize("precision", ["tf32", "bfloat16"])
@pytest.mark.parametrize("encoder", [{}, {"encoder": "brgcn"}, {"encoder": "brgcn", "batches_per_pass": 3}])
def test_replayed_steps_train_as_eager_ones(
    encoder: dict[str, object], decoder: str, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BRGCN_BACKEND", "auto")
    changes = {**encoder, "decoder": decoder, "epochs": 6, "batch": 7, "precision": precision, "n3": 0.01}
    built = [trainer(device="cuda", **changes) for _ in range(2)]
    assert built[0]._recorded is not None
    built[1]._recorded = None
    for mine, theirs in zip(*(one.epochs() for one in built), strict=True):
        assert mine["loss"] == pytest.approx(theirs["loss"], rel=1e-2)


def test_a_recording_that_finds_no_memory_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    changes = {"epochs": 2, "batch": 7}
    expected, tight = trainer(**changes), trainer(**changes)
    tight._recorded = RecordedStep(tight._step, 7, tight.queries.most_answers(7), tight.device)

    def full(batch: object) -> torch.Tensor:
        raise RuntimeError("CUDA out of memory")

    monkeypatch.setattr(tight._recorded, "_step", lambda: full(None))
    assert list(tight.epochs()) == list(expected.epochs())
    assert tight._recorded is None


def test_nothing_to_train_on_and_a_loss_that_explodes() -> None:
    graph, train, _ = world()
    with pytest.raises(DataError, match="no training triples"):
        LinkTrainer(graph, train[:0], LinkSettings(), 0)
    with pytest.raises(DataError, match="the loss became nan"):
        list(trainer(decoder="distmult", learning_rate=1e30, optimizer="adam").epochs())
