"""``exp(-t)`` of a rational t, bounded by integers on both sides, as tightly as is asked for.

Every probability that is drawn, every error that is promised and every wall that is a tail of the
normal law is computed from such bounds. Proof: ``docs/research/proofs/noise.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from accountant.arguments import EXACT, NATURAL, expect
from accountant.errors import ArgumentError

if TYPE_CHECKING:
    from fractions import Fraction

__all__ = ["exp_neg_bounds"]

_HALVED: Final = 5
"""How much more often than for x < 1: a squaring takes less than the terms that it saves."""


def exp_neg_bounds(t: Fraction, bits: int) -> tuple[int, int]:
    """Return certified integer bounds ``lo <= 2^bits exp(-t) <= hi``.

    The bounds are the tightest there are: equal for ``t = 0``, neighbours otherwise (exp(-t) is
    irrational for every rational t > 0).

    Args:
        t: exact, >= 0.
        bits: at least 1.

    Raises:
        ValueError: a negative ``t`` or no bits.
    """
    expect(EXACT, t=t)
    expect(NATURAL, bits=bits)
    if t < 0 or bits < 1:
        raise ArgumentError(
            "exp_neg_bounds needs t >= 0 and at least one bit",
            hint="write t=Fraction(1, 2), bits=64",
        )
    if t == 0:
        return 1 << bits, 1 << bits
    if t >= bits:  # exp(-t) <= e^-bits < 2^-bits
        return 0, 1
    guard = 16
    while True:
        lo, hi = _exp_neg_interval(t, bits + guard)
        if lo >> guard == hi >> guard:
            return lo >> guard, (lo >> guard) + 1
        guard *= 2


def _exp_neg_interval(t: Fraction, bits: int) -> tuple[int, int]:
    """Bound ``2^bits exp(-t)``: Taylor at ``x = t / 2^halvings < 2^-5``, squared back, outwards.

    In units of ``2^-work``: x lies in ``[point, point + 1)``, and every term is the one before it
    times ``point`` over its order, rounded down: less than 2 units too small. The terms alternate
    and shrink, and what is left out is less than 2. Proof: ``docs/research/proofs/noise.md``.
    """
    halvings = (t.numerator // t.denominator + 1).bit_length() + _HALVED
    work = bits + halvings + 8  # each squaring may double the width of the interval
    point = (t.numerator << work - halvings) // t.denominator
    term = total = 1 << work
    order = 0
    while term:
        order += 1
        term = (term * point >> work) // order
        total += -term if order % 2 else term
    wide = 2 * (order + 1)
    lo, hi = total - wide, total + wide
    for _ in range(halvings):
        lo, hi = lo * lo >> work, -(-hi * hi >> work)
    spare = work - bits
    return lo >> spare, -(-hi >> spare)
