"""The evaluator of links, against PyKEEN's on the same scores and triples, in one run.

    python -m brgcn.bench.ranking fb15k-237 --triples 2048 --out results/ranking/cpu.json

needs ``pip install '.[pykeen]'``; without PyKEEN only our time is measured. Both rank both sides, filtered, with
vectors of a DistMult model that nobody trained; ours gives the raw ranks, too. The first pass of each is not counted.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from brgcn.data import Dataset, load_dataset
from brgcn.tasks.device import pick_device
from brgcn.tasks.environment import environment
from brgcn.tasks.known_triples import KnownTriples
from brgcn.tasks.rank_metrics import summary
from brgcn.tasks.ranking import rank
from brgcn.tasks.run_files import write_json


def measure_ranking(
    data: Dataset, *, triples: int | None = None, width: int = 200, repeats: int = 3, device: torch.device
) -> dict[str, Any]:
    """Seconds of ours and, where it is installed, of PyKEEN, the fastest of ``repeats`` passes each; their MRR."""
    entities, relations = data.graph.num_nodes, data.graph.num_relations
    wanted = data.triples["test"][:triples].to(device)
    generator = torch.Generator().manual_seed(0)
    entity = torch.randn(entities, width, generator=generator).to(device)
    relation = torch.randn(relations, width, generator=generator).to(device)
    known = KnownTriples(data.triples.values(), entities, relations).to(device)

    def scores(given: Tensor, of: Tensor) -> Tensor:
        return (entity[given] * relation[of]) @ entity.T

    def ours() -> float:
        return summary(rank(wanted, scores, scores, known))["filtered"]["mrr"]

    result: dict[str, Any] = {
        "dataset": data.name,
        "triples": len(wanted),
        "width": width,
        "ours": _fastest(ours, repeats, device),
    }
    theirs = _pykeen(data, entity, relation, wanted)
    if theirs is not None:
        result["pykeen"] = _fastest(theirs, repeats, device)
        result["ratio"] = result["pykeen"]["seconds"] / result["ours"]["seconds"]
    return result


def _pykeen(data: Dataset, entity: Tensor, relation: Tensor, wanted: Tensor) -> Callable[[], float] | None:
    """PyKEEN's evaluator on a DistMult model with these vectors."""
    try:
        from pykeen.evaluation import RankBasedEvaluator
        from pykeen.models import DistMult
        from pykeen.triples import CoreTriplesFactory
    except ImportError:
        return None
    factory = CoreTriplesFactory(data.triples["train"], num_entities=len(entity), num_relations=len(relation))
    model = DistMult(triples_factory=factory, embedding_dim=entity.size(1), random_seed=0).to(entity.device).eval()
    with torch.no_grad():
        for representation, vectors in (
            (model.entity_representations[0], entity),
            (model.relation_representations[0], relation),
        ):
            for parameter in representation.parameters():
                parameter.copy_(vectors)
    others = [table.to(entity.device) for table in data.triples.values()]

    def evaluate() -> float:
        evaluated = RankBasedEvaluator(filtered=True).evaluate(
            model, wanted, additional_filter_triples=others, batch_size=256, use_tqdm=False
        )
        return float(evaluated.get_metric("both.realistic.inverse_harmonic_mean_rank"))

    return evaluate


def _fastest(evaluate: Callable[[], float], repeats: int, device: torch.device) -> dict[str, float]:
    mrr = evaluate()
    seconds = []
    for _ in range(repeats):
        begun = time.perf_counter()
        evaluate()
        if device.type == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - begun)
    return {"seconds": min(seconds), "mrr": mrr}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("--triples", type=int, default=None, help="of the test split; else all")
    parser.add_argument("--width", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--data-dir", default=None)
    parser.add_argument("--out", type=Path, default=None)
    args = parser.parse_args()
    device = pick_device(args.device)
    data = load_dataset(args.dataset, data_dir=args.data_dir)
    result = measure_ranking(data, triples=args.triples, width=args.width, repeats=args.repeats, device=device)
    command = shlex.join(["python", "-m", "brgcn.bench.ranking", *sys.argv[1:]])
    result["environment"] = {**environment(device), "command": command}
    for name in ("ours", "pykeen"):
        if name in result:
            print(f"{name:8} {result[name]['seconds']:.3f} s  MRR {result[name]['mrr']:.6f}")
    if "ratio" in result:
        print(f"ratio    {result['ratio']:.1f}")
    if args.out is not None:
        write_json(args.out, result)


if __name__ == "__main__":
    main()
