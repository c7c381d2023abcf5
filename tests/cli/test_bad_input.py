"""Bad input to the command line, one kind after another, each with what its message must say.

Every message tells what is wrong, where (the file, and the line where there is one), and what to do. Nothing is left
behind: whatever lay in the folder before lies there afterwards, and nothing else.
"""

from __future__ import annotations

import errno
import gzip
import json
import os
import shutil
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError
from toys import EX, toy_folder

from brgcn.cli import main
from brgcn.data import load_dataset
from brgcn.errors import DataError
from brgcn.tasks import NodeSettings, RunFolder, train_runs

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
    return ["train", bench / "links"]


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


# ---------------------------------------------------------------------- the table

USAGE = [
    Kind("unknown command", lambda b: ["trian", "mutag"], ("No such command 'trian'",), 2),
    Kind("unknown option", lambda b: b.train("--epoch", "3"), ("No such option", "--epoch"), 2),
    Kind("a word for a number", lambda b: b.train("--runs", "ten"), ("Invalid value for '--runs'", "integer"), 2),
    Kind("no runs", lambda b: b.train("--runs", "0"), ("Invalid value for '--runs'", "1"), 2),
    Kind("seed below zero", lambda b: b.train("--seed", "-1"), ("Invalid value for '--seed'", "0"), 2),
    Kind("seed beyond 32 bits", lambda b: b.train("--seed", 2**32), ("Invalid value for '--seed'", str(2**32 - 1)), 2),
    Kind(
        "time that runs backwards",
        lambda b: b.train("--checkpoint-every", "-1"),
        ("Invalid value for '--checkpoint-every'",),
        2,
    ),
    Kind("option without its value", lambda b: ["train", "--out"], ("--out", "requires an argument"), 2),
    Kind("no run folder named", lambda b: ["evaluate"], ("Missing argument 'DIR'",), 2),
    Kind("one argument too many", lambda b: b.train("again"), ("unexpected extra argument"), 2),
]
GRAPHS = [
    Kind(
        "no such graph", lambda b: b.train_on(b / "gone.nt"), ("HERE/gone.nt: there is no such file", "Check the path")
    ),
    Kind("no such folder", lambda b: b.train_on(b / "gone"), ("HERE/gone: there is no such file or folder", "Check")),
    Kind(
        "folder named like a graph",
        lambda b: b.train_on(new_folder(b, "g.nt")),
        ("HERE/g.nt", "the folder holds no data set"),
    ),
    Kind("empty graph", lambda b: b.train_on(b.write("graph.nt", "")), ("HERE/graph.nt: the file is empty",)),
    Kind(
        "graph of comments only",
        lambda b: b.train_on(b.write("graph.nt", "# nothing\n")),
        ("the file holds no triples",),
    ),
    Kind("gzip cut short", cut_gzip, ("HERE/graph.nt.gz: the gzip data is damaged or cut short",)),
    Kind("not gzip, but called so", not_gzip, ("HERE/graph.nt.gz, line 1: not valid N-Triples",)),
    Kind("zip archive", zipped, ("HERE/graph.nt: this is a zip archive", "Unpack it")),
    Kind("unknown extension", lambda b: b.train_on(b.write("graph.xlsx", "x")), ("unknown extension '.xlsx'", ".nt")),
    Kind("syntax error in N-Triples", broken_line, ("HERE/graph.nt, line 5: not valid N-Triples",)),
    Kind(
        "syntax error in Turtle",
        lambda b: b.train_on(b.write("g.ttl", "@prefix : <urn:> .\n:a :b :c .\n:a :b ;;\n")),
        ("HERE/g.ttl, line 3",),
    ),
    Kind("RDF/XML cut short", cut_rdf_xml, ("HERE/graph.rdf, line 3: not well-formed XML",)),
    Kind(
        "Turtle called N-Triples",
        lambda b: b.train_on(b.write("g.nt", "@prefix : <urn:> .\n:a :b :c .\n")),
        ("HERE/g.nt, line 1",),
    ),
    Kind("broken UTF-8 in RDF", broken_utf8_in_rdf, ("HERE/graph.nt, line 3", "UTF-8")),
    Kind(
        "broken UTF-8 in a table of triples",
        lambda b: b.train_on(b.write("g.tsv", b"a\tb\tc\na\tb\t\xff\n")),
        ("HERE/g.tsv, line 2", "UTF-8"),
    ),
    Kind(
        "UTF-16 table of triples",
        lambda b: b.train_on(b.write("g.tsv", "a\tb\tc\n".encode("utf-16"))),
        ("HERE/g.tsv: the text is UTF-16", "UTF-8"),
    ),
    Kind(
        "binary table of triples",
        lambda b: b.train_on(b.write("g.tsv", b"a\0b\tc\td\n")),
        ("HERE/g.tsv, line 1: this is not a text file",),
    ),
    Kind(
        "triples of two columns",
        lambda b: b.train_on(b.write("g.tsv", "a\tb\nc\td\n")),
        ("HERE/g.tsv, line 1", "2 columns"),
    ),
    Kind(
        "triple without a tail",
        lambda b: b.train_on(b.write("g.tsv", "a\tb\tc\na\tb\t\n")),
        ("HERE/g.tsv, line 2", "column 3 is empty"),
    ),
    Kind(
        "quote never closed",
        lambda b: b.train_on(b.write("g.csv", 'a,b,c\na,b,"c\n')),
        ("HERE/g.csv, line 2", "quotes"),
    ),
    Kind(
        "line ends of old Macs",
        lambda b: b.train_on(b.write("g.csv", "a,b,c\rd,e,f\r")),
        ("HERE/g.csv", "carriage return", "Save the table"),
    ),
    Kind(
        "one cell as large as a book",
        lambda b: b.train_on(b.write("g.txt", "x" * 200_000)),
        ("HERE/g.txt, line 1: not valid CSV",),
    ),
    Kind("pipe", pipe, ("HERE/graph.nt: this is a pipe", "Write the data to a file")),
    Kind(
        "graph that may not be read",
        lambda b: b.train_on(closed(b.graph, 0)),
        ("HERE/toy/graph.nt: permission denied",),
        not_as_root=True,
    ),
    Kind(
        "all relations dropped",
        lambda b: b.train_on(b.write("g.nt", "<urn:a> <urn:r> <urn:b> .\n"), "--drop-relation", "urn:r"),
        ("HERE/g.nt: the file holds no triples", "dropped"),
    ),
    Kind(
        "RDF-star",
        lambda b: b.train_on(b.write("g.ttl", "<urn:x> <urn:says> <<( <urn:a> <urn:b> <urn:c> )>> .\n")),
        ("HERE/g.ttl", "a triple about a triple"),
    ),
    Kind(
        "two RDF files in the folder",
        two_graphs,
        ("HERE/toy: the folder has 2 RDF files: graph.nt, other.nt", "Name one"),
    ),
    Kind(
        "nothing usable in the folder",
        only_notes,
        ("HERE/nothing: the folder holds no data set", "notes.md", "Expected"),
    ),
    Kind("empty folder", lambda b: ["train", new_folder(b, "void")], ("HERE/void", "it is empty")),
    Kind(
        "known data to predict links",
        lambda b: ["train", "fb15k"],
        ("fb15k holds triples to predict links", "brgcn data list"),
    ),
    Kind("data to predict links", links, ("links holds triples to predict links", "--labels")),
    Kind("graph without labels", lambda b: ["train", b.graph], ("no training labels", "--labels FILE")),
    Kind(
        "unknown data set",
        lambda b: ["train", "mutagg"],
        ("no data set, file or folder 'mutagg'", "did you mean 'mutag'?"),
    ),
    Kind("unknown data set to fetch", lambda b: ["data", "fetch", "aif"], ("'aif'", "did you mean 'aifb'?")),
    Kind(
        "inspect a missing file",
        lambda b: ["data", "inspect", b / "gone.ttl"],
        ("HERE/gone.ttl: there is no such file",),
    ),
    Kind("no data set named", lambda b: ["train"], ("no data set was named", "brgcn data list")),
]
LABELS = [
    Kind(
        "no such labels",
        lambda b: b.train_on(b.graph, "--labels", b / "gone.tsv"),
        ("HERE/gone.tsv: there is no such file",),
    ),
    Kind(
        "labels are a folder",
        lambda b: b.train_on(b.graph, "--labels", b / "toy"),
        ("HERE/toy: this is a folder", "Name a file"),
    ),
    Kind("empty labels", lambda b: b.labelled(""), ("HERE/labels.tsv: the file is empty",)),
    Kind(
        "labels of a header only", lambda b: b.labelled("who\tlabel\n"), ("HERE/labels.tsv: the table has no labels",)
    ),
    Kind(
        "labels of one column", lambda b: b.labelled(f"{EX}p0\n{EX}p1\n"), ("HERE/labels.tsv", "at least two columns")
    ),
    Kind(
        "label column not clear",
        lambda b: b.labelled(f"who\tage\tsize\n{EX}p0\t1\t2\n{EX}p1\t3\t4\n"),
        ("HERE/labels.tsv", "not clear", "who, age, size", "--label-column"),
    ),
    Kind(
        "misspelt --node-column",
        lambda b: b.train_on(b.graph, "--node-column", "persn"),
        ("trainingSet.tsv: there is no column 'persn'; did you mean 'person'?", "label_kind"),
    ),
    Kind(
        "misspelt --label-column",
        lambda b: b.train_on(b.graph, "--label-column", "label_king"),
        ("did you mean 'label_kind'?",),
    ),
    Kind(
        "column number out of range",
        lambda b: b.train_on(b.graph, "--label-column", "7"),
        ("there is no column 7", "0 to 1"),
    ),
    Kind(
        "node column twice",
        lambda b: b.train_on(b.graph, "--node-column", "person", "--label-column", "person"),
        ("are the same",),
    ),
    Kind(
        "row with too few columns",
        lambda b: b.labelled(f"who\tlabel\n{EX}p0\tred\n{EX}p1\n"),
        ("HERE/labels.tsv, line 3", "1 column"),
    ),
    Kind(
        "empty label",
        lambda b: b.labelled(f"who\tlabel\n{EX}p0\tred\n{EX}p1\t\n"),
        ("HERE/labels.tsv, line 3: the label is empty",),
    ),
    Kind(
        "one class only",
        lambda b: b.labelled(f"who\tlabel\n{EX}p0\tred\n{EX}p1\tred\n"),
        ("HERE/labels.tsv: all 2 training nodes have the label red", "two classes"),
    ),
    Kind(
        "labels of another graph",
        lambda b: b.labelled("who\tlabel\nurn:x\tred\nurn:y\tblue\n"),
        ("HERE/labels.tsv", "urn:x", "belong to this graph"),
    ),
    Kind(
        "one node, two labels",
        two_labels,
        ("HERE/labels.tsv, line 4", f"{EX}p0 has two labels: red in line 2, blue in line 4"),
    ),
    Kind(
        "the graph given as labels",
        lambda b: b.train_on(b.graph, "--labels", b.graph),
        ("HERE/toy/graph.nt", "'.nt' for a table"),
    ),
    Kind(
        "broken UTF-8 in labels", lambda b: b.labelled(b"who\tlabel\n\xe9\tred\n"), ("HERE/labels.tsv, line 2", "UTF-8")
    ),
    Kind(
        "test labels alone",
        lambda b: ["train", b.graph, "--test-labels", b.labels],
        ("test labels without training labels", "--labels"),
    ),
    Kind(
        "labels cut in gzip",
        lambda b: b.labelled(half(gzip.compress(b.labels.read_bytes())), name="l.tsv.gz"),
        ("HERE/l.tsv.gz: the gzip data is damaged or cut short",),
    ),
]
SETTINGS = [
    Kind("unknown model", lambda b: b.train("--model", "brgnc"), ("--model", "brgcn-node", "'brgnc'")),
    Kind("unknown preset", lambda b: b.train("--preset", "papers"), ("unknown preset 'papers'", "paper")),
    Kind(
        "the paper has no R-GCN",
        lambda b: ["train", "aifb", "--model", "rgcn", "--preset", "paper"],
        ("no settings for rgcn on aifb", "--preset default"),
    ),
    Kind(
        "the paper has no such data",
        lambda b: b.train("--preset", "paper"),
        ("the paper gives no settings", "aifb, am, bgs, mutag"),
    ),
    Kind(
        "unknown setting",
        lambda b: b.train("--set", "hiden=8"),
        ("--set: unknown setting 'hiden'", "Did you mean hidden?"),
    ),
    Kind(
        "setting of the wrong type",
        lambda b: b.train("--set", "hidden=wide"),
        ("--set: hidden must be a whole number, not 'wide'",),
    ),
    Kind("setting without =", lambda b: b.train("--set", "hidden"), ("--set 'hidden'", "key=value", "--set hidden=32")),
    Kind("setting out of range", lambda b: b.train("--set", "dropout=1.5"), ("--set: dropout must", "1.5")),
    Kind(
        "setting not a number",
        lambda b: b.train("--set", "learning_rate=nan"),
        ("--set: learning_rate must be above 0", "nan"),
    ),
    Kind(
        "setting is a date that is none",
        lambda b: b.train("--set", "hidden=2020-99-99"),
        ("--set: hidden must be a whole number",),
    ),
    Kind(
        "setting beyond counting",
        lambda b: b.train("--set", f"hidden={10**400}"),
        ("--set: hidden must be at most 1,000,000,000",),
    ),
    Kind(
        "learning rate beyond floats",
        lambda b: b.train("--set", "learning_rate=1e38"),
        ("--set: learning_rate must be at most",),
    ),
    Kind("setting is a list", lambda b: b.train("--set", "hidden=[1"), ("--set: hidden must be a whole number",)),
    Kind(
        "no such config",
        lambda b: b.train("--config", b / "gone.yaml"),
        ("HERE/gone.yaml: there is no such file", "Check the path"),
    ),
    Kind("config is a folder", lambda b: b.train("--config", b / "toy"), ("HERE/toy: this is a folder",)),
    Kind(
        "bad YAML",
        lambda b: b.train("--config", b.write("c.yaml", "hidden: 8\nheads: [1\n")),
        ("HERE/c.yaml, line", "key: value"),
    ),
    Kind(
        "config is a list",
        lambda b: b.train("--config", b.write("c.yaml", "- hidden\n- 8\n")),
        ("HERE/c.yaml", "key: value"),
    ),
    Kind(
        "unknown key in a config",
        lambda b: b.train("--config", b.write("c.yaml", "hidden: 8\nepoch: 3\n")),
        ("HERE/c.yaml: unknown setting 'epoch'", "Did you mean epochs?"),
    ),
    Kind(
        "broken UTF-8 in a config",
        lambda b: b.train("--config", b.write("c.yaml", b"# a\nhidden: 8 # \xe9\n")),
        ("HERE/c.yaml, line 2", "UTF-8"),
    ),
    Kind(
        "a date that is none in a config",
        lambda b: b.train("--config", b.write("c.yaml", "hidden: 2020-99-99\n")),
        ("HERE/c.yaml", "not valid YAML"),
    ),
    Kind("no epochs", lambda b: b.train("--epochs", "0"), ("--epochs: epochs must be at least 1, not 0",)),
    Kind("fewer than no epochs", lambda b: b.train("--epochs", "-1"), ("--epochs: epochs must be at least 1, not -1",)),
    Kind("unknown device", lambda b: b.train("--device", "gpu"), ("unknown device 'gpu'", "auto, cpu or cuda")),
    Kind("device that torch knows, but nobody has", lambda b: b.train("--device", "meta"), ("unknown device 'meta'",)),
    Kind(
        "CUDA where there is none",
        lambda b: b.train("--device", "cuda"),
        ("no CUDA device can be used here", "--device cpu"),
    ),
    Kind(
        "loss beyond all bounds",
        lambda b: b.train("--set", "learning_rate=1e9", "--set", "layers=4", "--epochs", "9"),
        ("the loss became", "Lower learning_rate"),
        begins=True,
    ),
    Kind(
        "wider than memory",
        lambda b: b.train("--set", "hidden=1000000000", "--set", "bases=0", "--set", "heads=1000000"),
        ("there is not enough memory", "--set hidden=16"),
        begins=True,
    ),
]
RUNS = [
    Kind(
        "--out is there already",
        lambda b: [*b.train(), "--out", b.run()],
        ("HERE/old: the folder exists already", "--resume HERE/old", "--overwrite"),
    ),
    Kind(
        "--out is a file", out_is_a_file, ("HERE/file: this is a file, but a folder is needed", "Choose another --out")
    ),
    Kind("--out below a file", out_below_a_file, ("HERE/file", "Choose another --out")),
    Kind(
        "--out is a folder of other things",
        lambda b: [*b.train(), "--out", b / "toy"],
        ("HERE/toy: the folder exists already", "Choose another --out."),
    ),
    Kind(
        "--out may not be written",
        lambda b: [*b.train(), "--out", closed(new_folder(b, "shut"), 0o555) / "it"],
        ("HERE/shut", "may not be written to", "Choose another --out"),
        not_as_root=True,
    ),
    Kind(
        "--overwrite of something else",
        out_has_other_things,
        ("HERE/precious", "--overwrite replaces run folders only"),
    ),
    Kind("resume nothing", lambda b: ["train", "--resume", b / "gone"], ("HERE/gone: there is no such folder",)),
    Kind(
        "resume what is no run folder",
        lambda b: ["train", "--resume", b / "toy"],
        ("HERE/toy: this is not a run folder",),
    ),
    Kind("resume what never began", never_began, ("HERE/old: training was stopped before it began", "train again")),
    Kind(
        "resume with a data set",
        lambda b: ["train", "mutag", "--resume", b.run()],
        ("takes the data set from the run folder", "Leave 'mutag' out"),
    ),
    Kind(
        "resume with other settings",
        lambda b: ["train", "--resume", b.run("halfway"), "--set", "hidden=4"],
        ("--resume", "--set"),
    ),
    Kind(
        "damaged checkpoint",
        resume_spoilt("checkpoint.safetensors", half),
        ("HERE/old/checkpoint.safetensors: damaged", "Remove it; brgcn train --resume HERE/old then begins anew"),
    ),
    Kind(
        "empty checkpoint",
        resume_spoilt("checkpoint.safetensors", lambda _: b""),
        ("HERE/old/checkpoint.safetensors: the file is empty", "Remove it"),
    ),
    Kind(
        "checkpoint of other settings",
        resume_spoilt("settings.yaml", lambda text: text.replace(b"hidden: 16", b"hidden: 8")),
        ("HERE/old/checkpoint.safetensors: the checkpoint does not fit the settings", "Remove it"),
        begins=True,
    ),
    Kind(
        "CUDA was there, and is no more",
        resume_spoilt("run.json", lambda text: text.replace(b'"cpu"', b'"cuda"')),
        ("no CUDA device can be used here", "--device cpu"),
    ),
    Kind(
        "damaged settings.yaml",
        resume_spoilt("settings.yaml", lambda text: text + b"]["),
        ("HERE/old/settings.yaml, line", "not valid YAML", "train again"),
    ),
    Kind(
        "settings.yaml of another version",
        resume_spoilt("settings.yaml", lambda text: text + b"colour: red\n"),
        ("HERE/old/settings.yaml: unknown setting 'colour'",),
    ),
    Kind(
        "missing settings.yaml",
        resume_spoilt("settings.yaml", None),
        ("HERE/old/settings.yaml: there is no such file", "train again"),
    ),
    Kind(
        "missing graph",
        resume_spoilt("graph.safetensors", None),
        ("HERE/old/graph.safetensors: there is no such file", "train again"),
    ),
    Kind(
        "damaged graph",
        resume_spoilt("graph.safetensors", half),
        ("HERE/old/graph.safetensors: damaged", "train again"),
    ),
    Kind(
        "missing labels",
        resume_spoilt("labels.tsv", None),
        ("HERE/old/labels.tsv: the file cannot be read", "train again"),
    ),
    Kind("labels cut", resume_spoilt("labels.tsv", half), ("HERE/old/labels.tsv, line", "damaged or cut short")),
    Kind(
        "labels of no node",
        resume_spoilt("labels.tsv", lambda text: text.replace(b"\n", b"\n99", 1)),
        ("HERE/old/labels.tsv, line 2: the labels are damaged",),
    ),
    Kind("run.json is no JSON", resume_spoilt("run.json", half), ("HERE/old/run.json: not valid JSON", "train again")),
    Kind(
        "foreign run.json",
        resume_spoilt("run.json", lambda _: b'{"name": "a run of something else"}'),
        ("HERE/old/run.json: this is not the run.json of a run folder",),
    ),
    Kind(
        "run.json lacks its seeds",
        resume_spoilt("run.json", lambda text: text.replace(b'"seeds"', b'"sedes"')),
        ("HERE/old/run.json", "seeds"),
    ),
    Kind(
        "damaged result",
        resume_spoilt("result.json", half, "finished"),
        ("HERE/old/result.json: not valid JSON", "train again"),
    ),
    Kind("evaluate nothing", lambda b: ["evaluate", b / "gone"], ("HERE/gone: there is no such folder", "brgcn train")),
    Kind(
        "evaluate before the first run is done",
        lambda b: ["evaluate", b.run("halfway")],
        ("HERE/old: no run is finished yet", "--resume HERE/old"),
    ),
    Kind(
        "damaged weights",
        use_spoilt("evaluate", "runs/00/weights.safetensors", half),
        ("HERE/old/runs/00/weights.safetensors: damaged", "train again"),
    ),
    Kind(
        "missing weights",
        use_spoilt("predict", "runs/00/weights.safetensors", None),
        ("HERE/old/runs/00/weights.safetensors: there is no such file",),
    ),
    Kind(
        "weights of other settings",
        weights_of_other_settings,
        ("HERE/old/runs/00/weights.safetensors: the weights do not fit",),
    ),
    Kind("a graph for weights", swapped_files, ("HERE/old/runs/00/weights.safetensors: this is not weights of brgcn",)),
    Kind("predict nothing", lambda b: ["predict", b / "gone"], ("HERE/gone: there is no such folder",)),
    Kind(
        "predict with a run that is not there",
        lambda b: ["predict", b.run(), "--run", "99"],
        ("HERE/old: there is no run 99", "Finished runs: 0, 1"),
    ),
    Kind(
        "unknown node",
        lambda b: ["predict", b.run(), "--node", EX + "nobody"],
        ("not in the graph", EX + "nobody", "--triples"),
    ),
    Kind("misspelt node", lambda b: ["predict", b.run(), "--node", "p1"], ("not in the graph: p1", "IRIs")),
    Kind(
        "empty list of nodes",
        lambda b: ["predict", b.run(), "--nodes", b.write("nodes.txt", "")],
        ("HERE/nodes.txt: the file is empty",),
    ),
    Kind(
        "list of blank nodes",
        lambda b: ["predict", b.run(), "--nodes", b.write("nodes.txt", "\n \n")],
        ("HERE/nodes.txt: the file names no node", "one node per line"),
    ),
    Kind(
        "no list of nodes",
        lambda b: ["predict", b.run(), "--nodes", b / "gone.txt"],
        ("HERE/gone.txt: there is no such file",),
    ),
    Kind(
        "broken UTF-8 in --nodes",
        lambda b: ["predict", b.run(), "--nodes", b.write("nodes.txt", b"a\n\xe9\n")],
        ("HERE/nodes.txt, line 2", "UTF-8"),
    ),
    Kind(
        "new triples of unknown relations only",
        lambda b: ["predict", b.run(), "--triples", b.write("new.nt", "<urn:a> <urn:r> <urn:b> .\n")],
        ("HERE/new.nt: no new node comes with these triples", "relations: urn:r"),
    ),
    Kind(
        "new triples without new nodes",
        lambda b: ["predict", b.run(), "--triples", b.write("new.nt", f"<{EX}p0> <{EX}likes> <{EX}red0> .\n")],
        ("HERE/new.nt: no new node comes with these triples", "--node"),
    ),
    Kind(
        "new triples cut short",
        lambda b: ["predict", b.run(), "--triples", b.write("new.nt", f"<{EX}new> <{EX}likes> <{EX}gr")],
        ("HERE/new.nt, line 1",),
    ),
    Kind(
        "new triples in a gzip cut short",
        lambda b: ["predict", b.run(), "--triples", b.write("new.nt.gz", half(gzip.compress(b.graph.read_bytes())))],
        ("HERE/new.nt.gz: the gzip data is damaged or cut short",),
    ),
    Kind(
        "predictions below a file",
        lambda b: ["predict", b.run(), "--out", b.write("file", "x") + "/p.tsv"],
        ("HERE/file: this is a file, but a folder is needed",),
    ),
    Kind(
        "predictions into a folder",
        lambda b: ["predict", b.run(), "--out", b / "toy"],
        ("HERE/toy: this is a folder, but a file is to be written",),
    ),
    Kind(
        "explain before the first run is done",
        lambda b: ["explain", b.run("halfway")],
        ("HERE/old: no run is finished yet", "--resume HERE/old"),
    ),
    Kind("explain nothing", lambda b: ["explain", b / "gone"], ("HERE/gone: there is no such folder",)),
    Kind("explain R-GCN", lambda b: ["explain", b.run("rgcn")], ("rgcn has no attention to show", "brgcn-node")),
    Kind(
        "explain an unknown node",
        lambda b: ["explain", b.run(), "--node", "urn:x"],
        ("not in the graph: urn:x", "IRIs"),
    ),
    Kind(
        "explain a run that is not there",
        lambda b: ["explain", b.run(), "--run", "99"],
        ("HERE/old: there is no run 99", "Finished runs: 0, 1"),
    ),
    Kind("a figure as text", lambda b: ["explain", b.run(), "--out", b / "a.txt"], (".txt", ".png, .svg, .pdf")),
    Kind(
        "a figure without extension",
        lambda b: ["explain", b.run(), "--out", b / "figure"],
        ("figure", ".png, .svg, .pdf"),
    ),
]
KINDS_OF_BAD_INPUT = [*USAGE, *GRAPHS, *LABELS, *SETTINGS, *RUNS]


# ---------------------------------------------------------------------- every kind of the table


@pytest.fixture(autouse=True)
def _as_on_a_small_machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("BRGCN_DATA", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    data = load_dataset(toy_folder(folder / "toy", PEOPLE), use_cache=False)
    train_runs(data, NodeSettings(epochs=2), folder / "finished", runs=2)
    train_runs(data, NodeSettings(epochs=2, model="rgcn"), folder / "rgcn")

    def stop(run: int, record: dict[str, object]) -> None:
        if record["epoch"] == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_runs(data, NodeSettings(epochs=5), folder / "halfway", checkpoint_seconds=0, listener=stop)
    return folder


@pytest.fixture
def bench(tmp_path: Path, trained: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    here = tmp_path / "here"
    toy_folder(here / "toy", PEOPLE)
    monkeypatch.chdir(here)
    monkeypatch.setenv("BRGCN_CACHE", str(tmp_path / "cache"))
    return Bench(here, trained)


def run(capsys: pytest.CaptureFixture[str], arguments: list[object]) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return int(stopped.value.code or 0), captured.out, captured.err


def tree(folder: Path) -> dict[str, bytes | None]:
    """Everything below a folder, with its content."""
    return {str(path.relative_to(folder)): _content(path) for path in folder.rglob("*")}


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() and os.access(path, os.R_OK) else None


def half_written(bench: Bench) -> list[Path]:
    return list(bench.folder.parent.rglob("*.part"))


@pytest.mark.parametrize("kind", KINDS_OF_BAD_INPUT, ids=lambda kind: kind.name)
def test_bad_input(kind: Kind, bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    if kind.not_as_root and os.geteuid() == 0:
        pytest.skip("root may do everything")
    arguments = kind.prepare(bench)
    before = tree(bench.folder)
    code, out, error = run(capsys, arguments)

    assert code == kind.code, error
    assert out == ""
    for part in kind.says:
        assert part.replace("HERE", str(bench.folder)) in error
    for ugly in ("Traceback", "defect of brgcn", "[Errno", "  \n"):
        assert ugly not in error
    if code == 1:
        assert "error: " in error
        assert "\n\n" not in error
        assert "\n  " in error or " must " in error, "a remedy stands below the message, or the message says it"
    after = tree(bench.folder)
    changed = {name for name in before.keys() | after.keys() if before.get(name, b"-") != after.get(name, b"-")}
    assert {Path(name).parts[0] for name in changed} <= ({"out", "old"} if kind.begins else set())
    assert not half_written(bench)


def test_there_are_enough_kinds() -> None:
    assert len({kind.name for kind in KINDS_OF_BAD_INPUT}) == len(KINDS_OF_BAD_INPUT) >= 40


def test_debug_shows_the_traceback(bench: Bench) -> None:
    for arguments in (["--debug", "train", "mutagg"], ["train", "mutagg", "--debug"]):
        with pytest.raises(DataError, match="did you mean 'mutag'"):
            main(arguments)


# ---------------------------------------------------------------------- what strikes in the middle


def test_interrupted_while_training(bench: Bench, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(RunFolder, "write_run", _raise(KeyboardInterrupt()))
        code, out, error = run(capsys, bench.train("--out", bench / "my run"))
    assert (code, out) == (130, "")
    assert f"Stopped. Continue with: brgcn train --resume '{bench / 'my run'}'\ninterrupted\n" in error
    assert "Traceback" not in error
    with monkeypatch.context() as patched:  # and once more
        patched.setattr(RunFolder, "write_run", _raise(KeyboardInterrupt()))
        code, _, error = run(capsys, ["train", "--resume", bench / "my run"])
    assert code == 130
    assert "Continue with: brgcn train --resume" in error
    code, out, _ = run(capsys, ["train", "--resume", bench / "my run", "--no-figure", "--json"])
    assert code == 0
    assert len(json.loads(out)["runs"]) == 1


def test_interrupted_before_training(bench: Bench, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    before = tree(bench.folder)
    for place in ("brgcn.data.loading.read_rdf", "brgcn.tasks.run_folder.write_labels"):
        with monkeypatch.context() as patched:
            patched.setattr(place, _raise(KeyboardInterrupt()))
            code, out, error = run(capsys, bench.train())
        assert (code, out) == (130, "")
        assert error.endswith("interrupted\n")
        assert "--resume" not in error  # there is nothing to continue
        assert tree(bench.folder) == before


def test_disk_full_while_training(bench: Bench, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(RunFolder, "write_run", _raise(_disk_full()))
        code, out, error = run(capsys, bench.train())
    assert (code, out) == (1, "")
    assert f"Continue with: brgcn train --resume {bench / 'out'}\n" in error
    assert "error: disk: there is no space left on the disk\n  Free some space" in error
    assert not half_written(bench)
    assert run(capsys, ["train", "--resume", bench / "out", "--no-figure"])[0] == 0


def test_disk_full_before_training(bench: Bench, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    before = tree(bench.folder)
    words = "Error while serializing: I/O error: No space left on device (os error 28)"
    monkeypatch.setattr("safetensors.torch.save_file", _raise(SafetensorError(words)))
    code, out, error = run(capsys, bench.train())  # the cache can do without, the run folder cannot
    assert (code, out) == (1, "")
    assert f"{bench / 'out'}: there is no space left on the disk" in error
    assert "--resume" not in error
    assert tree(bench.folder) == before
    assert not half_written(bench)


def test_disk_full_while_predicting(bench: Bench, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    old = bench.run()
    before = tree(bench.folder)
    monkeypatch.setattr("brgcn.data.files.os.replace", _raise(_disk_full()))
    code, out, error = run(capsys, ["predict", old, "--out", bench / "p.tsv"])
    assert (code, out) == (1, "")
    assert "there is no space left on the disk" in error
    assert tree(bench.folder) == before


def test_disk_full_for_the_figure_alone(bench: Bench, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("brgcn.explain.explain_run", _raise(_disk_full()))
    code, out, error = run(capsys, ["train", bench / "toy", "--epochs", "2", "--out", bench / "out", "--json"])
    assert code == 0  # the result is there
    assert json.loads(out)["figure"] is None
    assert "the figure could not be written" in error


def test_killed_before_it_began(bench: Bench, capsys) -> None:
    """SIGKILL leaves no time to tidy up; the folder can then be replaced, and nothing else."""
    (bench / "out").mkdir()
    shutil.copy(bench.trained / "finished/settings.yaml", bench / "out")
    code, _, error = run(capsys, bench.train())
    assert code == 1
    assert "replace it with --overwrite" in error
    assert "--resume" not in error
    assert run(capsys, bench.train("--overwrite"))[0] == 0


def test_looking_does_not_disturb_a_run_that_is_going_on(bench: Bench, capsys) -> None:
    old = bench.run()
    beside = old / ".checkpoint.safetensors.1-ab.part"  # another process is writing it
    beside.touch()
    assert run(capsys, ["evaluate", old])[0] == 0
    assert beside.exists()


def _disk_full() -> OSError:
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "disk")


def _raise(error: BaseException) -> Callable[..., None]:
    def stand_in(*_: object, **__: object) -> None:
        raise error

    return stand_in


# ---------------------------------------------------------------------- odd, but with a defined result


def _append(path: Path, *lines: str) -> None:
    with path.open("a") as stream:
        stream.writelines(f"{line}\n" for line in lines)


def self_loops(bench: Bench) -> list[object]:
    _append(bench.graph, *(f"<{EX}p{person}> <{EX}likes> <{EX}p{person}> ." for person in range(PEOPLE)))
    return bench.train()


def isolated_nodes(bench: Bench) -> list[object]:
    """Two labelled nodes with nothing but themselves, and people whom, without inverses, no edge reaches."""
    _append(bench.graph, *(f"<{EX}lonely{i}> <{EX}likes> <{EX}lonely{i}> ." for i in range(2)))
    _append(bench.labels, *(f"{EX}lonely{i}\tred" for i in range(2)))
    return bench.train("--set", "inverse=false")


def parallel_edges(bench: Bench) -> list[object]:
    rows = [f"{EX}p{person}\tlikes\tthing{person % 3}" for person in range(PEOPLE)]
    return bench.train_on(bench.write("graph.tsv", "\n".join(rows * 2)))


def relation_out_of_reach(bench: Bench) -> list[object]:
    """No layer sees an edge of it, because it is far from every label."""
    _append(bench.graph, "<urn:far> <urn:away> <urn:farther> .")
    return bench.train()


def some_labels_absent(bench: Bench) -> list[object]:
    _append(bench.labels, "urn:nobody\tred")
    return bench.train()


def blank_lines(bench: Bench) -> list[object]:
    edited(bench.labels, lambda text: text.replace(b"\n", b" \r\n\r\n"))
    return bench.train()


def labels_like_markup(bench: Bench) -> list[object]:
    for name in ("trainingSet.tsv", "testSet.tsv"):
        edited(bench / "toy" / name, lambda text: text.replace(b"\tred", b"\t[b]").replace(b"\tgreen", b"\t:apple:"))
    return bench.train()


@pytest.mark.parametrize(
    ("prepare", "says"),
    [
        (self_loops, ""),
        (isolated_nodes, ""),
        (parallel_edges, "warning: 12 of 24 triples of graph.tsv are repetitions"),
        (relation_out_of_reach, ""),
        (some_labels_absent, "warning: 1 of 9 labelled nodes of trainingSet.tsv are not in the graph"),
        (blank_lines, ""),
        (labels_like_markup, ""),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_odd_input_has_a_defined_result(prepare, says: str, bench: Bench, capsys) -> None:
    code, out, error = run(capsys, [*prepare(bench), "--json"])
    assert code == 0, error
    assert 0 <= json.loads(out)["runs"][0]["train_accuracy"] <= 1
    assert says in error
    code, out, error = run(capsys, ["evaluate", bench / "out"])
    assert code == 0, error
    if prepare is labels_like_markup:
        assert "[b]" in out
        assert ":apple:" in out
    assert run(capsys, ["predict", bench / "out"])[0] == 0
    assert not half_written(bench)
