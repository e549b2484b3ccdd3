"""Exponentials, logarithms and normal tails between bounds that are proved.

``decimal`` rounds exp and ln correctly, so a step to the next decimal either way is a bound.
"""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Final

from accountant.costs import normal

__all__ = ["exp_bounds", "float_up", "log_bounds", "normal_bounds"]

_DIGITS: Final = 60
_BITS: Final = 200
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
    """Return bounds of P[Z <= x] for a standard normal Z, closer than 1e-50."""
    low, high = normal.normal_bounds(x, _BITS)
    return Fraction(low, 1 << _BITS), Fraction(high, 1 << _BITS)


def float_up(exact: Fraction) -> float:
    """Return the least float that is not below; infinity beyond all floats."""
    try:
        nearest = float(exact)
    except OverflowError:
        return math.inf
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


def _decimal(x: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(x.numerator), Decimal(x.denominator))
