"""A bench for bad input: files to spoil, a trained run folder, and the preparations that take more than a line."""

from __future__ import annotations

import gzip
import os
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from toys import EX

PEOPLE = 12
QUICK = ["--epochs", "2", "--no-figure"]


@dataclass(frozen=True)
class Bench:
    """A folder with a graph, its labels and run folders to spoil; ``/`` is the path of something in it."""

    folder: Path
    trained: Path  # stays as it is for the other tests

    def __truediv__(self, name: str) -> Path:
        return self.folder / name

    @property
    def graph(self) -> Path:
        return self / "toy/graph.nt"

    @property
    def labels(self) -> Path:
        return self / "toy/trainingSet.tsv"

    def write(self, name: str, content: str | bytes) -> str:
        path = self / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    def run(self, kind: str = "finished") -> Path:
        """A copy of a run folder: finished (two runs), halfway or rgcn."""
        return Path(shutil.copytree(self.trained / kind, self / "old"))

    def train(self, *more: object) -> list[str]:
        """Train on the folder of the bench."""
        return ["train", str(self / "toy"), *QUICK, "--out", str(self / "out"), *map(str, more)]

    def train_on(self, graph: object, *more: object) -> list[str]:
        """Train on another graph with the bench's labels, unless there are others."""
        labels = () if "--labels" in more else ("--labels", self.labels)
        return ["train", str(graph), *QUICK, "--out", str(self / "out"), *map(str, (*labels, *more))]

    def labelled(self, table: str | bytes, *more: object, name: str = "labels.tsv") -> list[str]:
        """Train with another table of labels."""
        return self.train_on(self.graph, "--labels", self.write(name, table), *more)


@dataclass(frozen=True)
class Kind:
    name: str
    prepare: Callable[[Bench], list[object]]  # spoils something and gives the command line
    says: tuple[str, ...]  # HERE stands for the folder of the bench
    code: int = 1
    begins: bool = False  # training begins before it fails, so the run folder changes
    not_as_root: bool = False  # root may read and write everything


def edited(path: Path, edit: Callable[[bytes], bytes]) -> Path:
    path.write_bytes(edit(path.read_bytes()))
    return path


def half(data: bytes) -> bytes:
    return data[: len(data) // 2]


# ---------------------------------------------------------------------- preparations that take more than a line


def not_gzip(bench: Bench) -> list[object]:
    return bench.train_on(bench.write("graph.nt.gz", "this is no gzip, and no N-Triples either\n"))


def cut_gzip(bench: Bench) -> list[object]:
    return bench.train_on(bench.write("graph.nt.gz", half(gzip.compress(bench.graph.read_bytes()))))


def zipped(bench: Bench) -> list[object]:
    with zipfile.ZipFile(bench / "graph.nt", "w") as archive:
        archive.write(bench.graph, "graph.nt")
    return bench.train_on(bench / "graph.nt")


def broken_line(bench: Bench) -> list[object]:
    lines = bench.graph.read_text().splitlines()
    lines[4] = f"<{EX}p0> <{EX}likes> <{EX}with a blank> ."
    return bench.train_on(bench.write("graph.nt", "\n".join(lines)))


def broken_utf8_in_rdf(bench: Bench) -> list[object]:
    lines = bench.graph.read_bytes().splitlines()
    lines[2] = f'<{EX}p0> <{EX}name> "Andr'.encode() + b'\xe9" .'
    return bench.train_on(bench.write("graph.nt", b"\n".join(lines)))


def cut_rdf_xml(bench: Bench) -> list[object]:
    text = '<?xml version="1.0"?>\n<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">\n<rdf:Description'
    return bench.train_on(bench.write("graph.rdf", text))


def two_graphs(bench: Bench) -> list[object]:
    shutil.copy(bench.graph, bench / "toy/other.nt")
    return bench.train()


def only_notes(bench: Bench) -> list[object]:
    bench.write("nothing/notes.md", "nothing to see")
    return ["train", bench / "nothing"]


def links(bench: Bench) -> list[object]:
    bench.write("links/train.txt", "a\tknows\tb\nb\tknows\tc\n")
    return ["train", bench / "links", "--task", "nodes"]


def two_labels(bench: Bench) -> list[object]:
    return bench.labelled(f"who\tlabel\n{EX}p0\tred\n{EX}p1\tgreen\n{EX}p0\tblue\n")


def out_below_a_file(bench: Bench) -> list[object]:
    return [*bench.train(), "--out", bench.write("file", "text") + "/below/it"]


def out_is_a_file(bench: Bench) -> list[object]:
    return [*bench.train(), "--out", bench.write("file", "text")]


def out_has_other_things(bench: Bench) -> list[object]:
    bench.write("precious/photo.jpg", "!")
    return [*bench.train(), "--out", bench / "precious", "--overwrite"]


def resume_spoilt(
    file: str, edit: Callable[[bytes], bytes] | None, kind: str = "halfway"
) -> Callable[[Bench], list[object]]:
    """Continue a run folder one file of which was edited, or removed (None)."""

    def prepare(bench: Bench) -> list[object]:
        old = bench.run(kind)
        (old / file).unlink() if edit is None else edited(old / file, edit)
        return ["train", "--resume", old]

    return prepare


def use_spoilt(command: str, file: str, edit: Callable[[bytes], bytes] | None) -> Callable[[Bench], list[object]]:
    """Use a finished run folder one file of which was edited, or removed (None)."""

    def prepare(bench: Bench) -> list[object]:
        old = bench.run()
        (old / file).unlink() if edit is None else edited(old / file, edit)
        return [command, old]

    return prepare


def pipe(bench: Bench) -> list[object]:
    os.mkfifo(bench / "graph.nt")
    return bench.train_on(bench / "graph.nt")


def closed(path: Path, mode: int) -> Path:
    path.chmod(mode)
    return path


def new_folder(bench: Bench, name: str) -> Path:
    (bench / name).mkdir()
    return bench / name


def never_began(bench: Bench) -> list[object]:
    (bench.run() / "run.json").unlink()
    return ["train", "--resume", bench / "old"]


def weights_of_other_settings(bench: Bench) -> list[object]:
    edited(bench.run() / "settings.yaml", lambda text: text.replace(b"hidden: 16", b"hidden: 8"))
    return ["evaluate", bench / "old"]


def swapped_files(bench: Bench) -> list[object]:
    shutil.copy(bench.run() / "graph.safetensors", bench / "old/runs/00/weights.safetensors")
    return ["predict", bench / "old"]
