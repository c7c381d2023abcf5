"""Training of one link predictor: epochs, early stopping on filtered validation MRR, a state that can be saved.

All random numbers of an epoch follow from the seed of the run and the epoch's number, so that a run continued from a
saved state goes on exactly as if it had never stopped (on CUDA, where sums are in no fixed order, but for last digits).
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from brgcn.errors import DataError, is_out_of_memory
from brgcn.graph import RelationalGraph
from brgcn.message_graph import message_graph
from brgcn.nn.link_model import LinkModel
from brgcn.nn.scorer import torch_seeded
from brgcn.ops import combine_seed
from brgcn.ops.precision import training_precision
from brgcn.tasks.known_triples import KnownTriples
from brgcn.tasks.link_loss import LinkLoss
from brgcn.tasks.link_queries import QueryBatch, Sampler, TrainingQueries, both_directions
from brgcn.tasks.link_scores import EntityScores
from brgcn.tasks.link_settings import LinkSettings
from brgcn.tasks.optimizers import link_optimizer
from brgcn.tasks.rank_metrics import summary
from brgcn.tasks.ranking import rank
from brgcn.tasks.recorded_step import RecordedStep
from brgcn.tasks.shared_pass import SharedPass
from brgcn.tasks.visible_graph import VisibleGraph

CELLS = {"cpu": 1 << 21, "cuda": 1 << 27}  # scores that a step holds at a time
FEWEST_CELLS = 1 << 16
Record = dict[str, Any]
OnStep = Callable[[int, int], None]  # steps done, steps of the epoch


@dataclass
class LinkProgress:
    """Where a run stands; with the weights and the optimizer's state it is all that is needed to go on."""

    epoch: int = 0
    best_epoch: int = 0
    best_mrr: float = -1.0
    looks_since: int = 0  # looks at the validation triples since the best one
    stopped: bool = False
    cells: int = 0  # numbers that a step holds at a time, where memory once ran out


def build_link_model(num_entities: int, num_relations: int, settings: LinkSettings, seed: int) -> LinkModel:
    """Initialised on the CPU from ``seed`` alone; its tables are the same beside any encoder and beside none, which are
    so compared from the same start."""
    with torch_seeded(seed, torch.device("cpu")):
        model = LinkModel(
            num_entities,
            num_relations,
            encoder=settings.encoder,
            decoder_name=settings.decoder,
            width=settings.width,
            reciprocal=settings.reciprocal,
            num_layers=settings.layers,
            residual=settings.residual,
            entity_dropout=settings.entity_dropout,
            relation_dropout=settings.relation_dropout,
            initial_scale=settings.initial_scale,
            self_connection=settings.self_connection,
            aggregate=settings.aggregate,
            scaled=settings.scaled,
            counts=settings.counts,
            negative_slope=settings.negative_slope,
            dropout=settings.dropout,
            num_bases=settings.bases,
            num_blocks=settings.num_blocks,
            heads=settings.heads,
        )
    with torch_seeded(seed, torch.device("cpu")):  # building an encoder has drawn numbers
        model.reset_parameters()
    return model


class LinkTrainer:
    """``for record in trainer.epochs()`` trains epoch after epoch; between two of them ``state()`` can be saved.

    Args:
        graph: the training graph, without inverse relations.
        train: [n, 3] training triples.
        valid: [m, 3] validation triples; without them there is no early stopping, and the last weights count. What
            they are filtered by is train and valid: selection knows no test triple.
        on_step: called after each step of an epoch.
    """

    def __init__(
        self,
        graph: RelationalGraph,
        train: Tensor,
        settings: LinkSettings,
        seed: int,
        *,
        valid: Tensor | None = None,
        device: torch.device | str = "cpu",
        on_step: OnStep | None = None,
    ) -> None:
        if not len(train):
            raise DataError("there are no training triples")
        self.settings, self.seed, self.device = settings, seed, torch.device(device)
        entities, relations = graph.num_nodes, graph.num_relations
        self.model = build_link_model(entities, relations, settings, seed).to(self.device)
        self.queries = TrainingQueries(train, entities, relations, settings.answers).to(self.device)
        self.directed = both_directions(self.queries.triples, relations)
        if not settings.reciprocal:
            self.directed = self.queries.triples
        self.loss = LinkLoss(self.model, settings)
        self.sampler: Sampler | None = None
        if 0 < settings.candidates < entities:
            self.sampler = Sampler(self.queries, settings.batch, settings.candidates)
        self.graph: RelationalGraph | None = None
        self.visible: VisibleGraph | None = None
        if settings.encoder != "none":
            self.graph = message_graph(graph, settings.message_graph, seed).to(self.device)
            self.visible = VisibleGraph(self.graph, self.queries.triples, settings)
        self.valid = valid if valid is not None and len(valid) else None
        if self.valid is not None:
            self.known = KnownTriples([train, self.valid], entities, relations).to(self.device)
        self.optimizer = link_optimizer(self.model, settings, self.device)
        self.progress = LinkProgress()
        self.best: dict[str, Tensor] = {}
        self.on_step = on_step
        shares = self.visible is not None and settings.batches_per_pass > 1
        self._shared = SharedPass(self.model) if shares else None
        self._recorded = self._recorder()

    # ------------------------------------------------------------------ epochs

    def epochs(self) -> Iterator[Record]:
        while self.progress.epoch < self.settings.epochs and not self.progress.stopped:
            with torch_seeded(combine_seed(self.seed, self.progress.epoch), self.device):
                loss = self._epoch()
            self.progress.epoch += 1
            if not loss - loss == 0:
                raise DataError(f"the loss became {loss} in epoch {self.progress.epoch}", remedy="Lower learning_rate.")
            record: Record = {"epoch": self.progress.epoch, "loss": loss}
            last = self.progress.epoch == self.settings.epochs
            if self.valid is not None and (self.progress.epoch % self.settings.evaluate_every == 0 or last):
                record["valid"] = self._measure(self.valid)
                self._remember_best(record["valid"]["filtered"]["mrr"])
            yield record

    def _epoch(self) -> float:
        """One pass over the training triples -> mean loss of the steps."""
        self.model.train()
        by_triples = self.settings.loss == "negatives"
        count = len(self.directed) if by_triples else len(self.queries)
        order, size = torch.randperm(count, device=self.device), self.settings.batch or count
        batches = iter(order.split(size) if by_triples else self.queries.batches(order, size))
        steps, done = -(-count // size), 0
        total = torch.zeros((), dtype=torch.double, device=self.device)
        together = 1 if self._shared is None else self.settings.batches_per_pass
        while some := list(islice(batches, together)):
            total += self._take(some[0]) if self._shared is None else self._take_together(self._shared, some)
            done += len(some)
            if self.on_step is not None:
                self.on_step(done, steps)
        return float(total) / steps

    @property
    def cells(self) -> int:
        return self.progress.cells or CELLS[self.device.type]

    def _take(self, batch: Tensor | QueryBatch) -> Tensor:
        """One step, replayed from a recording where that is possible."""
        if self._recorded is None or isinstance(batch, Tensor) or not self._recorded.suits(batch):
            return self._step(batch)
        if self._in_one_piece(self._recorded.rows):
            try:
                return self._recorded(batch)
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
        self._recorded = None  # it holds memory of its own; steps as they come need less, and can be cut smaller
        return self._step(batch)

    def _take_together(self, shared: SharedPass, batches: Sequence[Tensor | QueryBatch]) -> Tensor:
        """A step for each batch, and one of the encoder; the sum of their losses."""
        assert self.visible is not None
        scored = torch.cat([self._triples_of(batch) for batch in batches])
        with training_precision(self.settings.precision, self.device):
            shared.begin(self.visible(scored), _seed())
        loss = torch.stack([self._take(batch) for batch in batches]).sum()
        self.optimizer.zero_grad(set_to_none=True)
        with training_precision(self.settings.precision, self.device):
            shared.finish(len(batches))
        self._move()
        return loss

    def _recorder(self) -> RecordedStep | None:
        """Where all steps launch the same kernels: no sample and no graph that changes from step to step."""
        rows = min(self.settings.batch, len(self.queries))
        changing = self.sampler is not None or self.settings.loss == "negatives"
        if self.visible is not None and self._shared is None:
            changing |= self.visible.changes or self.settings.dropout > 0
        if self.device.type != "cuda" or changing or not rows or not self._in_one_piece(rows):
            return None
        return RecordedStep(self._step, rows, self.queries.most_answers(rows), self.device)

    def _in_one_piece(self, rows: int) -> bool:
        entity = self.model.entity
        return rows * len(entity) * self.model.decoder.numbers_per_score(entity) <= self.cells

    def _step(self, batch: Tensor | QueryBatch) -> Tensor:
        loss = self._gradients(batch)
        self._move()
        return loss

    def _move(self) -> None:
        """Along the gradients."""
        if self.settings.clip:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip)
        with torch.sparse.check_sparse_tensor_invariants(False):  # torch asks to say so; the indices are its own
            self.optimizer.step()

    def _gradients(self, batch: Tensor | QueryBatch) -> Tensor:
        """Of one step, and its loss; where memory runs out, once more in smaller parts with the same random numbers."""
        if self.device.type == "cuda" and torch.cuda.is_current_stream_capturing():
            return self._compute(batch)
        on_host, on_device = torch.get_rng_state(), _cuda_random(self.device)
        while True:
            try:
                return self._compute(batch)
            except Exception as error:
                held = self._held(batch)
                if held <= FEWEST_CELLS or not is_out_of_memory(error):
                    raise
            self.progress.cells = held // 2
            self.optimizer.zero_grad(set_to_none=True)
            gc.collect()
            torch.set_rng_state(on_host)
            if on_device is not None:
                torch.cuda.empty_cache()
                torch.cuda.set_rng_state(on_device, self.device)

    def _held(self, batch: Tensor | QueryBatch) -> int:
        """Numbers that a step holds at a time: scores, or with the loss ``negatives``, whose scores are few, vectors;
        these are all held until memory runs out."""
        if not isinstance(batch, Tensor):
            return self.cells
        whole = self.loss.numbers_of_triples(len(batch))
        return min(self.progress.cells or whole, whole)

    def _compute(self, batch: Tensor | QueryBatch) -> Tensor:
        """``batch`` holds queries, or with the loss ``negatives`` places of triples."""
        self.optimizer.zero_grad(set_to_none=True)
        with training_precision(self.settings.precision, self.device):
            ids: Tensor | None = None  # None: all entities
            if isinstance(batch, Tensor):
                loss = self.loss.of_triples(self._entities(batch), self.directed[batch], self.progress.cells)
            elif self.sampler is None:
                loss = self.loss.of_queries(self._entities(batch), batch, self.cells)
            else:
                drawn, local = self.sampler.sample(batch)
                ids = drawn if self._samples_alone else None
                some = self._entities(batch)[drawn] if ids is None else self._some_entities(ids)
                loss = self.loss.of_queries(some, local, self.cells, self.sampler.correction[drawn])
            loss.backward()
            if self._shared is not None:
                self._shared.collect(ids)
        return loss.detach().double()

    @property
    def _samples_alone(self) -> bool:
        """Rows that a batch does not touch have no gradient, and Adagrad leaves them where they are."""
        rows = self.sampler is not None and (self.graph is None or self._shared is not None)
        return rows and self.settings.optimizer == "adagrad" and not self.settings.clip

    def _entities(self, batch: Tensor | QueryBatch) -> Tensor:
        """[N, width] while these are the target."""
        if self._shared is not None:
            return self._shared.entities()
        if self.visible is None:
            return self.model.entities(None)
        return self.model.entities(self.visible(self._triples_of(batch)), _seed())

    def _some_entities(self, ids: Tensor) -> Tensor:
        """[M, width]"""
        return self.model.some_entities(ids) if self._shared is None else self._shared.entities(ids)

    def _triples_of(self, batch: Tensor | QueryBatch) -> Tensor:
        """Places of the training triples that a batch asks for."""
        return batch % len(self.queries.triples) if isinstance(batch, Tensor) else batch.triple

    # ------------------------------------------------------------------ results

    @torch.no_grad()
    def _measure(self, valid: Tensor) -> dict[str, dict[str, float]]:
        scores = EntityScores(self.model, self.graph)
        return summary(rank(valid, scores.tails, scores.heads, self.known))

    def _remember_best(self, mrr: float) -> None:
        if mrr > self.progress.best_mrr:
            self.progress.best_mrr, self.progress.best_epoch, self.progress.looks_since = mrr, self.progress.epoch, 0
            self.best = {name: value.detach().clone() for name, value in self.model.state_dict().items()}
            return
        self.progress.looks_since += 1
        self.progress.stopped = bool(self.settings.patience) and self.progress.looks_since >= self.settings.patience

    def trained(self) -> LinkModel:
        """With the best weights seen."""
        if self.best:
            self.model.load_state_dict(self.best)
        return self.model.eval()

    # ------------------------------------------------------------------ saving and continuing

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors = {f"model.{name}": value for name, value in self.model.state_dict().items()}
        tensors |= {f"best.{name}": value for name, value in self.best.items()}
        for name, parameter in self.model.named_parameters():
            for kept, value in self.optimizer.state.get(parameter, {}).items():
                tensors[f"optimizer.{kept}.{name}"] = torch.as_tensor(value)
        return {name: value.detach().cpu().contiguous() for name, value in tensors.items()}, asdict(self.progress)

    def restore(self, tensors: dict[str, Tensor], progress: dict[str, Any]) -> None:
        self.progress = LinkProgress(**progress)
        parts: dict[str, dict[str, Tensor]] = {"model": {}, "best": {}, "optimizer": {}}
        for name, value in tensors.items():
            part, _, rest = name.partition(".")
            parts[part][rest] = value
        self.model.load_state_dict(parts["model"])
        self.best = {name: value.to(self.device) for name, value in parts["best"].items()}
        for name, parameter in self.model.named_parameters():
            for kept in ("step", "sum", "exp_avg", "exp_avg_sq"):
                if (found := parts["optimizer"].get(f"{kept}.{name}")) is not None:
                    on_host = kept == "step" and self.settings.optimizer == "adagrad"  # where torch wants its count
                    self.optimizer.state[parameter][kept] = found.clone().to("cpu" if on_host else self.device)


def _seed() -> int:
    """Of the dropout of a pass of the encoder."""
    return int(torch.randint(2**31, ()))


def _cuda_random(device: torch.device) -> Tensor | None:
    return torch.cuda.get_rng_state(device) if device.type == "cuda" else None
