"""Times and memory of this package and of PyG's relational layers, side by side in one run."""

from brgcn.bench.run import PARTS, bench
from brgcn.bench.task import BenchGraph
from brgcn.bench.timing import Budget

__all__ = ["PARTS", "BenchGraph", "Budget", "bench"]
