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
from toys import EX, KINDS, toy_folder

from brgcn.cli import main
from brgcn.data import load_dataset
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
    Kind("unknown option", lambda b: b.train("--epoch", "3"), ("No such option: --epoch", "--epochs"), 2),
    Kind("a word for a number", lambda b: b.train("--runs", "ten"), ("--runs", "'ten' is not a valid integer"), 2),
    Kind("option without its value", lambda b: ["train", "--out"], ("--out", "requires an argument"), 2),
    Kind("no run folder named", lambda b: ["evaluate"], ("Missing argument 'DIR'",), 2),
    Kind("one argument too many", lambda b: b.train("again"), ("unexpected extra argument", "again"), 2),
]
GRAPHS = [
    Kind(
        "no such graph", lambda b: b.train_on(b / "gone.nt"), ("HERE/gone.nt: there is no such file", "Check the path")
    ),
    Kind("no such folder", lambda b: b.train_on(b / "gone"), ("HERE/gone: there is no such file or folder", "Check")),
    Kind(
        "folder named like a graph",
        lambda b: [(b / "g.nt").mkdir(), *b.train_on(b / "g.nt")][1:],
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
    Kind("empty folder", lambda b: [(b / "void").mkdir(), "train", b / "void"][1:], ("HERE/void", "it is empty")),
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
    Kind("setting is a list", lambda b: b.train("--set", "hidden=[1"), ("--set: hidden must be a whole number",)),
    Kind("no such config", lambda b: b.train("--config", b / "gone.yaml"), ("HERE/gone.yaml", "does not exist")),
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
        lambda b: b.train("--config", b.write("c.yaml", b"hidden: 8 # \xe9\n")),
        ("HERE/c.yaml", "UTF-8"),
    ),
    Kind("no runs", lambda b: b.train("--runs", "0"), ("--runs", "at least 1", "0")),
    Kind("no epochs", lambda b: b.train("--epochs", "0"), ("--epochs: epochs must be at least 1, not 0",)),
    Kind("fewer than no epochs", lambda b: b.train("--epochs", "-1"), ("--epochs: epochs must be at least 1, not -1",)),
    Kind("seed below zero", lambda b: b.train("--seed", "-1"), ("--seed", "-1")),
    Kind("seed beyond 64 bits", lambda b: b.train("--seed", str(2**64)), ("--seed", str(2**64))),
    Kind("unknown device", lambda b: b.train("--device", "gpu"), ("unknown device 'gpu'", "auto, cpu or cuda")),
    Kind("device that torch knows, but nobody has", lambda b: b.train("--device", "meta"), ("unknown device 'meta'",)),
    Kind("checkpoints before they begin", lambda b: b.train("--checkpoint-every", "-1"), ("--checkpoint-every", "-1")),
    Kind(
        "loss beyond all bounds",
        lambda b: b.train("--set", "learning_rate=1e38", "--epochs", "9"),
        ("the loss became", "learning_rate"),
    ),
]
RUNS = [
    Kind(
        "--out is there already",
        lambda b: [*b.train(), "--out", b.run()],
        ("HERE/old: the folder exists already", "--resume HERE/old", "--overwrite"),
    ),
    Kind("--out is a file", out_is_a_file, ("HERE/file", "file")),
    Kind("--out below a file", out_below_a_file, ("HERE/file", "Choose another --out")),
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
        ("HERE/old/checkpoint.safetensors", "remedy"),
    ),
    Kind(
        "empty checkpoint", resume_spoilt("checkpoint.safetensors", lambda _: b""), ("HERE/old/checkpoint.safetensors",)
    ),
    Kind(
        "damaged settings.yaml",
        resume_spoilt("settings.yaml", lambda text: text + b"]["),
        ("HERE/old/settings.yaml, line",),
    ),
    Kind(
        "settings.yaml of another version",
        resume_spoilt("settings.yaml", lambda text: text + b"colour: red\n"),
        ("HERE/old/settings.yaml: unknown setting 'colour'",),
    ),
    Kind("missing settings.yaml", resume_spoilt("settings.yaml", None), ("HERE/old/settings.yaml",)),
    Kind(
        "missing graph",
        resume_spoilt("graph.safetensors", None),
        ("HERE/old/graph.safetensors: there is no such file",),
    ),
    Kind("damaged graph", resume_spoilt("graph.safetensors", half), ("HERE/old/graph.safetensors",)),
    Kind("missing labels", resume_spoilt("labels.tsv", None), ("HERE/old/labels.tsv",)),
    Kind("labels cut", resume_spoilt("labels.tsv", half), ("HERE/old/labels.tsv",)),
    Kind(
        "labels of no node",
        resume_spoilt("labels.tsv", lambda text: text.replace(b"\n", b"\n99", 1)),
        ("HERE/old/labels.tsv",),
    ),
    Kind("run.json is no JSON", resume_spoilt("run.json", half), ("HERE/old/run.json",)),
    Kind(
        "foreign run.json", resume_spoilt("run.json", lambda _: b'{"name": "a run of something else"}'), ("HERE/old",)
    ),
    Kind(
        "run.json lacks its seeds",
        resume_spoilt("run.json", lambda text: text.replace(b'"seeds"', b'"sedes"')),
        ("HERE/old/run.json", "seeds"),
    ),
    Kind("report.json damaged", resume_spoilt("result.json", half, "finished"), ("HERE/old/result.json",)),
    Kind("evaluate nothing", lambda b: ["evaluate", b / "gone"], ("HERE/gone: there is no such folder", "brgcn train")),
    Kind(
        "evaluate before the first run is done",
        lambda b: ["evaluate", b.run("halfway")],
        ("HERE/old", "no run is finished", "--resume HERE/old"),
    ),
    Kind(
        "damaged weights",
        use_spoilt("evaluate", "runs/00/weights.safetensors", half),
        ("HERE/old/runs/00/weights.safetensors",),
    ),
    Kind(
        "missing weights",
        use_spoilt("predict", "runs/00/weights.safetensors", None),
        ("HERE/old/runs/00/weights.safetensors: there is no such file",),
    ),
    Kind(
        "weights of other settings",
        weights_of_other_settings,
        ("HERE/old/runs/00/weights.safetensors: the weights do not fit the settings",),
    ),
    Kind("a graph for weights", swapped_files, ("HERE/old/runs/00/weights.safetensors",)),
    Kind("predict nothing", lambda b: ["predict", b / "gone"], ("HERE/gone: there is no such folder",)),
    Kind(
        "predict with a run that is not there",
        lambda b: ["predict", b.run(), "--run", "99"],
        ("HERE/old", "run 99", "0, 1"),
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
        ("HERE/nodes.txt", "no node"),
    ),
    Kind(
        "no list of nodes",
        lambda b: ["predict", b.run(), "--nodes", b / "gone.txt"],
        ("HERE/gone.txt: there is no such file",),
    ),
    Kind(
        "broken UTF-8 in --nodes",
        lambda b: ["predict", b.run(), "--nodes", b.write("nodes.txt", b"a\n\xe9\n")],
        ("HERE/nodes.txt", "UTF-8"),
    ),
    Kind(
        "new triples of unknown relations only",
        lambda b: ["predict", b.run(), "--triples", b.write("new.nt", "<urn:a> <urn:r> <urn:b> .\n")],
        ("HERE/new.nt", "urn:r"),
    ),
    Kind(
        "new triples without new nodes",
        lambda b: ["predict", b.run(), "--triples", b.write("new.nt", f"<{EX}p0> <{EX}likes> <{EX}red0> .\n")],
        ("HERE/new.nt", "--node"),
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
        ("HERE/file",),
    ),
    Kind("predictions into a folder", lambda b: ["predict", b.run(), "--out", b / "toy"], ("HERE/toy", "folder")),
    Kind("explain nothing", lambda b: ["explain", b / "gone"], ("HERE/gone: there is no such folder",)),
    Kind("explain R-GCN", lambda b: ["explain", b.run("rgcn")], ("rgcn has no attention to show", "brgcn-node")),
    Kind(
        "explain an unknown node",
        lambda b: ["explain", b.run(), "--node", "urn:x"],
        ("not in the graph: urn:x", "IRIs"),
    ),
    Kind(
        "explain a run that is not there", lambda b: ["explain", b.run(), "--run", "99"], ("HERE/old", "run 99", "0, 1")
    ),
    Kind("a figure as text", lambda b: ["explain", b.run(), "--out", b / "a.txt"], (".txt", ".png, .svg, .pdf")),
    Kind(
        "a figure without extension",
        lambda b: ["explain", b.run(), "--out", b / "figure"],
        ("figure", ".png, .svg, .pdf"),
    ),
]
KINDS_OF_BAD_INPUT = [*USAGE, *GRAPHS, *LABELS, *SETTINGS, *RUNS]
