"""Drawings of a plan as inline SVG: one curve per alarm.

Written by hand from numbers and plain labels: nothing is loaded, and no plotting library. Colours
are CSS variables of the page, so that one drawing serves light and dark. At 340 units across, text
of 11 is legible on a phone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING, Final

import numpy as np

from stream.model.numbers import decimal
from stream.planning.ringing import threshold_edge, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from stream.model.queries import Query
    from stream.planning.worth import Worth

__all__ = ["curve_drawing"]

_WIDTH: Final = 340
_HEIGHT: Final = 210
_LEFT: Final = 38
_RIGHT: Final = 330
_TOP: Final = 34
_BOTTOM: Final = 168
_POINTS: Final = 96
_LETTER: Final = 6.0  # of a text of 11, on average and a little more


def curve_drawing(worth: Worth) -> str:
    """Draw how likely an alarm rings against the count, at its one or its median threshold.

    Args:
        worth: of an alarm whose law is known.
    """
    if worth.law is None or worth.ringing is None:
        raise ValueError("only a law that is known is drawn")
    law = worth.law
    cell = law.median_cell
    zone = threshold_edge(law, cell)
    usual = None if law.query.usual is None else float(law.query.usual[cell])
    if law.steps is None:
        least, most = _span(zone.marks, usual, whole_range=zone.around)
    else:
        least, most = -2 * law.steps, law.steps
    reach = (most - least) / float(law.unit)
    step = max(1, math.ceil(reach / _POINTS))
    wide = max(law.query.condition.sensitivities)
    if wide < reach / 20:  # whole steps: the law has one value on each
        step = wide * -(-step // wide)
    first = whole(Fraction(least) / law.unit)
    granules = np.arange(first, whole(Fraction(most) / law.unit) + 1, step, dtype=np.int64)
    chances = law.chances(cell, granules)
    if chances is None:
        raise ValueError("only a law that is known is drawn")
    axis = _Axis(float(granules[0] * law.unit), float(granules[-1] * law.unit))
    places = [f"{axis.at(float(g * law.unit)):.1f}" for g in granules.tolist()]
    points = " ".join(f"{x},{_y(chance):.1f}" for x, chance in zip(places, chances, strict=True))
    parts = [*_shades(zone.either, axis), *_grid(), *_ticks(axis)]
    parts += [_line(axis.at(float(mark)), "mark") for mark in zone.marks]
    if usual is not None:
        parts.append(_line(axis.at(usual), "usual"))
    parts.append(f'<polyline class="curve" points="{points}"/>')
    parts += _labels(axis, zone.marks, usual)
    parts.append(_text((_LEFT + _RIGHT) / 2, _HEIGHT - 6, _measured(law.query), "middle"))
    against = "count" if law.steps is None else "score"
    name = f"probability that {worth.query.id} rings, against the {against}"
    return _svg(parts, name)


@dataclass(frozen=True, slots=True)
class _Axis:
    """Counts across."""

    least: float
    most: float

    def at(self, count: float) -> float:
        share = (count - self.least) / ((self.most - self.least) or 1)
        return _LEFT + (_RIGHT - _LEFT) * min(1.0, max(0.0, share))


def _span(marks: Sequence[Fraction], usual: float | None, *, whole_range: bool) -> tuple[int, int]:
    """Return the counts that are drawn: what matters, and a quarter more."""
    low, high = float(min(marks)), float(max(marks))
    if whole_range:
        margin = (high - low) / 2 or 1
        low, high = low - 0.6 * margin, high + 0.6 * margin
    else:
        margin = max(abs(low), abs(high)) / 4 or 4
        low, high = min(0.0, low - margin if low < 0 else 0.0), max(0.0, high + margin)
    if usual is not None:
        low, high = min(low, usual), max(high, 1.1 * usual)
    return math.floor(low), math.ceil(high)


def _measured(query: Query) -> str:
    """Return what is counted, as SQL where that is short."""
    text = query.texts[0].rpartition(" ")[0].rpartition(" ")[0].removesuffix(" - REFERENCE")
    return f"{text if len(text) * _LETTER < _RIGHT - _LEFT - 80 else 'aggregate'} in a window"


def _y(chance: float) -> float:
    return _BOTTOM - (_BOTTOM - _TOP) * chance


def _grid(top: float = 1.0) -> list[str]:
    parts = []
    for quarter in range(5):
        y = _y(quarter / 4)
        parts.append(f'<path class="grid" d="M{_LEFT} {y:.1f}H{_RIGHT}"/>')
        parts.append(_text(_LEFT - 5, y + 4, f"{top * quarter / 4:.3g}", "end"))
    return parts


def _ticks(axis: _Axis) -> list[str]:
    span = axis.most - axis.least
    step = 10 ** math.floor(math.log10(span / 4)) if span > 0 else 1.0
    step *= next(factor for factor in (1, 2, 5, 10) if span / (step * factor) <= 5)
    first = math.ceil(axis.least / step)
    numbers = [step * at for at in range(first, math.floor(axis.most / step) + 1)]
    return [_name(axis.at(number), _BOTTOM + 15, f"{number:.12g}") for number in numbers]


def _shades(zones: Iterable[tuple[Fraction, Fraction]], axis: _Axis) -> list[str]:
    parts = []
    for low, high in zones:
        x, end = axis.at(float(low)), axis.at(float(high))
        size = f'width="{end - x:.1f}" height="{_BOTTOM - _TOP}"'
        parts.append(f'<rect class="either" x="{x:.1f}" y="{_TOP}" {size}/>')
    return parts


def _labels(axis: _Axis, marks: Sequence[Fraction], usual: float | None) -> list[str]:
    """Name the lines above the plot: the thresholds on one row, what is usual on another."""
    word = "threshold " if len(marks) == 1 else "edge "
    parts = [_name(axis.at(float(mark)), 26, word + decimal(mark), "mark") for mark in marks]
    if usual is not None:
        parts.append(_name(axis.at(usual), 12, f"usual {usual:g}", "usual"))
    return parts


def _name(x: float, y: float, text: str, kind: str = "") -> str:
    half = _LETTER * len(text) / 2
    return _text(min(max(x, half + 2), _WIDTH - half - 2), y, text, "middle", kind)


def _line(x: float, kind: str) -> str:
    return f'<path class="{kind}" d="M{x:.1f} {_TOP}V{_BOTTOM}"/>'


def _text(x: float, y: float, text: str, anchor: str, kind: str = "") -> str:
    marked = f' class="{kind}"' if kind else ""
    return f'<text{marked} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(parts: Sequence[str], name: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"'
        f' aria-label="{escape(name)}">{"".join(parts)}</svg>'
    )
