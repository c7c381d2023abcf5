"""Decoders: how plausible a triple is, from the vectors of its head, relation and tail.

A decoder has no parameters of its own. It says what a query looks for (the vector that the missing entity should have)
and compares that with candidates, so that all tails or all heads of many queries are one matrix product.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterator

import torch
from torch import Tensor

from brgcn.errors import SettingsError
from brgcn.ops import backend_for, complex_product, inner_products, l1_distances, look_up, typed_dot, typed_rows


class Decoder(ABC):
    """Vectors are [.., width]; entities and relations have the same width."""

    even = False  # whether the width must be even
    pairs = False  # whether factors are complex numbers, all real parts before the imaginary ones

    def numbers_per_score(self, entities: Tensor) -> int:
        """That are held while the scores of many queries against these are computed with their gradient."""
        return 1

    @abstractmethod
    def tail_query(self, head: Tensor, relation: Tensor) -> Tensor:
        """What a tail of (head, relation, ?) should look like [b, width]."""

    @abstractmethod
    def head_query(self, tail: Tensor, relation: Tensor) -> Tensor:
        """What a head of (?, relation, tail) should look like [b, width]."""

    @abstractmethod
    def relation_query(self, head: Tensor, tail: Tensor) -> Tensor:
        """What a relation of (head, ?, tail) should look like [b, width]."""

    def match(self, query: Tensor, entity: Tensor) -> Tensor:
        """[b] each query with its own entity."""
        return (query * entity).sum(-1)

    def match_some(self, query: Tensor, asked: Tensor, entities: Tensor, candidate: Tensor) -> Tensor:
        """[m] the queries ``asked`` [m] with the entities ``candidate`` [m]; fused operators read vectors where they
        are, instead of gathering them."""
        items = typed_rows(candidate, asked, len(entities), len(query))
        wide = torch.promote_types(entities.dtype, query.dtype)
        return typed_dot(entities.to(wide).unsqueeze(1), query.to(wide).unsqueeze(1), items).squeeze(1)

    def match_all(self, query: Tensor, entities: Tensor) -> Tensor:
        """[b, N] each query with every entity (or every relation)."""
        return query @ entities.T

    def match_all_in_training(self, query: Tensor, entities: Tensor) -> Tensor:
        """The same, where the last digits may differ if that is faster."""
        return inner_products(query, entities)

    def factors(self, vectors: Tensor) -> Tensor:
        """The numbers whose products a score adds up, and whose sizes N3 raises to the third power."""
        return vectors

    def score(self, head: Tensor, relation: Tensor, tail: Tensor) -> Tensor:
        """[b]"""
        return self.match(self.tail_query(head, relation), tail)

    def score_tails(self, head: Tensor, relation: Tensor, entities: Tensor) -> Tensor:
        """[b, N] of all entities [N, width] as tails."""
        return self.match_all(self.tail_query(head, relation), entities)

    def score_heads(self, tail: Tensor, relation: Tensor, entities: Tensor) -> Tensor:
        """[b, N] of all entities as heads."""
        return self.match_all(self.head_query(tail, relation), entities)


class DistMult(Decoder):
    """sum_k h_k r_k t_k: symmetric, (h, r, t) and (t, r, h) are equally plausible."""

    def tail_query(self, head: Tensor, relation: Tensor) -> Tensor:
        return head * relation

    def head_query(self, tail: Tensor, relation: Tensor) -> Tensor:
        return tail * relation

    def relation_query(self, head: Tensor, tail: Tensor) -> Tensor:
        return head * tail


class ComplEx(Decoder):
    """Re(sum_k h_k r_k conj(t_k)) of complex vectors: the first half of a vector is real, the second imaginary."""

    even = pairs = True

    def tail_query(self, head: Tensor, relation: Tensor) -> Tensor:
        return complex_product(head, relation)

    def head_query(self, tail: Tensor, relation: Tensor) -> Tensor:
        return complex_product(tail, relation, conjugate=True)

    def relation_query(self, head: Tensor, tail: Tensor) -> Tensor:
        return self.head_query(tail, head)  # h and r are interchangeable


class HolE(Decoder):
    """r . (h corr t) with (h corr t)_k = sum_i h_i t_(k + i), indices counted in a circle.

    It is ComplEx of the vectors' spectra (Hayashi and Shimbo 2017).
    """

    pairs = True

    def tail_query(self, head: Tensor, relation: Tensor) -> Tensor:
        """h and r folded: (h conv r)_j = sum_i h_i r_(j - i)."""
        width = head.size(-1)
        folded: Tensor = torch.fft.irfft(_spectrum(head) * _spectrum(relation), n=width)
        return folded

    def head_query(self, tail: Tensor, relation: Tensor) -> Tensor:
        """(r corr t)_i = sum_k r_k t_(k + i)."""
        width = tail.size(-1)
        unfolded: Tensor = torch.fft.irfft(_spectrum(relation).conj() * _spectrum(tail), n=width)
        return unfolded

    def relation_query(self, head: Tensor, tail: Tensor) -> Tensor:
        """(h corr t)_k = sum_i h_i t_(k + i): h and r are interchangeable."""
        return self.head_query(tail, head)

    def factors(self, vectors: Tensor) -> Tensor:
        """The frequencies [.., 2 (width // 2 + 1)], scaled so that a score is a sum of their products: N3 is for these,
        as for the complex numbers of ComplEx, and not for coordinates that no score multiplies with each other."""
        width, spectrum = vectors.size(-1), _spectrum(vectors)
        frequency = torch.arange(spectrum.size(-1), device=vectors.device)
        # a frequency and its negative are one, but for 0 and the highest of an even width
        times = torch.where((frequency == 0) | (2 * frequency == width), 1, 2) / width
        scale = times.to(spectrum.real.dtype) ** (1 / 3)
        return torch.cat([spectrum.real * scale, spectrum.imag * scale], dim=-1)


def _spectrum(vectors: Tensor) -> Tensor:
    spectrum: Tensor = torch.fft.rfft(_wide(vectors))  # narrow numbers have no Fourier transform
    return spectrum


def _wide(vectors: Tensor) -> Tensor:
    return vectors.to(torch.promote_types(vectors.dtype, torch.float32))


class TransE(Decoder):
    """-||h + r - t|| in the norm ``p``, 1 or 2."""

    def __init__(self, p: int = 1) -> None:
        self.p = p

    def tail_query(self, head: Tensor, relation: Tensor) -> Tensor:
        return head + relation

    def head_query(self, tail: Tensor, relation: Tensor) -> Tensor:
        return tail - relation

    def relation_query(self, head: Tensor, tail: Tensor) -> Tensor:
        return tail - head

    def numbers_per_score(self, entities: Tensor) -> int:
        # torch's gradient of L1 distances on CUDA holds all differences
        return entities.size(-1) if self.p == 1 and entities.is_cuda and backend_for(entities) == "torch" else 1

    def match(self, query: Tensor, entity: Tensor) -> Tensor:
        distance: Tensor = torch.linalg.vector_norm(query - entity, ord=self.p, dim=-1)
        return -distance

    def match_some(self, query: Tensor, asked: Tensor, entities: Tensor, candidate: Tensor) -> Tensor:
        return self.match(look_up(query, asked), look_up(entities, candidate))

    def match_all(self, query: Tensor, entities: Tensor) -> Tensor:
        if self.p == 1:
            return -l1_distances(query, entities)
        # exact differences: the faster way over a matrix product loses digits where vectors are close, and that is
        # where ranks are decided
        return -torch.cdist(query, entities, p=2.0, compute_mode="donot_use_mm_for_euclid_dist")

    def match_all_in_training(self, query: Tensor, entities: Tensor) -> Tensor:
        if self.p == 1:
            return self.match_all(query, entities)
        with _full_precision(query):  # where vectors are close little is left of the difference
            query, entities = _wide(query), _wide(entities)
            squares = query.square().sum(-1, keepdim=True) + entities.square().sum(-1) - 2 * query @ entities.T
        return -squares.clamp(min=1e-9).sqrt()


@contextlib.contextmanager
def _full_precision(on: Tensor) -> Iterator[None]:
    """Matrix products in float32 inside, whatever was allowed outside."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = False
    try:
        with torch.autocast(on.device.type, enabled=False):
            yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


DECODERS = ("distmult", "complex", "hole", "transe", "transe-l2")


def decoder(name: str, width: int) -> Decoder:
    """The decoder of this name for vectors of this width."""
    known: dict[str, Decoder] = dict(zip(DECODERS, (DistMult(), ComplEx(), HolE(), TransE(1), TransE(2)), strict=True))
    if name not in known:
        raise SettingsError(f"there is no decoder {name!r}", remedy=f"Known: {', '.join(DECODERS)}.")
    chosen = known[name]
    if chosen.even and width % 2:
        raise SettingsError(
            f"{name} needs an even width, not {width}", remedy="Half of a vector is real, half imaginary."
        )
    return chosen
