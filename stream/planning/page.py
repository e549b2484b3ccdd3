"""A plan as one HTML page that loads nothing: from configuration alone, for anybody to see.

Its detection curves are numbers in a box of ``_WIDTH`` by ``_HEIGHT`` units, which the template
writes as inline SVG; it escapes all text.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from stream.model.numbers import decimal
from stream.planning.detection import whole
from stream.planning.pages import template_of
from stream.planning.shown import plan_lines
from stream.planning.utility import utilities

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream.model.alarms import Alarms
    from stream.planning.detection import DetectionCurve
    from stream.planning.figures import BudgetFigures

__all__ = ["plan_page"]

_WIDTH: Final = 300
_HEIGHT: Final = 140
_POINTS: Final = 97


class _Drawing(NamedTuple):
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


def plan_page(alarms: Alarms, budgets: Sequence[BudgetFigures]) -> str:
    """Return the whole page: the lines of the plan, and every detection curve.

    Args:
        alarms: the configuration.
        budgets: its figures.
    """
    return template_of(__package__, "plan.html").render(
        file=alarms.file,
        height=_HEIGHT,
        width=_WIDTH,
        lines=list(plan_lines(budgets)),
        alarms=[
            {
                "name": one.alarm.id,
                "sql": one.alarm.sql.strip(),
                "drawing": None if one.law is None else _drawing(one.law),
                "why_not": one.why_not,
            }
            for one in utilities(alarms)
        ],
    )


def _drawing(law: DetectionCurve) -> _Drawing | None:
    """Return the curve at an alarm's one or median threshold."""
    cell = law.median_cell
    marks = law.marks(cell)
    word = "threshold" if len(marks) == 1 else "edge"
    lines = [(float(mark), f"{word} {decimal(mark)}", "mark") for mark in marks]
    if law.alarm.baseline is not None:
        baseline = float(law.alarm.baseline[cell])
        lines.append((baseline, f"baseline {baseline:g}", "baseline"))
    ends = _span([at for at, _, _ in lines], around=len(marks) > 1)
    if law.steps is not None:
        ends = -2 * law.steps, law.steps
    first, last = (whole(Fraction(each) / law.unit) for each in ends)
    granules = np.linspace(first, last, _POINTS).round().astype(np.int64)
    chances = law.chances(cell, granules)
    if chances is None:
        return None
    counts = granules * float(law.unit)

    def across(count: float) -> float:
        return round(float(_WIDTH * (count - counts[0]) / ((counts[-1] - counts[0]) or 1)), 1)

    pairs = zip(map(across, counts), chances, strict=True)
    against = "count" if law.steps is None else "score"
    return _Drawing(
        f"probability that {law.alarm.id} fires, against the {against}",
        " ".join(f"{x},{_HEIGHT * (1 - chance):.1f}" for x, chance in pairs),
        tuple((across(at), text, kind) for at, text, kind in lines),
        (f"{counts[0]:.12g}", f"{counts[-1]:.12g}"),
    )


def _span(marks: list[float], *, around: bool) -> tuple[int, int]:
    """Return the counts that are drawn: what matters, and some more; of most alarms from 0 on."""
    low, high = min(marks), max(marks)
    margin = (high - low if around else max(abs(low), abs(high))) / 4 or 4
    low = low - margin if around or low < 0 else 0.0
    return math.floor(low), math.ceil(max(0.0, high + margin))
