"""Names of nodes, kept as bytes in a few tensors, so that millions of them can be memory-mapped."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any, overload

import torch
from torch import Tensor

from brgcn.errors import DataError

_CHUNK = 1 << 16


class NameTable(Sequence[str]):
    """An immutable sequence of distinct names that is also searched by name.

    Held as ``blob`` [B] uint8 (all names in UTF-8, one after another), ``offsets`` [n + 1] (name i is
    blob[offsets[i]:offsets[i + 1]]), ``hashes`` [n] (64-bit hashes, ascending) and ``order`` [n] (whose hash it is).
    A look-up is a binary search among the hashes; the bytes decide, so a collision cannot mix two names up.
    """

    def __init__(self, blob: Tensor, offsets: Tensor, hashes: Tensor, order: Tensor) -> None:
        count = order.numel()
        fits = offsets.numel() == count + 1 and hashes.numel() == count
        if not fits or int(offsets[0]) != 0 or int(offsets[-1]) != blob.numel():
            raise DataError("the table of names is damaged", remedy="Read the data set again.")
        self._tensors = {"blob": blob, "offsets": offsets, "hashes": hashes, "order": order}
        self._bytes = memoryview(blob.numpy())  # type: ignore[arg-type]
        self._offsets = offsets.numpy()

    @classmethod
    def from_names(cls, names: Iterable[str]) -> NameTable:
        """Build the table; node i gets the i-th name."""
        blob, lengths, digests = bytearray(), array("q"), bytearray()
        remaining = iter(names)
        while chunk := [_encode(name) for name in islice(remaining, _CHUNK)]:
            blob += b"".join(chunk)
            lengths.extend(map(len, chunk))
            digests += _digests(chunk)
        ends = _tensor(lengths, torch.int64).cumsum(0)
        hashes, order = torch.sort(_tensor(digests, torch.int64), stable=True)
        offsets = torch.cat([ends.new_zeros(1), ends])
        return cls(_tensor(blob, torch.uint8), offsets, hashes, order)

    def find(self, names: Iterable[str]) -> Tensor:
        """[n] int64 ids of the given names, -1 where a name is unknown."""
        wanted = [_encode(name) for name in names]
        if not len(self):
            return torch.full((len(wanted),), -1)
        hashes = _tensor(bytearray(_digests(wanted)), torch.int64)
        first = torch.searchsorted(self._tensors["hashes"], hashes)
        last = torch.searchsorted(self._tensors["hashes"], hashes, right=True)
        # Almost always at most one node has the hash: what is needed to compare it is gathered for all names at once.
        single = self._tensors["order"][first.clamp(max=len(self) - 1)]
        low, high = self._tensors["offsets"][single].tolist(), self._tensors["offsets"][single + 1].tolist()
        ids = torch.where(last > first, single, -1)
        for row in (last > first).nonzero().squeeze(1).tolist():
            if self._bytes[low[row] : high[row]] != wanted[row]:
                ids[row] = self._find_among(wanted[row], int(first[row]) + 1, int(last[row]))
        return ids

    def _find_among(self, name: bytes, begin: int, end: int) -> int:
        """The id of a name among those whose hashes stand at begin .. end - 1, or -1."""
        for node in self._tensors["order"][begin:end].tolist():
            if self._bytes[self._offsets[node] : self._offsets[node + 1]] == name:
                return int(node)
        return -1

    def __reduce__(self) -> tuple[Any, ...]:  # to another process; a view of the bytes cannot go
        return NameTable.from_tensors, (self._tensors,)

    def tensors(self) -> dict[str, Tensor]:
        """The tensors that make up the table, to be saved."""
        return dict(self._tensors)

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor]) -> NameTable:
        """The table whose ``tensors()`` were saved; nothing is copied."""
        return cls(tensors["blob"], tensors["offsets"], tensors["hashes"], tensors["order"])

    def starting_with(self, first: str) -> Tensor:
        """[n] ascending ids of the names whose first byte is the (ASCII) character ``first``."""
        begins, ends = self._tensors["offsets"][:-1], self._tensors["offsets"][1:]
        ids = (begins < ends).nonzero().squeeze(1)
        return ids[self._tensors["blob"][begins[ids]] == ord(first)]

    def __len__(self) -> int:
        return len(self._offsets) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        node = range(len(self))[index]  # negative and out of range as in any sequence
        return _decode(bytes(self._bytes[self._offsets[node] : self._offsets[node + 1]]))

    def __iter__(self) -> Iterator[str]:
        for begin in range(0, len(self), _CHUNK):
            ends = self._offsets[begin : begin + _CHUNK + 1].tolist()
            data = bytes(self._bytes[ends[0] : ends[-1]])
            for low, high in pairwise(ends):
                yield _decode(data[low - ends[0] : high - ends[0]])

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and int(self.find([name])) >= 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NameTable):
            return NotImplemented
        return all(torch.equal(self._tensors[key], other._tensors[key]) for key in ("offsets", "blob"))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"NameTable({len(self)} names)"


def _encode(name: str) -> bytes:
    # Half a surrogate pair is no valid UTF-8, but a name in a DataFrame may hold one.
    return name.encode("utf-8", "surrogatepass")


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _digests(names: Sequence[bytes]) -> bytes:
    """8 bytes per name, the same on every machine."""
    return b"".join([hashlib.blake2b(name, digest_size=8).digest() for name in names])


def _tensor(buffer: array[int] | bytearray, dtype: torch.dtype) -> Tensor:
    """A tensor over the memory of ``buffer``."""
    return torch.frombuffer(buffer, dtype=dtype) if len(buffer) else torch.empty(0, dtype=dtype)
