"""Exponentials, logarithms and normal tails between bounds that are proved.

``decimal`` rounds exp and ln correctly, and every other operation in the direction asked for; so a
step to the next decimal either way is a bound.
"""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import cache
from typing import Final

__all__ = ["exp_bounds", "float_up", "log_bounds", "normal_bounds"]

_DIGITS: Final = 60
_FAR: Final = Fraction(30)  # a normal is further out with a probability below 1e-197
_PI: Final = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")
_DOWN: Final = Context(_DIGITS, ROUND_FLOOR, MIN_EMIN, MAX_EMAX)
_UP: Final = Context(_DIGITS, ROUND_CEILING, MIN_EMIN, MAX_EMAX)


def exp_bounds(x: Fraction) -> tuple[Fraction, Fraction]:
    """Return bounds of exp(x), closer than 1e-57 of it while |x| stays below a hundred."""
    return (
        Fraction(_DOWN.next_minus(_DOWN.exp(_decimal(x, _DOWN)))),
        Fraction(_UP.next_plus(_UP.exp(_decimal(x, _UP)))),
    )


def log_bounds(x: Fraction) -> tuple[Fraction, Fraction]:
    """Return bounds of ln(x), x > 0."""
    return (
        Fraction(_DOWN.next_minus(_DOWN.ln(_decimal(x, _DOWN)))),
        Fraction(_UP.next_plus(_UP.ln(_decimal(x, _UP)))),
    )


def normal_bounds(x: Fraction) -> tuple[Fraction, Fraction]:
    """Return bounds of P[Z <= x] for a standard normal Z, closer than 1e-50 but in the far tails.

    For x >= 0 it is 1/2 plus the density times x + x^3/3 + x^5/15 + ..., whose terms are positive:
    sums that are rounded down stay below, and what is left of the series is less than a geometric
    one.
    """
    if x < 0:
        low, high = normal_bounds(-x)
        return 1 - high, 1 - low
    if x > _FAR:
        return 1 - Fraction(1, 10**197), Fraction(1)
    half = Fraction(1, 2)
    return max(half, half + _beyond(x, _DOWN)), min(Fraction(1), half + _beyond(x, _UP))


def float_up(exact: Fraction) -> float:
    """Return the least float that is not below; infinity beyond all floats."""
    try:
        nearest = float(exact)
    except OverflowError:
        return math.inf
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


def _beyond(x: Fraction, context: Context) -> Fraction:
    """Return P[0 <= Z <= x], rounded as the context rounds."""
    upwards = context is _UP
    point, square = _decimal(x, context), _decimal(x * x, context)
    term = total = point
    odd = 1
    while odd < square or term > total.scaleb(-_DIGITS):
        odd += 2
        term = context.divide(context.multiply(term, square), Decimal(odd))
        total = context.add(total, term)
    if upwards:
        # From here on a term is at most this share of the one before it, and the share is below 1.
        share = context.divide(square, Decimal(odd + 2))
        rest = context.divide(context.multiply(term, share), _DOWN.subtract(Decimal(1), share))
        total = context.add(total, rest)
    density = exp_bounds(-x * x / 2)[upwards] * _density_at_zero()[upwards]
    return Fraction(total) * density


@cache
def _density_at_zero() -> tuple[Fraction, Fraction]:
    """Return bounds of 1 / sqrt(2 pi)."""
    roots = [
        Fraction(context.sqrt(context.multiply(Decimal(2), pi)))
        for context, pi in ((_DOWN, _DOWN.next_minus(_PI)), (_UP, _UP.next_plus(_PI)))
    ]
    slack = 1 + Fraction(1, 10 ** (_DIGITS - 2))
    return 1 / (roots[1] * slack), slack / roots[0]


def _decimal(x: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(x.numerator), Decimal(x.denominator))
