"""The ragged primitives of bi-level attention, one file each.

Each is one function: a plain torch reference in its file and, where that pays, a fused CPU version in ``cpu`` (numba)
and a fused CUDA version in ``gpu`` (Triton) under the same name, chosen in ``backend``.
"""

from brgcn.ops.answer_loss import answer_loss
from brgcn.ops.backend import backend_for, use_backend
from brgcn.ops.complex_product import complex_product
from brgcn.ops.count_scores import count_scores
from brgcn.ops.cubes import weighted_cubes
from brgcn.ops.dropout import combine_seed, dropout_scale, lane_seeds
from brgcn.ops.look_up import look_up, table_and_rows
from brgcn.ops.mix_rows import mix_rows
from brgcn.ops.node_level import attend_edges, average_edges
from brgcn.ops.products import inner_products, l1_distances
from brgcn.ops.relation_level import add_relations, attend_relations, encounters
from brgcn.ops.tables import (
    EdgeRows,
    TypedRows,
    edge_rows,
    edge_sources,
    pair_rows,
    source_rows,
    typed_rows,
)
from brgcn.ops.typed_blocks import typed_blocks
from brgcn.ops.typed_dot import typed_dot

__all__ = [
    "EdgeRows",
    "TypedRows",
    "add_relations",
    "answer_loss",
    "attend_edges",
    "attend_relations",
    "average_edges",
    "backend_for",
    "combine_seed",
    "complex_product",
    "count_scores",
    "dropout_scale",
    "edge_rows",
    "edge_sources",
    "encounters",
    "inner_products",
    "l1_distances",
    "lane_seeds",
    "look_up",
    "mix_rows",
    "pair_rows",
    "source_rows",
    "table_and_rows",
    "typed_blocks",
    "typed_dot",
    "typed_rows",
    "use_backend",
    "weighted_cubes",
]
