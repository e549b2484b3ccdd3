"""Real numbers between integers: every operation rounds outwards, so that bounds stay bounds."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Interval"]


@dataclass(frozen=True, slots=True)
class Interval:
    """A real number between two integers, in a unit that the caller knows.

    Args:
        lo: no more than the number.
        hi: no less than it.
    """

    lo: int
    hi: int

    def plus(self, other: Interval) -> Interval:
        """Add a number."""
        return Interval(self.lo + other.lo, self.hi + other.hi)

    def minus(self, other: Interval) -> Interval:
        """Subtract a number."""
        return Interval(self.lo - other.hi, self.hi - other.lo)

    def times(self, other: Interval, one: int) -> Interval:
        """Multiply by a number; ``one`` is the number one in both units."""
        products = [a * b for a in (self.lo, self.hi) for b in (other.lo, other.hi)]
        return Interval(min(products) // one, -(-max(products) // one))

    def over(self, other: Interval, one: int) -> Interval:
        """Divide a number >= 0 by one > 0; ``one`` is the number one in both units."""
        return Interval(self.lo * one // other.hi, -(-self.hi * one // other.lo))

    def scaled(self, by: int, over: int) -> Interval:
        """Multiply by a fraction of whole numbers, ``by >= 0`` and ``over > 0``."""
        return Interval(self.lo * by // over, -(-self.hi * by // over))
