# mypy: ignore-errors
"""exp of what is not above zero, as a softmax needs it.

Numba calls the C library's function for each number. In float32 a polynomial of degree six does, which the compiler
can inline: exp(x) = 2^k exp(r) with |r| <= ln(2) / 2, within two units in the last place.
"""

from __future__ import annotations

import math

import numpy as np
from numba.core import types
from numba.extending import overload

_f = np.float32
_LOWEST = _f(-87.0)  # exp of it is the smallest normal number, and as good as 0 beside exp(0)
_LOG2_E, _HALF, _ONE = _f(1.4426950408889634), _f(0.5), _f(1.0)
_LN2_HIGH, _LN2_LOW = _f(0.693145751953125), _f(1.42860677e-6)  # ln(2) in two parts: k * high is exact
_6, _5, _4, _3, _2 = (_f(1 / math.factorial(n)) for n in (6, 5, 4, 3, 2))
_7 = _f(1 / math.factorial(7))
_BIAS, _MANTISSA = np.int32(127), np.int32(23)


def exp_of(x):
    """exp(x) for x <= 0; NaN stays NaN."""
    return math.exp(x)


@overload(exp_of, jit_options={"fastmath": {"contract"}}, inline="always")
def _exp_of(x):
    if x != types.float32:
        return lambda x: math.exp(x)

    def fast(x):
        x = _LOWEST if x < _LOWEST else x
        k = np.float32(math.floor(x * _LOG2_E + _HALF))
        r = x - k * _LN2_HIGH - k * _LN2_LOW
        p = ((((((_7 * r + _6) * r + _5) * r + _4) * r + _3) * r + _2) * r + _ONE) * r + _ONE
        return p * np.int32((np.int32(k) + _BIAS) << _MANTISSA).view(np.float32)

    return fast
