"""The normal law's distribution function, bounded by integers on both sides.

Gaussian privacy compares tails of the normal law. A wall that is stored, and a probability that is
drawn, are computed from these bounds alone: never from floats. Proof:
``docs/research/proofs/gaussian.md``.
"""

from __future__ import annotations

from functools import lru_cache
from math import isqrt
from typing import TYPE_CHECKING, Final

from accountant.arguments import EXACT, NATURAL, expect
from accountant.errors import ArgumentError

if TYPE_CHECKING:
    from fractions import Fraction

__all__ = ["normal_bounds"]

_SPARE_BITS: Final = 8
"""How much finer x is taken than what is asked for: the function is flatter than x."""


def normal_bounds(x: Fraction, bits: int) -> tuple[int, int]:
    """Return certified integer bounds ``lo <= 2^bits Phi(x) <= hi``, a few units apart at most.

    Args:
        x: exact.
        bits: at least 1.

    Raises:
        ValueError: no bits.
    """
    expect(EXACT, x=x)
    expect(NATURAL, bits=bits)
    if bits < 1:
        raise ArgumentError("normal_bounds needs at least one bit", hint="write bits=64")
    one = 1 << bits
    if x < 0:
        lo, hi = normal_bounds(-x, bits)
        return one - hi, one - lo
    if x * x >= 2 * bits:  # 1 - Phi(x) <= exp(-x^2 / 2) / 2 < 2^-bits
        return one - 1, one
    spare = bits + _SPARE_BITS
    point = (x.numerator << spare) // x.denominator
    lo, hi = _beyond_half(point, spare)
    # Between the point and x, the function rises by less than one unit of 2^-spare.
    half = 1 << spare - 1
    return (half + lo) >> _SPARE_BITS, -(-(half + hi + 1) >> _SPARE_BITS)


def _beyond_half(point: int, bits: int) -> tuple[int, int]:
    """Bound ``2^bits (Phi(x) - 1/2)`` for ``x = point / 2^bits >= 0``.

    ``sqrt(2 pi) (Phi(x) - 1/2) / x`` is the sum over n of ``(-z)^n / (n! (2n + 1))``, z = x^2 / 2.
    In units of 2^-work, z and the powers z^n / n! are rounded down, and each power is off by less
    than ``3 e^2z``; 2^3z is more than e^2z. The powers shrink from n = z on, so that what is left
    out is no more than the first of them.
    """
    square = point * point  # 2^(2 bits + 1) z
    most = (square >> 2 * bits + 1) + 1  # z < most
    work = 2 * bits + 1 + 3 * most + (4 * most + bits).bit_length()
    z = square << work - 2 * bits - 1
    term = total = 1 << work
    order = 0
    while term or order <= most:
        order += 1
        term = (term * z >> work) // order
        part = term // (2 * order + 1)
        total += -part if order % 2 else part
    wide = 4 * (order + 2) << 3 * most
    least_root, most_root = _root_of_two_pi(work)
    return (total - wide) * point // most_root, -(-(total + wide) * point // least_root)


@lru_cache(maxsize=64)
def _root_of_two_pi(bits: int) -> tuple[int, int]:
    """Return integers on both sides of ``2^bits sqrt(2 pi)``, the tightest but for two units."""
    low, high = _pi(2 * bits + 4)
    return isqrt(2 * low >> 4), isqrt(-(-2 * high >> 4)) + 1


def _pi(bits: int) -> tuple[int, int]:
    """Return integers on both sides of ``2^bits pi``: 16 arctan(1/5) - 4 arctan(1/239)."""
    work = bits + 16
    (fifth, wide), (small, narrow) = (_arctan(each, work) for each in (5, 239))
    middle, off = 16 * fifth - 4 * small, 16 * wide + 4 * narrow
    return (middle - off) >> 16, -(-(middle + off) >> 16)


def _arctan(inverse: int, bits: int) -> tuple[int, int]:
    """Return ``2^bits arctan(1 / inverse)`` and how far it is off at most.

    The terms alternate and shrink; each is rounded down twice, and none is left out above a unit.
    """
    power = (1 << bits) // inverse
    total = order = 0
    while power:
        total += -(power // (2 * order + 1)) if order % 2 else power // (2 * order + 1)
        power //= inverse * inverse
        order += 1
    return total, 2 * order + 2
