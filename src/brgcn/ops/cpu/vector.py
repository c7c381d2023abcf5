# mypy: ignore-errors
"""Short vectors as values inside numba functions.

Numba alone cannot keep a row of 16 numbers in registers: its loops over a row carry checks for overlapping arrays and
a scalar remainder that cost more than the row. Here a vector is a value type, which LLVM maps to the widest
instructions of the machine, with the few operations that the kernels need::

    total = zero(x, w)                   # len(w) zeros of the type of x's elements
    total = add(total, g, load(x, i, w)) # total + g * x[i : i + len(w)], x a flat array
    store(out, o, total)

``w`` is a tuple from ``width_of``. Its length, part of its type, is the width: so a kernel is compiled for each width,
and stays a plain function of its module, which numba can keep on disk.
"""

from __future__ import annotations

from functools import lru_cache

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, models, register_model

LARGEST = 64  # wider rows are taken in several pieces


class VectorType(types.Type):
    def __init__(self, dtype, width):
        self.dtype, self.width = dtype, width
        super().__init__(name=f"Vector({dtype}, {width})")


@register_model(VectorType)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        element = ir.FloatType() if kind.dtype == types.float32 else ir.DoubleType()
        super().__init__(manager, kind, ir.VectorType(element, kind.width))


@lru_cache
def width_of(channels: int) -> tuple[int, ...]:
    """The widest vector that divides a row of ``channels``."""
    return (0,) * max(width for width in range(1, min(channels, LARGEST) + 1) if channels % width == 0)


@intrinsic
def zero(context, like, w):
    kind = VectorType(like.dtype, len(w))

    def build(target, builder, signature, args):
        return ir.Constant(target.get_value_type(kind), [0.0] * kind.width)

    return kind(like, w), build


@intrinsic
def load(context, array, offset, w):
    kind = VectorType(array.dtype, len(w))

    def build(target, builder, signature, args):
        return builder.load(_pointer(target, builder, signature, args, kind), align=array.dtype.bitwidth // 8)

    return kind(array, offset, w), build


@intrinsic
def store(context, array, offset, vector):
    def build(target, builder, signature, args):
        pointer = _pointer(target, builder, signature, args, vector)
        builder.store(args[2], pointer, align=array.dtype.bitwidth // 8)
        return target.get_dummy_value()

    return types.void(array, offset, vector), build


@intrinsic
def add(context, total, weight, vector):
    """total + weight * vector"""

    def build(target, builder, signature, args):
        number = target.cast(builder, args[1], signature.args[1], vector.dtype)
        product = builder.fmul(_spread(builder, number, args[2].type), args[2], flags=["contract"])
        return builder.fadd(args[0], product, flags=["contract"])

    return total(total, weight, vector), build


@intrinsic
def add_apart(context, total, a, b):
    """total + |a - b|"""

    def build(target, builder, signature, args):
        apart = builder.fsub(args[1], args[2])
        below = builder.fcmp_ordered("<", apart, ir.Constant(apart.type, [0.0] * a.width))
        return builder.fadd(args[0], builder.select(below, builder.fneg(apart), apart))

    return total(total, a, b), build


@intrinsic
def add_sign(context, total, weight, a, b):
    """total + weight * sign(a - b)"""

    def build(target, builder, signature, args):
        number = target.cast(builder, args[1], signature.args[1], a.dtype)
        up = _spread(builder, number, args[2].type)
        zeros = ir.Constant(args[2].type, [0.0] * a.width)
        below = builder.select(builder.fcmp_ordered("<", args[2], args[3]), builder.fneg(up), zeros)
        return builder.fadd(args[0], builder.select(builder.fcmp_ordered(">", args[2], args[3]), up, below))

    return total(total, weight, a, b), build


@intrinsic
def plus(context, a, b):
    def build(target, builder, signature, args):
        return builder.fadd(*args)

    return a(a, b), build


@intrinsic
def maximum(context, a, b):
    """The greater of each two numbers."""

    def build(target, builder, signature, args):
        return _greater(builder, *args)

    return a(a, b), build


@intrinsic
def greatest(context, vector):
    """Of all elements."""

    def build(target, builder, signature, args):
        return _reduced(builder, args[0], lambda a, b: _greater(builder, a, b))

    return vector.dtype(vector), build


@intrinsic
def dot(context, a, b):
    def build(target, builder, signature, args):
        return _reduced(builder, builder.fmul(*args), builder.fadd)

    return a.dtype(a, b), build


@intrinsic
def total_of(context, vector):
    """Of all elements."""

    def build(target, builder, signature, args):
        return _reduced(builder, args[0], builder.fadd)

    return vector.dtype(vector), build


@intrinsic
def relu(context, vector):
    def build(target, builder, signature, args):
        zeros = ir.Constant(args[0].type, [0.0] * vector.width)
        # "not below zero" rather than "above", so that NaN stays NaN
        return builder.select(builder.fcmp_ordered("<", args[0], zeros), zeros, args[0])

    return vector(vector), build


@intrinsic
def where_positive(context, test, vector):
    """vector where test > 0, else 0"""

    def build(target, builder, signature, args):
        zeros = ir.Constant(args[0].type, [0.0] * vector.width)
        return builder.select(builder.fcmp_ordered(">", args[0], zeros), args[1], zeros)

    return vector(test, vector), build


def _pointer(target, builder, signature, args, kind):
    array = cgutils.create_struct_proxy(signature.args[0])(target, builder, value=args[0])
    offset = target.cast(builder, args[1], signature.args[1], types.int64)
    return builder.bitcast(builder.gep(array.data, [offset]), target.get_value_type(kind).as_pointer())


def _spread(builder, number, vector):
    """The number in every place of a vector."""
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
    everywhere = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), everywhere)


def _greater(builder, a, b):
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


def _reduced(builder, vector, join):
    """All elements joined, halves first: one after the other would wait for each addition."""
    index = ir.IntType(32)
    while vector.type.count % 2 == 0:
        half = vector.type.count // 2
        nothing = ir.Constant(vector.type, ir.Undefined)
        low, high = (
            builder.shuffle_vector(
                vector, nothing, ir.Constant(ir.VectorType(index, half), list(range(first, first + half)))
            )
            for first in (0, half)
        )
        vector = join(low, high)
    total = builder.extract_element(vector, ir.Constant(index, 0))
    for place in range(1, vector.type.count):
        total = join(total, builder.extract_element(vector, ir.Constant(index, place)))
    return total
