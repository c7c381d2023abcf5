"""``load_dataset``: a name of the catalogue, a folder or a file becomes a ``Dataset``."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from torch import Tensor

from brgcn.data import cache
from brgcn.data.assemble import node_splits, warn_of_unused_drops
from brgcn.data.dataset import Dataset
from brgcn.data.feature_tables import FeatureTable, read_feature_table
from brgcn.data.files import kind_of, sha256_of
from brgcn.data.folder import Inputs, Options, recognise
from brgcn.data.labels import LabelTable, read_label_table, split_table_by_hash
from brgcn.data.named_graph import NamedGraph
from brgcn.data.rdf import RDF_FORMATS, is_rdf, read_rdf
from brgcn.data.tables import TABLE_EXTENSIONS, Column, is_table
from brgcn.data.triples import TripleReader, check_columns, read_triple_table
from brgcn.errors import DataError

if TYPE_CHECKING:
    from brgcn.data.catalogue import Entry


def load_dataset(
    name_or_path: str | Path,
    *,
    labels: str | Path | None = None,
    test_labels: str | Path | None = None,
    node_column: Column | None = None,
    label_column: Column | None = None,
    drop_relations: Sequence[str] = (),
    columns: Sequence[Column] | None = None,
    features: Sequence[str | Path] = (),
    valid: str | Path | None = None,
    test: str | Path | None = None,
    data_dir: str | Path | None = None,
    cache_dir: str | Path | None = None,
    use_cache: bool = True,
    progress: bool = False,
) -> Dataset:
    """Read a data set; the second time it is memory-mapped from the cache.

    Args:
        name_or_path: a name of the catalogue in any case (``"mutag"``); a folder with an RDF file and
            trainingSet/testSet tables, or with train/valid/test triples (tables or RDF); an RDF file; a table of
            triples. A name of the catalogue goes before a folder of that name: write ``"./mutag"`` or a ``Path`` for
            the folder.
        labels: table of the labelled (training) nodes. Without it an RDF file has no splits, and a table of triples is
            a set for link prediction.
        test_labels: table of the nodes to test on.
        node_column, label_column: columns of the label tables, by name or position; recognised when left out.
        drop_relations: relations that must not be in the graph, because they say the label.
        columns: head, relation and tail of a table of triples, by name or position from 0.
        features: tables of numbers that nodes come with, one for each type of node (``data/feature_tables.py``).
        valid, test: files of triples to choose by and to test on, when ``name_or_path`` is a file of training triples.
        data_dir: mirror folder for names of the catalogue; ``BRGCN_DATA`` when left out.
        cache_dir: ``BRGCN_CACHE`` or the user's cache folder when left out.
        use_cache: False reads the files in any case and keeps nothing.
        progress: show bars on standard error.
    """
    if isinstance(drop_relations, str):
        drop_relations = (drop_relations,)
    options = Options(node_column, label_column, tuple(drop_relations), columns=check_columns(columns))
    entry = _catalogue_entry(name_or_path)
    if entry is not None:
        from brgcn.data.fetch import obtain

        obtained = obtain(entry, data_dir=data_dir, cache_dir=cache_dir, progress=progress)
        name, source = entry.name, f"{entry.name} of the catalogue, in {obtained}"
        inputs = _inputs_of_entry(entry, Path(obtained), options, own_labels=labels is not None)
    else:
        path = Path(name_or_path).expanduser()
        name, source = _plain_name(path), str(path)
        inputs = replace(_inputs_of_path(path, name_or_path), options=options)
    if valid is not None or test is not None:
        if labels is not None or test_labels is not None:
            raise DataError(
                "labels are for classifying nodes, validation and test triples for predicting links",
                where=source,
                remedy="Leave one of the two out.",
            )
        inputs = _with_own_splits(inputs, valid, test, source, single=entry is None and not path.is_dir())
    inputs = _with_own_labels(inputs, labels, test_labels, source)

    fingerprint = inputs.fingerprint()
    kept = cache.cache_file(fingerprint, cache_dir)
    files = [path for path in (inputs.graph_file, *inputs.triple_files.values()) if path is not None]
    folder = Path(files[0]).parent
    if use_cache and (dataset := cache.open_cached(kept, name=name, source=source)) is not None:
        return _with_features(replace(dataset, folder=folder), features)
    read = _read_links if inputs.task == "links" else _read_nodes
    dataset = replace(read(inputs, progress), name=name, source=source, fingerprint=fingerprint)
    if use_cache:
        cache.store(kept, dataset)
    return _with_features(replace(dataset, folder=folder), features)


def _with_features(dataset: Dataset, paths: Sequence[str | Path]) -> Dataset:
    """The data set with the features of these tables."""
    tables: list[FeatureTable] = []
    warnings: list[str] = []
    digest = hashlib.sha256(dataset.fingerprint.encode())
    for path in paths:
        table, said = read_feature_table(path, dataset.named_graph)
        tables.append(table)
        warnings += said
        digest.update(sha256_of(Path(path).expanduser()).encode())
    return replace(
        dataset,
        features=(*dataset.features, *tables),
        warnings=(*dataset.warnings, *warnings),
        fingerprint=digest.hexdigest() if tables else dataset.fingerprint,
    )


# ---------------------------------------------------------------------- which files


def _catalogue_entry(name_or_path: str | Path) -> Entry | None:
    if isinstance(name_or_path, Path) or "/" in name_or_path or "\\" in name_or_path:
        return None
    from brgcn.data import catalogue

    return catalogue.find(name_or_path)


def _inputs_of_entry(entry: Entry, folder: Path, options: Options, *, own_labels: bool) -> Inputs:
    options = replace(options, known_targets=tuple(entry.drop_relations))
    splits = {split: folder / file for split, file in entry.split_files.items()}
    if entry.task == "links":
        return Inputs("links", triple_files=splits or recognise(folder).triple_files, options=options)
    if not own_labels:  # the columns of the entry are those of its own tables
        options = replace(
            options,
            node_column=options.node_column if options.node_column is not None else entry.node_column,
            label_column=options.label_column if options.label_column is not None else entry.label_column,
            split_fractions=tuple(entry.split_fractions or options.split_fractions),
        )
    return Inputs(
        "nodes",
        graph_file=folder / entry.graph_file if entry.graph_file else recognise(folder).graph_file,
        label_files=splits,
        all_labels_file=folder / entry.labels_file if entry.labels_file else None,
        options=options,
    )


def _inputs_of_path(path: Path, given: str | Path) -> Inputs:
    if path.is_dir():
        return recognise(path)
    if not path.exists() and isinstance(given, str) and not (is_rdf(path) or is_table(path)) and len(path.parts) == 1:
        raise _unknown_name(given)
    if is_rdf(path):
        return Inputs("nodes", graph_file=path)
    if is_table(path):
        return Inputs("links", triple_files={"train": path})
    if not path.exists():
        raise DataError("there is no such file or folder", where=str(path), remedy="Check the path.")
    raise DataError(
        f"unknown extension {kind_of(path)!r}",
        where=str(path),
        remedy=f"Known are {', '.join(RDF_FORMATS)} for RDF and {', '.join(TABLE_EXTENSIONS)} for tables of triples, "
        "each also with .gz.",
    )


def _with_own_splits(
    inputs: Inputs, valid: str | Path | None, test: str | Path | None, source: str, *, single: bool
) -> Inputs:
    """``single``: the inputs are one file, which then holds the training triples."""
    if not single:
        raise DataError(
            "validation and test triples go with a single file of training triples",
            where=source,
            remedy="Leave --valid and --test out, or name the file of the training triples.",
        )
    (train,) = inputs.files().values()
    files = {"train": train}
    files |= {split: Path(path).expanduser() for split, path in (("valid", valid), ("test", test)) if path is not None}
    return Inputs("links", triple_files=files, options=inputs.options)


def _with_own_labels(inputs: Inputs, labels: str | Path | None, test_labels: str | Path | None, source: str) -> Inputs:
    if labels is None and test_labels is None:
        triples = [inputs.graph_file] if inputs.graph_file is not None else list(inputs.triple_files.values())
        if inputs.options.columns is not None and all(is_rdf(path) for path in triples):
            raise DataError("columns are for tables of triples", where=source, remedy="Leave them out for RDF.")
        return inputs
    if labels is None:
        raise DataError("test labels without training labels", where=source, remedy="Give them with --labels FILE.")
    graph_file = inputs.graph_file
    if inputs.task == "links":
        if list(inputs.triple_files) != ["train"]:
            raise DataError(
                "this is a set for link prediction, which takes no labels",
                where=source,
                remedy="Leave the labels out, or name the one table that is the graph.",
            )
        graph_file = inputs.triple_files["train"]
    files = {"train": Path(labels).expanduser()}
    if test_labels is not None:
        files["test"] = Path(test_labels).expanduser()
    return Inputs("nodes", graph_file=graph_file, label_files=files, options=inputs.options)


def _unknown_name(name: str) -> DataError:
    from brgcn.data import catalogue

    near = catalogue.nearest(name)
    return DataError(
        f"there is no data set, file or folder {name!r}" + (f"; did you mean {near!r}?" if near else ""),
        remedy=f"Known data sets: {', '.join(catalogue.names())}. Or give the path of a folder, an RDF file or a table "
        "of triples.",
    )


def _plain_name(path: Path) -> str:
    """``graph`` for ``folder/graph.nt.gz``, ``folder`` for ``folder``."""
    return path.resolve().name if path.is_dir() else Path(path.name.removesuffix(".gz")).stem


# ---------------------------------------------------------------------- reading them


def _read_nodes(inputs: Inputs, progress: bool) -> Dataset:
    options = inputs.options
    named_graph, dropped, warnings = _read_graph(inputs, progress)
    warnings += warn_of_unused_drops(options.drop_relations, dropped)

    def table(path: Path) -> LabelTable:
        return read_label_table(
            path, named_graph.find_nodes, node_column=options.node_column, label_column=options.label_column
        )

    if inputs.all_labels_file is not None:
        tables = split_table_by_hash(table(inputs.all_labels_file), options.split_fractions)
    else:
        tables = {split: table(path) for split, path in inputs.label_files.items()}
    splits, label_names, about_labels = node_splits(named_graph, tables)
    return Dataset("", "nodes", named_graph, splits, label_names, {}, "", "", (*warnings, *about_labels))


def _read_graph(inputs: Inputs, progress: bool) -> tuple[NamedGraph, frozenset[str], list[str]]:
    """The graph of a node task, the dropped relations that occurred, and warnings."""
    path = inputs.graph_file
    assert path is not None  # every node task has one
    if is_rdf(path):
        content = read_rdf(path, inputs.options.all_drops, progress=progress)
        return content.named_graph(), content.dropped, list(content.warnings)
    named_graph, reader = read_triple_table(
        path, columns=inputs.options.columns, drop_relations=inputs.options.all_drops, progress=progress
    )
    return named_graph, frozenset(reader.dropped), reader.warnings


def _read_links(inputs: Inputs, progress: bool) -> Dataset:
    reader = TripleReader(inputs.options.columns, inputs.options.all_drops)
    triples = {split: reader.read(path, progress=progress) for split, path in inputs.triple_files.items()}
    return link_dataset(reader, triples, inputs.options.drop_relations)


def link_dataset(reader: TripleReader, triples: dict[str, Tensor], drop_relations: Sequence[str]) -> Dataset:
    """The data set of triples per split; its graph has the training triples over all entities and relations."""
    warnings = [*reader.warnings, *warn_of_unused_drops(drop_relations, reader.dropped)]
    untrained = len(reader.relations) - triples["train"][:, 1].unique().numel()
    if untrained:
        warnings.append(f"{untrained} of {len(reader.relations)} relations have no training triple")
    named_graph = reader.named_graph(triples["train"])
    return Dataset("", "links", named_graph, {}, (), triples, "", "", tuple(warnings))
