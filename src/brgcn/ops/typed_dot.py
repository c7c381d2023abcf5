"""The dot product of a row with the vector of a relation: one half of an edge's score."""

from __future__ import annotations

from torch import Tensor

from brgcn.ops.backend import backend_for
from brgcn.ops.registered import op_of_two
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


_fused = op_of_two("typed_dot", lambda x, vector, tables: x.new_empty(tables[0].size(0), x.size(1)))
