"""Kinds of bad input: run folders that cannot be made, resumed or used."""

from __future__ import annotations

import gzip

from bad_bench import (
    Kind,
    closed,
    half,
    never_began,
    new_folder,
    out_below_a_file,
    out_has_other_things,
    out_is_a_file,
    resume_spoilt,
    swapped_files,
    use_spoilt,
    weights_of_other_settings,
)
from toys import EX

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
    Kind(
        "empty result",
        resume_spoilt("result.json", lambda _: b"{}", "finished"),
        ("HERE/old/result.json: 'dataset' is missing", "train again"),
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
