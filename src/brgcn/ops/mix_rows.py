"""Rows of typed matrices that are mixed from shared bases, for one-hot input.

With bases W_r = sum_b c_rb V_b, and row j of it is sum_b c_rb V_b[j]. Only the (relation, source) that occur are mixed,
for query, key and value at once.
"""

from __future__ import annotations

from torch import Tensor

from brgcn.ops.backend import backend_for
from brgcn.ops.registered import op_of_two
from brgcn.ops.tables import TypedRows


def mix_rows(basis: Tensor, coefficients: Tensor, items: TypedRows) -> Tensor:
    """basis [N, L, B, C], coefficients [R, L, B, K] -> [M, L, K * C]: sum_b coefficients[r, b, k] basis[j, b]."""
    backend = backend_for(basis)
    if backend == "torch":
        of_item = coefficients.index_select(0, items.relation).transpose(-1, -2)  # [M, L, K, B]
        return (of_item @ basis.index_select(0, items.row)).flatten(2)
    tables = [items.row, items.relation, *items.by_row.tensors(), *items.by_relation.tensors()]
    rows: Tensor = _fused(backend, basis, coefficients, tables)
    return rows


def _fake(basis: Tensor, coefficients: Tensor, tables: list[Tensor]) -> Tensor:
    return basis.new_empty(tables[0].size(0), basis.size(1), coefficients.size(3) * basis.size(3))


_fused = op_of_two("mix_rows", _fake)
