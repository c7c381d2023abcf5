from __future__ import annotations

import pytest
import torch

from brgcn.ops import count_scores, use_backend


@pytest.mark.parametrize("backend", ["torch", "numba", "triton"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("rows", "entities", "items"), [(5, 7, 40), (1, 1, 3), (3, 9000, 20), (4, 5, 0)])
def test_counted_one_by_one(backend: str, dtype: torch.dtype, rows: int, entities: int, items: int) -> None:
    device = "cuda" if backend == "triton" and torch.cuda.is_available() else "cpu"  # else Triton's interpreter
    scores = torch.randint(4, (rows, entities)).to(dtype).to(device)
    row, truth = torch.randint(rows, (items,)).to(device), torch.randint(4, (items,)).to(dtype).to(device)
    with use_backend(backend):
        higher, equal = count_scores(scores, row, truth, cells=50)
    for item in range(items):
        mine = scores[row[item]].tolist()
        assert int(higher[item]) == sum(value > float(truth[item]) for value in mine)
        assert int(equal[item]) == sum(value == float(truth[item]) for value in mine)
