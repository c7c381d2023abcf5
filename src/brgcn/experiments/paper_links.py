"""What the paper reports on link prediction (its tables 3 and 6), and where that cannot be."""

from __future__ import annotations

from brgcn.errors import DataError
from brgcn.tasks.rank_metrics import check_row

ENTITIES = {"fb15k": 14_951, "wn18": 40_943, "fb15k-237": 14_541}
MEASURES = ("raw mrr", "mrr", "hits@1", "hits@3", "hits@10")

# encoder, letter of the embedding model or "": data set: MEASURES
PAPER: dict[tuple[str, str], dict[str, tuple[float, float, float, float, float]]] = {
    ("rgcn", ""): {
        "fb15k": (0.251, 0.651, 0.541, 0.736, 0.825),
        "wn18": (0.553, 0.814, 0.686, 0.928, 0.955),
        "fb15k-237": (0.158, 0.248, 0.153, 0.258, 0.414),
    },
    ("brgcn", ""): {
        "fb15k": (0.255, 0.662, 0.564, 0.748, 0.829),
        "wn18": (0.557, 0.814, 0.691, 0.928, 0.956),
        "fb15k-237": (0.160, 0.249, 0.160, 0.261, 0.418),
    },
    ("rgcn", "distmult"): {
        "fb15k": (0.262, 0.696, 0.601, 0.760, 0.842),
        "wn18": (0.561, 0.819, 0.697, 0.929, 0.964),
        "fb15k-237": (0.156, 0.249, 0.151, 0.264, 0.417),
    },
    ("rgcn", "transe"): {
        "fb15k": (0.252, 0.651, 0.543, 0.738, 0.828),
        "wn18": (0.554, 0.815, 0.681, 0.928, 0.956),
        "fb15k-237": (0.161, 0.258, 0.159, 0.274, 0.421),
    },
    ("rgcn", "hole"): {
        "fb15k": (0.257, 0.659, 0.556, 0.744, 0.839),
        "wn18": (0.567, 0.822, 0.699, 0.933, 0.966),
        "fb15k-237": (0.159, 0.257, 0.156, 0.272, 0.420),
    },
    ("rgcn", "complex"): {
        "fb15k": (0.260, 0.712, 0.629, 0.771, 0.845),
        "wn18": (0.565, 0.822, 0.701, 0.933, 0.965),
        "fb15k-237": (0.158, 0.255, 0.152, 0.268, 0.419),
    },
    ("brgcn", "distmult"): {
        "fb15k": (0.265, 0.703, 0.646, 0.782, 0.851),
        "wn18": (0.564, 0.825, 0.700, 0.934, 0.966),
        "fb15k-237": (0.157, 0.251, 0.255, 0.265, 0.419),
    },
    ("brgcn", "transe"): {
        "fb15k": (0.254, 0.655, 0.544, 0.740, 0.829),
        "wn18": (0.559, 0.815, 0.684, 0.928, 0.960),
        "fb15k-237": (0.163, 0.261, 0.164, 0.275, 0.423),
    },
    ("brgcn", "hole"): {
        "fb15k": (0.258, 0.661, 0.560, 0.748, 0.840),
        "wn18": (0.567, 0.823, 0.702, 0.934, 0.969),
        "fb15k-237": (0.161, 0.258, 0.158, 0.272, 0.422),
    },
    ("brgcn", "complex"): {
        "fb15k": (0.264, 0.725, 0.668, 0.785, 0.851),
        "wn18": (0.566, 0.829, 0.702, 0.934, 0.966),
        "fb15k-237": (0.160, 0.259, 0.153, 0.268, 0.420),
    },
}


def paper_row(encoder: str, embedding: str, dataset: str) -> dict[str, float] | None:
    figures = PAPER.get((encoder, embedding), {}).get(dataset)
    return None if figures is None else dict(zip(MEASURES, figures, strict=True))


def remark(encoder: str, embedding: str, dataset: str) -> str:
    """Why the paper's row cannot be what it says, or nothing."""
    row = paper_row(encoder, embedding, dataset)
    if row is None:
        return ""
    try:
        check_row(row, ENTITIES[dataset], rounding=0.0005)
    except DataError as error:
        return f"the paper's row is impossible: {error.message}"
    return ""
