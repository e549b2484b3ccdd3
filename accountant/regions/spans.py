"""Lines of values as JSON data and back: points, and intervals with their brackets."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

from accountant.regions.linesets import Cut, LineSet, NumberCut
from accountant.regions.values import after, exact_value, is_text

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["listed", "number_cut", "number_side", "parsed", "string_cut", "string_side", "written"]

_FRACTION = re.compile(r"(-?[0-9]{1,1300})/([1-9][0-9]{0,1299})")


def number_side(cut: NumberCut) -> tuple[int | str, bool]:
    """Return the number of a cut, as JSON has it, and whether the cut stands after it."""
    number, side = cut
    return (number if isinstance(number, int) else str(number)), side == 1


def string_side(cut: str) -> tuple[str, bool]:
    """Return the string of a cut and whether the cut stands after it."""
    return (cut[:-1], True) if cut.endswith("\0") else (cut, False)


def written(
    line: LineSet[Cut], side: Callable[[Cut], tuple[int | str, bool]]
) -> list[Any] | Literal[True]:
    """Return the points and intervals of a line as JSON data, or ``True`` for all of it.

    Args:
        line: not empty.
        side: makes an end of a cut, and says whether the cut stands after it.
    """
    if line.full:
        return True
    spans: list[Any] = []
    for start, stop in line.intervals():
        low, after_low = (None, True) if start is None else side(start)
        high, after_high = (None, False) if stop is None else side(stop)
        if low is not None and low == high and after_high and not after_low:
            spans.append(low)
        else:
            spans.append(["(" if after_low else "[", low, high, "]" if after_high else ")"])
    return spans


def listed(data: object) -> list[Any]:
    """Return JSON data that has to be a list.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(data, list):
        raise ValueError("the values of a kind are a list")  # noqa: TRY004 - text that does not parse is a ValueError
    return data


def parsed(spans: object, cut: Callable[[object, bool], Cut]) -> LineSet[Cut]:
    """Return the line that ``written`` wrote.

    Args:
        spans: JSON data.
        cut: makes a cut of an end and whether the cut stands after it.

    Raises:
        ValueError: nothing that ``written`` writes looks so.
    """
    if spans is True:
        return LineSet(begins_inside=True)
    ends: list[Cut | None] = []
    for span in listed(spans):
        if not isinstance(span, list):
            ends += [cut(span, False), cut(span, True)]
            continue
        if len(span) != 4 or span[0] not in ("[", "(") or span[3] not in ("]", ")"):
            raise ValueError("an interval is a bracket, two ends and a bracket")
        ends.append(None if span[1] is None else cut(span[1], span[0] == "("))
        ends.append(None if span[2] is None else cut(span[2], span[3] == "]"))
    inner = ends[ends[:1] == [None] : len(ends) - (ends[-1:] == [None])]
    cuts = tuple(end for end in inner if end is not None)
    if len(cuts) < len(inner) or any(left >= right for left, right in pairwise(cuts)):
        raise ValueError("the values of a kind rise and do not touch")
    return LineSet(ends[:1] == [None], cuts)


def number_cut(end: object, behind: bool) -> NumberCut:
    """Return the cut right before a number of JSON data, or behind it.

    Raises:
        ValueError: it is no number in the one form.
    """
    if isinstance(end, int) and not isinstance(end, bool):
        exact_value(end)
        return end, int(behind)
    if isinstance(end, str) and (parts := _FRACTION.fullmatch(end)):
        number = exact_value(Fraction(int(parts[1]), int(parts[2])))
        if isinstance(number, Fraction):
            return number, int(behind)
    raise ValueError("a number is whole, or a reduced fraction in a string")


def string_cut(end: object, behind: bool) -> str:
    """Return the cut right before a string, or behind it.

    Raises:
        ValueError: it is no string, or nothing comes before it.
    """
    if isinstance(end, str) and is_text(end) and (behind or end):
        return after(end) if behind else end
    raise ValueError("a string is text, and nothing comes before the empty one")
