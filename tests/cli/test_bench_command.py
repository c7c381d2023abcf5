from __future__ import annotations

import json
from pathlib import Path

import pytest

from brgcn.cli import main

pytest.importorskip("torch_geometric")
pytest.importorskip("rdflib")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main(["bench", *arguments])
    captured = capsys.readouterr()
    return int(stopped.value.code or 0), captured.out, captured.err


def test_everything_quickly(toy: Path, tmp_path: Path, capsys) -> None:
    out = tmp_path / "bench"
    code, text, error = run(capsys, str(toy), "--quick", "--backend", "torch", "--device", "cpu", "--out", str(out))
    assert code == 0, error
    result = json.loads((out / "bench.json").read_text())
    assert set(result) >= {"command", "environment", "copy_rate_gb_s", "epoch", "layer", "growth", "loading", "bars"}
    for part in ("epoch", "layer", "growth", "loading"):
        assert result[part]
        assert not [row for row in result[part] if "error" in row]
    assert (out / "bench.png").read_bytes().startswith(b"\x89PNG")
    assert "toy: one training epoch, full graph" in text
    assert "speed, fastest PyG = 1" in text
    assert "GB/s" in text
    assert f"figure  {out / 'bench.png'}" in error


def test_json_is_alone_on_standard_output(toy: Path, tmp_path: Path, capsys) -> None:
    parts = ["--parts", "loading", "--quick", "--json", "--out", str(tmp_path / "b")]
    code, text, _ = run(capsys, str(toy), *parts)
    assert code == 0
    result = json.loads(text)
    assert result["out"] == str(tmp_path / "b")
    assert result["figure"] is None
    assert len(result["loading"]) == 4
    assert result["epoch"] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--parts", "epoch,speed"], "there is no part 'speed'"),
        (["--parts", "loading", "--no-loading"], "nothing is left to measure"),
        (["--backend", "c"], "unknown backend 'c'"),
        (["--backend", "triton", "--device", "cpu"], "the backend triton computes on CUDA only"),
        (["--device", "tpu"], "unknown device 'tpu'"),
        (["nowhere"], "there is no data set, file or folder 'nowhere'"),
    ],
)
def test_what_a_user_can_mend(
    arguments: list[str], message: str, tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    code, text, error = run(capsys, *arguments, "--out", str(tmp_path / "b"))
    assert code == 1
    assert text == ""
    assert message in error
    assert "Traceback" not in error
    assert not (tmp_path / "b").exists()


def test_without_pyg_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch_geometric.nn", None)
    code, _, error = run(capsys, "--out", str(tmp_path / "b"))
    assert code == 1
    assert "brgcn[bench]" in error
