"""The dot product of a row with the vector of a relation: one half of an edge's score."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from brgcn.ops.backend import backend_for
from brgcn.ops.registered import FusedOp
from brgcn.ops.tables import TypedRows


def typed_dot(x: Tensor, vector: Tensor, items: TypedRows) -> Tensor:
    """<vector[relation_m], x[row_m]> for x [N, L, C] and vector [R, L, C] -> [M, L]."""
    backend = backend_for(x)
    vector = vector.to(x.dtype)
    if backend == "torch":
        return (x.index_select(0, items.row) * vector.index_select(0, items.relation)).sum(-1)
    tables = [items.row, items.relation, *items.by_row.tensors(), *items.by_relation.tensors()]
    dots: Tensor = _fused(backend, x, vector, tables)
    return dots


def _setup(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    x, vector, tables = inputs
    ctx.save_for_backward(x, vector, *tables)


def _backward(ctx: Any, op: Any, grad: Tensor) -> tuple[Any, ...]:
    x, vector, *tables = ctx.saved_tensors
    return (*op(grad.contiguous(), x, vector, tables), [None] * len(tables))


_fused = FusedOp(
    "typed_dot",
    "typed_dot",
    schema="(Tensor x, Tensor vector, Tensor[] tables) -> Tensor",
    backward_schema="(Tensor grad, Tensor x, Tensor vector, Tensor[] tables) -> (Tensor, Tensor)",
    fake=lambda x, vector, tables: x.new_empty(tables[0].size(0), x.size(1)),
    fake_backward=lambda grad, x, vector, tables: (torch.empty_like(x), torch.empty_like(vector)),
    setup=_setup,
    backward=_backward,
)
