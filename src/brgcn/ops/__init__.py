"""The ragged primitives of bi-level attention, one file each.

Each is one function with a plain torch body; faster versions go beside it, behind the same function.
"""

from brgcn.ops.dropout import combine_seed
from brgcn.ops.node_level import attend_edges, average_edges, typed_dot
from brgcn.ops.relation_level import add_relations, attend_relations, encounters
from brgcn.ops.typed_linear import typed_linear

__all__ = [
    "add_relations",
    "attend_edges",
    "attend_relations",
    "average_edges",
    "combine_seed",
    "encounters",
    "typed_dot",
    "typed_linear",
]
