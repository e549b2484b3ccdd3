"""How far noise strays beyond given boundaries: what chosen ones are checked against."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from operators.noise.boundaries import _Survivors

if TYPE_CHECKING:
    from collections.abc import Sequence


def crossing_bound(
    levels: Sequence[Fraction], shifts: Sequence[int], drop: Fraction = Fraction(0)
) -> tuple[Fraction, ...]:
    """Return per level a certified upper bound of passing it and no finer one, for given shifts.

    Args:
        levels: the rates, strictly rising, coarsest first.
        shifts: whole steps, >= 0, not rising from coarse to fine.
        drop: probability of falling under the cut at exactly ``-shifts[-1]`` of the finest level.
    """
    survivors = _Survivors(levels)
    spent: list[Fraction] = []
    for level in reversed(range(len(levels))):
        at_tie = Fraction(0) if spent else drop
        survivors.blur(level)
        spent.append(survivors.passing(shifts[level], at_tie))
        survivors.kill(shifts[level], at_tie)
    return tuple(reversed(spent))
