from __future__ import annotations

import pickle
import time

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from brgcn.data import names as names_module
from brgcn.data.names import NameTable
from brgcn.errors import DataError

any_text = st.text(alphabet=st.characters(), max_size=12)  # with lone surrogates, NULs and everything


@given(st.lists(any_text, unique=True, max_size=30), any_text)
def test_names_come_back_and_are_found(names: list[str], other: str) -> None:
    table = NameTable.from_tensors(NameTable.from_names(names).tensors())
    assert list(table) == names
    assert [table[i] for i in range(len(table))] == names
    assert table.find(names).tolist() == list(range(len(names)))
    assert table.find([other]).tolist() == [names.index(other) if other in names else -1]


def test_iteration_over_more_than_one_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names_module, "_CHUNK", 7)
    names = [f"näme {i}" for i in range(50)]
    table = NameTable.from_names(iter(names))
    assert list(table) == names
    assert table.find(reversed(names)).tolist() == list(reversed(range(50)))


def test_colliding_hashes_do_not_mix_names_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names_module, "_digests", lambda names: b"same8byt" * len(names))
    table = NameTable.from_names(["a", "b", "ab"])
    assert table.find(["ab", "a", "b", "c"]).tolist() == [2, 0, 1, -1]


def test_behaves_like_a_sequence() -> None:
    table = NameTable.from_names(["x", "", "z"])
    assert table[-1] == "z"
    assert table[0:2] == ["x", ""]
    assert "z" in table
    assert "y" not in table
    assert 3 not in table
    with pytest.raises(IndexError):
        table[3]
    assert table == NameTable.from_names(["x", "", "z"])
    assert table != NameTable.from_names(["x", "z", ""])
    assert table != ["x", "", "z"]


def test_starting_with() -> None:
    assert NameTable.from_names(["", '"a"', "b", '"'] * 1).starting_with('"').tolist() == [1, 3]


def test_goes_to_another_process() -> None:
    table = NameTable.from_names(["Zoë", "b", ""])
    again = pickle.loads(pickle.dumps(table))
    assert list(again) == list(table)
    assert again.find(["b", "c"]).tolist() == [1, -1]


def test_damaged_tensors_are_refused() -> None:
    tensors = NameTable.from_names(["a", "bc"]).tensors()
    with pytest.raises(DataError, match="damaged"):
        NameTable.from_tensors(tensors | {"blob": tensors["blob"][:-1]})
    with pytest.raises(DataError, match="damaged"):
        NameTable.from_tensors(tensors | {"order": tensors["order"][:-1]})


def test_many_look_ups_are_quick() -> None:
    table = NameTable.from_names(f"http://example.org/{i}" for i in range(200_000))
    wanted = torch.randperm(200_000)[:20_000]
    names = [f"http://example.org/{i}" for i in wanted.tolist()]
    begin = time.perf_counter()
    found = table.find(names)
    assert torch.equal(found, wanted)
    assert time.perf_counter() - begin < 1  # 0.03 s on an idle core; a linear search would take hours
