"""Reading a data set: ours, from its files and from the cache, against the route of PyG's ``Entities``.

That route is followed here step by step instead of being called, since ``Entities`` downloads what it reads: parse with
rdflib, number relations by frequency and nodes as they come, build the edges in both directions, sort them, keep the
tensors; afterwards it loads what it kept. Its reading of labels is left out, to its advantage.
"""

from __future__ import annotations

import gzip
import itertools
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch

from brgcn.bench.contender import OURS, PYG
from brgcn.bench.rows import Bench, Row
from brgcn.bench.timing import measure
from brgcn.errors import BrgcnError

CPU = torch.device("cpu")
_FORMATS = {".nt": "nt", ".nq": "nquads", ".ttl": "turtle", ".rdf": "xml", ".xml": "xml", ".owl": "xml"}


class Source(NamedTuple):
    """A data set to load."""

    name: str
    graph_file: Path
    load: Callable[[Path], object]  # with this cache folder


def source_of(name_or_path: str, data_dir: Path | None = None) -> Source | None:
    """The files of a data set that are on this machine already; None where there is no RDF file to read."""
    from brgcn.data import catalogue, fetch, load_dataset
    from brgcn.data.folder import recognise

    entry = catalogue.find(name_or_path) if "/" not in name_or_path else None
    if entry is None:
        path = Path(name_or_path).expanduser()
        graph_file = recognise(path).graph_file if path.is_dir() else path
        if graph_file is None or _format(graph_file) is None:
            return None
        return Source(path.resolve().name, graph_file, lambda cache: load_dataset(path, cache_dir=cache))
    folder = fetch.locate(entry, data_dir=data_dir)
    if folder is None or entry.graph_file is None:
        return None
    graph_file, place = folder / entry.graph_file, entry.folder

    def load(cache: Path) -> object:
        mirror = cache / "mirror"  # the files themselves stay where they are, and nothing is fetched
        if not mirror.exists():
            mirror.mkdir()
            (mirror / place).symlink_to(folder.resolve())
        return load_dataset(entry.name, data_dir=mirror, cache_dir=cache)

    return Source(entry.name, graph_file, load)


def loading_rows(source: Source, bench: Bench) -> list[Row]:
    """First time and again, for both."""
    _rdflib()
    with tempfile.TemporaryDirectory() as scratch:
        folder, number = Path(scratch), itertools.count()

        def first() -> object:
            cache = folder / str(next(number))
            cache.mkdir()
            return source.load(cache)

        def again() -> Callable[[], object]:
            source.load(folder)
            return lambda: source.load(folder)

        kept = folder / "entities.pt"

        def entities() -> object:
            tensors = entities_route(source.graph_file)
            torch.save(tensors, kept)
            return tensors

        rows = [
            _row(source, OURS, "first", lambda: first, bench),
            _row(source, OURS, "again", again, bench),
            _row(source, PYG, "first", lambda: entities, bench),
        ]
        if kept.exists():  # else the first time was too much already
            # tensors and numbers alone: nothing that could run code is unpickled
            rows.append(_row(source, PYG, "again", lambda: lambda: torch.load(kept, weights_only=True), bench))
        return rows


def entities_route(path: Path) -> dict[str, Any]:
    """The tensors that ``Entities`` makes of a graph file."""
    rdflib = _rdflib()
    parsed = rdflib.Graph()
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as stream:
        parsed.parse(file=stream, format=_format(path) or "nt")
    frequency = Counter(parsed.predicates())
    relation_id = {relation: number for number, (relation, _) in enumerate(frequency.most_common())}
    nodes = set(parsed.subjects()) | set(parsed.objects())
    node_id = {str(node): number for number, node in enumerate(nodes)}
    edges = []
    for subject, predicate, target in parsed:
        source_id, target_id, relation = node_id[str(subject)], node_id[str(target)], relation_id[predicate]
        edges.append((source_id, target_id, 2 * relation))
        edges.append((target_id, source_id, 2 * relation + 1))
    table = torch.tensor(edges, dtype=torch.long).t().contiguous()
    num_nodes, num_relations = len(nodes), 2 * len(relation_id)
    order = torch.argsort((table[0] * num_nodes + table[1]) * num_relations + table[2])
    table = table[:, order]
    return {"edge_index": table[:2], "edge_type": table[2], "num_nodes": num_nodes}


def _row(source: Source, library: str, what: str, build: Callable[[], Callable[[], object]], bench: Bench) -> Row:
    bench.tell(f"{source.name}: loading, {what}, {library}")
    measured = measure(build, CPU, bench.budget, warm_up=0, inner=1).row()
    layer = "load_dataset" if library == OURS else "Entities route (rdflib)"
    return {"graph": source.name, "library": library, "layer": layer, "what": what, **measured}


def _format(path: Path) -> str | None:
    name = path.name.lower().removesuffix(".gz")
    return _FORMATS.get(Path(name).suffix)


def _rdflib() -> Any:
    try:
        import rdflib
    except ImportError as error:
        raise BrgcnError(
            "timing the loading needs rdflib, which is not installed",
            remedy="pip install 'brgcn[bench]', or leave it out with --no-loading.",
        ) from error
    return rdflib
