"""What a probability is expected to be: ``>= 0.99``, or ``0.2 to 0.4``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from stream.model.numbers import number

__all__ = ["WRITTEN", "Range", "range_of"]

WRITTEN: Final = 'write ">= 0.99", "< 0.01" or "0.2 to 0.4"'

_COMPARED: Final = re.compile(r"(>=|<=|>|<)\s*(\S+)")
_BETWEEN: Final = re.compile(r"(\S+)\s+to\s+(\S+)")
_SLACK: Final = Fraction(1, 10**8)


@dataclass(frozen=True, slots=True)
class Range:
    """Probabilities that are taken.

    Laws are added up in floats. So a bound that may be met is met by what lies beyond it by less
    than a hundred-millionth of the distance from 0 or 1, whichever is nearer; one that must be
    passed has to be passed by more than that.

    Args:
        text: as written.
        low: the least.
        high: the greatest.
        above: whether the least must be passed.
        below: whether the greatest must not be reached.
    """

    text: str
    low: Fraction = Fraction(0)
    high: Fraction = Fraction(1)
    above: bool = False
    below: bool = False

    def holds(self, chance: float) -> bool:
        """Tell whether a probability is one of them."""
        at, low, high = Fraction(chance), _slack(self.low), _slack(self.high)
        enough = at > self.low + low if self.above else at >= self.low - low
        return enough and (at < self.high - high if self.below else at <= self.high + high)

    def holds_within(self, least: float, most: float) -> bool:
        """Tell whether all probabilities from the least to the most are taken."""
        return self.holds(least) and self.holds(most)

    def meets(self, least: float, most: float) -> bool:
        """Tell whether any probability from the least to the most is taken."""
        return Fraction(most) >= self.low and Fraction(least) <= self.high


def range_of(text: str) -> Range:
    """Return the probabilities that a text means.

    Raises:
        ValueError: it means none; the message says why.
    """
    text = " ".join(text.split())
    compared, between = _COMPARED.fullmatch(text), _BETWEEN.fullmatch(text)
    if compared is not None:
        bound, strict = _probability(compared[2]), len(compared[1]) == 1
        if compared[1].startswith(">"):
            return Range(text, low=bound, above=strict)
        return Range(text, high=bound, below=strict)
    if between is not None:
        low, high = _probability(between[1]), _probability(between[2])
        if low > high:
            raise ValueError("the first number is the larger one")
        return Range(text, low, high)
    raise ValueError("not a range of probabilities")


def _probability(text: str) -> Fraction:
    found = number(text)
    if found is None:
        raise ValueError("not a probability")
    if not 0 <= found <= 1:
        raise ValueError("not between 0 and 1")
    return found


def _slack(bound: Fraction) -> Fraction:
    return _SLACK * min(bound, 1 - bound)
