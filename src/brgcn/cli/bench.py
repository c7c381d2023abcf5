"""``brgcn bench``."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brgcn.cli.console import print_json, say, stderr
from brgcn.cli.inputs import DataDir
from brgcn.errors import BrgcnError, SettingsError

if TYPE_CHECKING:
    from rich.table import Table

    from brgcn.bench import BenchGraph
    from brgcn.bench.tables import TextTable

_DEFAULT = ["aifb", "mutag"]
_BACKENDS = ("auto", "torch", "numba", "triton")


def register(app: typer.Typer) -> None:
    app.command("bench")(bench)


def bench(
    datasets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[DATASETS]...",
            help="Names from `brgcn data list`, or folders with a graph and labels; else aifb and mutag.",
            show_default=False,
        ),
    ] = None,
    device: Annotated[str, typer.Option(metavar="NAME", help="auto, cpu or cuda.")] = "auto",
    parts: Annotated[
        str, typer.Option(metavar="A,B", help="What to measure, separated by commas.")
    ] = "epoch,layer,growth,loading",
    loading: Annotated[bool, typer.Option(help="Time the reading of the files too.")] = True,
    backend: Annotated[
        str, typer.Option(metavar="NAME", help="Of our operators: auto, torch, numba or triton.")
    ] = "auto",
    threads: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Threads of the CPU; else torch's.", show_default=False)
    ] = None,
    seconds: Annotated[float, typer.Option(metavar="S", min=0, help="For the repetitions of one row.")] = 5.0,
    limit: Annotated[float, typer.Option(metavar="S", min=1, help="Give a row up after so many seconds.")] = 120.0,
    quick: Annotated[
        bool, typer.Option("--quick", help="A few repetitions on tiny random graphs, to see that all works.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="For bench.json and bench.png; else a new folder here.", show_default=False),
    ] = None,
    data_dir: DataDir = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")] = False,
) -> None:
    """Time this package against PyG's relational layers: epochs, single layers, growth, loading.

    Needs torch-geometric and rdflib: pip install 'brgcn[bench]'.

    \b
    Examples:
      brgcn bench
      brgcn bench mutag --parts epoch,layer --device cuda --out bench-mutag
    """
    chosen = _parts(parts, loading)
    if backend not in _BACKENDS:
        raise SettingsError(f"unknown backend {backend!r}", remedy=f"Use {', '.join(_BACKENDS)}.")
    names = list(dict.fromkeys(datasets or _DEFAULT))
    out = out or Path(f"bench-{time.strftime('%Y%m%d-%H%M%S')}")
    if out.exists() and not out.is_dir():
        raise BrgcnError("this is a file, but a folder is needed", where=str(out), remedy="Choose another --out.")

    import torch

    from brgcn.bench import Budget
    from brgcn.bench import bench as run
    from brgcn.bench.figure import draw
    from brgcn.bench.loading import source_of
    from brgcn.bench.pyg_layers import library
    from brgcn.bench.run import check_backend
    from brgcn.tasks.device import pick_device
    from brgcn.tasks.run_files import write_json

    place = pick_device(device)
    library()  # that it is missing is said before anything is read
    forced = None if backend == "auto" else backend
    check_backend(forced, place)
    if threads is not None:
        torch.set_num_threads(threads)
    needs_graphs = {"epoch", "layer", "loading"} & set(chosen)  # to load them once also says early what is wrong
    graphs = [_graph(name, data_dir) for name in names] if needs_graphs else []
    sources = [source_of(name, data_dir) for name in names] if "loading" in chosen else []
    with _progress() as tell:
        result = run(
            graphs,
            place,
            parts=chosen,
            sources=[source for source in sources if source is not None],
            backend=forced,
            budget=None if quick else Budget(seconds=seconds, limit=limit),
            quick=quick,
            tell=tell,
        )
    write_json(out / "bench.json", result)
    figure = draw(result, out / "bench.png")
    if as_json:
        print_json({**result, "out": str(out), "figure": str(figure) if figure else None})
        return
    _show(result)
    say(f"result  {out / 'bench.json'}")
    if figure:
        say(f"figure  {figure}")


def _parts(text: str, loading: bool) -> list[str]:
    known = ("epoch", "layer", "growth", "loading")
    parts = [part.strip() for part in text.split(",") if part.strip()]
    for part in parts:
        if part not in known:
            raise SettingsError(f"there is no part {part!r}", remedy=f"Parts are {', '.join(known)}.")
    parts = [part for part in parts if loading or part != "loading"]
    if not parts:
        raise SettingsError("nothing is left to measure", remedy=f"Parts are {', '.join(known)}.")
    return parts


def _graph(name: str, data_dir: Path | None) -> BenchGraph:
    from brgcn.bench import BenchGraph
    from brgcn.data import load_dataset
    from brgcn.tasks import NodeSettings
    from brgcn.tasks.node_runs import check_trainable
    from brgcn.tasks.training import prepare_graph

    data = load_dataset(name, data_dir=data_dir, progress=True)
    check_trainable(data)
    train = data.splits["train"]
    return BenchGraph(data.name, prepare_graph(data.graph, NodeSettings()), train.nodes, train.labels, data.num_classes)


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """One line that says what is measured; nothing where standard error is no terminal."""
    console = stderr()
    if not console.is_terminal:
        yield lambda text: None
        return
    with console.status("") as status:
        yield lambda text: status.update(text)


def _show(result: dict[str, Any]) -> None:
    from brgcn.bench.tables import tables
    from brgcn.cli.data_views import print_out

    for table in tables(result):
        print_out(_rich(table))
    print_out(f"copy rate of the machine: {result['copy_rate_gb_s']:,.0f} GB/s")


def _rich(table: TextTable) -> Table:
    from rich.markup import escape
    from rich.table import Table

    shown = Table(title=table.title, title_justify="left")
    words = ("library", "layer", "layer or model", "data set", "route", "time", "graph", "bar", "target", "reached", "")
    used = [place for place, title in enumerate(table.header) if title or any(cells[place] for cells in table.rows)]
    for place in used:
        title = table.header[place]
        shown.add_column(title, justify="left" if title in words else "right", overflow="fold")
    for cells, own in zip(table.rows, table.own, strict=True):
        shown.add_row(*(escape(cells[place]) for place in used), style="bold" if own else None)
    return shown
