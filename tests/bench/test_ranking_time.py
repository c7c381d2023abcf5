"""The benchmark of ranking measures what it says."""

from __future__ import annotations

from pathlib import Path

import torch

from brgcn.bench.ranking import measure_ranking
from brgcn.data import load_dataset


def test_ours_is_timed_and_pykeen_beside_it_where_it_is_installed(tmp_path: Path) -> None:
    for name in ("train", "valid", "test"):
        (tmp_path / f"{name}.tsv").write_text("".join(f"{name[0]}{k}\tr\tt{k % 5}\n" for k in range(12)))
    data = load_dataset(tmp_path)
    result = measure_ranking(data, triples=7, width=4, repeats=1, device=torch.device("cpu"))
    assert result["triples"] == 7
    assert result["ours"]["seconds"] > 0
    assert 0 < result["ours"]["mrr"] <= 1
    if "pykeen" in result:
        assert abs(result["pykeen"]["mrr"] - result["ours"]["mrr"]) < 1e-5
        assert result["ratio"] > 0
