#!/bin/sh
# Everything that docs/performance.md shows, on this machine; the name (cpu, h200, ..) is that of the kept result.
set -eu
name=${1:?usage: benchmarks/all.sh NAME [DEVICE]}
brgcn bench aifb mutag am-standin --device "${2:-auto}" --out "bench-$name"
python -m brgcn.bench.page "$name=bench-$name"
