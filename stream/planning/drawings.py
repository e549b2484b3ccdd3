"""The detection curve of an alarm as numbers in a box, which the page's template draws.

The box is ``WIDTH`` by ``HEIGHT`` units; its template writes it as inline SVG and escapes all text.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from stream.model.numbers import decimal
from stream.planning.detection import whole

if TYPE_CHECKING:
    from stream.planning.utility import Utility

__all__ = ["HEIGHT", "WIDTH", "Drawing", "curve_drawing"]

WIDTH: Final = 300
HEIGHT: Final = 140
_POINTS: Final = 96


class Drawing(NamedTuple):
    """One curve: how likely an alarm fires, against what is counted.

    Args:
        name: what it shows.
        points: of the curve, as SVG writes them.
        lines: thresholds and the baseline: where across, what to write, and which it is.
        ends: what the left and the right edge mean.
    """

    name: str
    points: str
    lines: tuple[tuple[float, str, str], ...]
    ends: tuple[str, str]


def curve_drawing(utility: Utility) -> Drawing:
    """Return the curve at an alarm's one or median threshold.

    Args:
        utility: of an alarm whose law is known.

    Raises:
        ValueError: it is not.
    """
    law = utility.law
    if law is None:
        raise ValueError("only a law that is known is drawn")
    cell = law.median_cell
    marks = law.marks(cell)
    word = "threshold" if len(marks) == 1 else "edge"
    lines = [(float(mark), f"{word} {decimal(mark)}", "mark") for mark in marks]
    if law.alarm.baseline is not None:
        baseline = float(law.alarm.baseline[cell])
        lines.append((baseline, f"baseline {baseline:g}", "baseline"))
    least, most = _span([at for at, _, _ in lines], around=len(marks) > 1)
    if law.steps is not None:
        least, most = -2 * law.steps, law.steps
    first, last = (whole(Fraction(each) / law.unit) for each in (least, most))
    step = max(1, -(-(last - first) // _POINTS))
    wide = max(law.alarm.condition.sensitivities)
    if wide < (last - first) / 20:  # whole steps: the law has one value on each
        step = wide * -(-step // wide)
    granules = np.arange(first, last + 1, step, dtype=np.int64)
    chances = law.chances(cell, granules)
    if chances is None:
        raise ValueError("only a law that is known is drawn")
    counts = granules * float(law.unit)

    def across(count: float) -> float:
        share = (count - counts[0]) / ((counts[-1] - counts[0]) or 1)
        return round(WIDTH * min(1.0, max(0.0, float(share))), 1)

    pairs = zip(map(across, counts), chances, strict=True)
    against = "count" if law.steps is None else "score"
    return Drawing(
        f"probability that {utility.alarm.id} fires, against the {against}",
        " ".join(f"{x},{HEIGHT * (1 - chance):.1f}" for x, chance in pairs),
        tuple((across(at), text, kind) for at, text, kind in lines),
        (f"{counts[0]:.12g}", f"{counts[-1]:.12g}"),
    )


def _span(marks: list[float], *, around: bool) -> tuple[int, int]:
    """Return the counts that are drawn: what matters, and some more; of most alarms from 0 on."""
    low, high = min(marks), max(marks)
    margin = (high - low if around else max(abs(low), abs(high))) / 4 or 4
    low = low - margin if around or low < 0 else 0.0
    return math.floor(low), math.ceil(max(0.0, high + margin))
