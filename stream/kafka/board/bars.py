"""Noisy counts as bars: one a predicate, the largest first, with a line as long as the noise.

::

    0        count
    ████████████
            ├───┼───┤     one standard deviation to either side

Written from numbers alone. Bars begin at 0; a negative count goes the other way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream.kafka.board.counts import Predicate

__all__ = ["LENGTH", "Bar", "bars"]

LENGTH: Final = 1000
"""Of the longest bar there could be, from the smallest count less its noise on."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One predicate's count.

    Args:
        predicate: values by field.
        number: the count in words.
        path: of the bar.
        noise: path of the line.
    """

    predicate: Predicate
    number: str
    path: str
    noise: str


def bars(counts: Mapping[Predicate, float], deviation: float, most: int) -> tuple[Bar, ...]:
    """Return so many bars, the largest counts first.

    Args:
        counts: by predicate.
        deviation: standard deviation of the noise in each.
        most: how many.
    """
    shown = sorted(counts.items(), key=lambda one: (-one[1], one[0]))[:most]
    low = min(0.0, *(count - deviation for _, count in shown), 0.0)
    high = max(0.0, *(count + deviation for _, count in shown), 0.0)
    scale = LENGTH / (high - low) if high > low else 0.0

    def at(value: float) -> int:
        return round((value - low) * scale)

    return tuple(
        Bar(
            predicate,
            _text(count, deviation),
            f"M{at(0)} 4H{at(count)}V16H{at(0)}z",
            f"M{at(count - deviation)} 10H{at(count + deviation)}",
        )
        for predicate, count in shown
    )


def _text(count: float, deviation: float) -> str:
    """Return a count to the digit that its noise begins with; whole where that is 1 or more."""
    digits = max(0, -math.floor(math.log10(deviation))) if deviation > 0 else 0
    return f"{count:,.{min(digits, 9)}f}"
