"""Kinds of bad input: usage, graphs, labels, settings."""

from __future__ import annotations

import gzip

from bad_bench import (
    Kind,
    broken_line,
    broken_utf8_in_rdf,
    closed,
    cut_gzip,
    cut_rdf_xml,
    half,
    links,
    new_folder,
    not_gzip,
    only_notes,
    pipe,
    two_graphs,
    two_labels,
    zipped,
)
from toys import EX

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
        lambda b: ["train", "fb15k", "--model", "rgcn"],
        ("--model is for a training that classifies nodes", "Leave --model out"),
    ),
    Kind("data to predict links", links, ("links holds triples to predict links", "--labels", "--task links")),
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
        "the paper has no settings for GAT",
        lambda b: ["train", "aifb", "--model", "gat", "--preset", "paper"],
        ("no settings for gat on aifb", "--preset default"),
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
        ("there is not enough memory", "--set hidden=16", "--set batch=100"),
        begins=True,
    ),
]
