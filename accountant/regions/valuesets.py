r"""Sets of values of one attribute, in one form per set, with exact set algebra.

A value is a truth value, a number or a string, and the kinds never meet: ``True`` is not 1. A set
holds, per kind, the positions at which membership changes along the kind's order. Complement flips
a sign, union and intersection merge two sorted lists, and no two forms describe the same set:

- *numbers* are the rational line, integers and fractions alike: it is dense, so a position stands
  right before or right after a number, and no gap between two of them is empty;
- *strings* are ordered by code point, where ``s + "\0"`` follows ``s`` at once: so every position
  stands right before a string.

A set of numbers that leaves out only what lies between two integers is therefore not everything.
Whoever means integers writes half-open ranges with whole ends everywhere (``integers(3, 4)`` is
``[3, 5)``), which behave as sets of integers do, or declares a finite domain.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from accountant.regions.linesets import Cut, LineSet, NumberCut, sweep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["Elementary", "Value", "ValueSet", "elementary", "is_text"]

Value: TypeAlias = int | Fraction | str | bool
"""What an attribute can be; a float is taken as the fraction it is exactly."""

_Number: TypeAlias = int | Fraction

_LARGEST_BITS = 4096  # of a numerator or denominator: far below where Python refuses to print one
_FRACTION = re.compile(r"(-?[0-9]{1,1300})/([1-9][0-9]{0,1299})")
_KINDS = frozenset({"booleans", "numbers", "strings"})


_NO_NUMBER: LineSet[NumberCut] = LineSet(begins_inside=False)
_EVERY_NUMBER: LineSet[NumberCut] = LineSet(begins_inside=True)
_NO_STRING: LineSet[str] = LineSet(begins_inside=False)
_EVERY_STRING: LineSet[str] = LineSet(begins_inside=True)


@dataclass(frozen=True, slots=True, repr=False)
class ValueSet:
    """A set of values of one attribute; two sets are equal exactly if they hold the same values.

    Make one with the class methods; the fields are the inner form. Python itself holds that
    ``{1, True}`` has one element: name the two in ``of`` to have both.
    """

    _booleans: int  # bit 0: False, bit 1: True
    _numbers: LineSet[NumberCut]
    _strings: LineSet[str]

    @classmethod
    def everything(cls) -> ValueSet:
        """Return the set of all values of every kind."""
        return cls(3, _EVERY_NUMBER, _EVERY_STRING)

    @classmethod
    def nothing(cls) -> ValueSet:
        """Return the empty set."""
        return cls(0, _NO_NUMBER, _NO_STRING)

    @classmethod
    def booleans(cls) -> ValueSet:
        """Return the set of the two truth values."""
        return cls(3, _NO_NUMBER, _NO_STRING)

    @classmethod
    def numbers(cls) -> ValueSet:
        """Return the set of all numbers."""
        return cls(0, _EVERY_NUMBER, _NO_STRING)

    @classmethod
    def strings(cls) -> ValueSet:
        """Return the set of all strings."""
        return cls(0, _NO_NUMBER, _EVERY_STRING)

    @classmethod
    def of(cls, *values: Value | float) -> ValueSet:
        """Return the set of the values listed, in any order, repeats allowed.

        Raises:
            ValueError: a value is NaN, infinite, or not a truth value, number or string.
        """
        booleans = 0
        numbers: set[_Number] = set()
        strings: set[str] = set()
        for value in values:
            exact = _exact(value)
            if isinstance(exact, bool):
                booleans |= 2 if exact else 1
            elif isinstance(exact, str):
                strings.add(exact)
            else:
                numbers.add(exact)
        number_cuts = ((number, side) for number in sorted(numbers) for side in (0, 1))
        string_cuts = (cut for text in sorted(strings) for cut in (text, _after(text)))
        return cls(
            booleans,
            LineSet.changing_at(number_cuts),
            _string_line(LineSet.changing_at(string_cuts)),
        )

    @classmethod
    def integers(cls, *values: int) -> ValueSet:
        """Return the integers listed, each as the numbers from it to before the next one.

        Such sets have the algebra of sets of integers: ``~integers(1)`` has nothing between 1 and
        2, and ``integers(1, 2)`` is ``between(1, 3)``.

        Raises:
            ValueError: a value is no integer.
        """
        exact = {_exact(value) for value in values if not isinstance(value, bool)}
        wholes = sorted(value for value in exact if isinstance(value, int))
        if len(exact) > len(wholes) or any(isinstance(value, bool) for value in values):
            raise ValueError("an integer is a whole number")
        cuts: Iterable[NumberCut] = ((end, 0) for each in wholes for end in (each, each + 1))
        return cls(0, LineSet.changing_at(cuts), _NO_STRING)

    @classmethod
    def between(
        cls,
        low: Value | float | None,
        high: Value | float | None,
        *,
        low_closed: bool = True,
        high_closed: bool = False,
    ) -> ValueSet:
        """Return the numbers, or the strings, from ``low`` to ``high``.

        Args:
            low: lower end; ``None`` for none.
            high: upper end; ``None`` for none. Below ``low`` the set is empty.
            low_closed: whether ``low`` itself belongs to it.
            high_closed: whether ``high`` itself belongs to it.

        Returns:
            A set of the kind of its ends; everything, of every kind, when there is neither.

        Raises:
            ValueError: an end is NaN, infinite or a truth value, or the ends are of two kinds.
        """
        first = None if low is None else _exact(low)
        last = None if high is None else _exact(high)
        if isinstance(first, bool) or isinstance(last, bool):
            raise ValueError("truth values have no order: no range of them")  # noqa: TRY004 - a programming error is a ValueError in this tree
        if first is None and last is None:
            return cls.everything()
        if isinstance(first, str | None) and isinstance(last, str | None):
            start = None if first is None else first if low_closed else _after(first)
            stop = None if last is None else _after(last) if high_closed else last
            return cls(0, _NO_NUMBER, _string_line(LineSet.between(start, stop)))
        if isinstance(first, str) or isinstance(last, str):
            raise ValueError("a range has two numbers or two strings as ends")  # noqa: TRY004 - as above
        floor = None if first is None else (first, 0 if low_closed else 1)
        ceiling = None if last is None else (last, 1 if high_closed else 0)
        return cls(0, LineSet.between(floor, ceiling), _NO_STRING)

    @property
    def empty(self) -> bool:
        """Whether it holds no value."""
        return not self._booleans and self._numbers.empty and self._strings.empty

    @property
    def is_everything(self) -> bool:
        """Whether it holds every value of every kind."""
        return self._booleans == 3 and self._numbers.full and self._strings.full

    def __contains__(self, value: object) -> bool:
        """Say whether ``value`` is in the set.

        Raises:
            ValueError: it is NaN, infinite, or not a truth value, number or string.
        """
        exact = _exact(value, bounded=False)
        if isinstance(exact, bool):
            return bool(self._booleans & (2 if exact else 1))
        if isinstance(exact, str):
            return self._strings.holds(exact)
        return self._numbers.holds((exact, 0))

    def complement(self) -> ValueSet:
        """Return every value of any kind that is not in the set."""
        return ValueSet(3 - self._booleans, self._numbers.complement(), self._strings.complement())

    def __invert__(self) -> ValueSet:
        """Return the complement."""
        return self.complement()

    def __and__(self, other: ValueSet) -> ValueSet:
        """Return the intersection, in time linear in the two forms."""
        return ValueSet(
            self._booleans & other._booleans,
            self._numbers.intersection(other._numbers),
            self._strings.intersection(other._strings),
        )

    def __or__(self, other: ValueSet) -> ValueSet:
        """Return the union, in time linear in the two forms."""
        return ~(~self & ~other)

    def overlaps(self, other: ValueSet) -> bool:
        """Say whether some value is in both."""
        return (
            bool(self._booleans & other._booleans)
            or self._numbers.overlaps(other._numbers)
            or self._strings.overlaps(other._strings)
        )

    def issubset(self, other: ValueSet) -> bool:
        """Say whether every value of it is in ``other``."""
        return (self & other) == self

    def to_data(self) -> dict[str, Any]:
        """Return the one form of the set as JSON data.

        Returns:
            Per kind that occurs ``true`` for all of it, or its points and ``[bracket, low, high,
            bracket]`` intervals in order, an end of ``null`` being none. Whole numbers are
            numbers; other ones are strings such as ``"7/2"``.
        """
        data: dict[str, Any] = {}
        if self._booleans:
            data["booleans"] = [flag for flag in (False, True) if flag in self]
        if not self._numbers.empty:
            data["numbers"] = _spans(self._numbers, _number_side)
        if not self._strings.empty:
            data["strings"] = _spans(self._strings, _string_side)
        return data

    @classmethod
    def from_data(cls, data: object) -> ValueSet:
        """Return the set that ``to_data`` wrote.

        Raises:
            ValueError: nothing that ``to_data`` writes looks so.
        """
        if not isinstance(data, dict) or not data.keys() <= _KINDS:
            raise ValueError("a set of values is an object of booleans, numbers and strings")
        flags = _listed(data.get("booleans", []))
        if not all(isinstance(flag, bool) for flag in flags):
            raise ValueError("a truth value is true or false")
        return cls(
            (1 if False in flags else 0) | (2 if True in flags else 0),
            _parsed(data.get("numbers", []), _number_cut),
            _parsed(data.get("strings", []), _string_cut),
        )

    def __repr__(self) -> str:
        """Return the JSON data in a readable wrapper."""
        return f"ValueSet({self.to_data()})"


@dataclass(frozen=True, slots=True)
class Elementary:
    """The values that belong to the same sets of a list.

    Args:
        members: bit ``i`` is set if they are in set ``i``.
        witness: one of them.
    """

    members: int
    witness: Value


def elementary(sets: Sequence[ValueSet], *, domain: ValueSet | None = None) -> list[Elementary]:
    """Return the classes of the values of ``domain`` by the sets they belong to.

    The elementary predicates of one attribute (MIDE, section 4): a query that only asks which sets
    hold a value need look at one witness per class. A row that lacks the attribute is in the sets
    of no constraint only, and so in a subset of what every class is in.

    Args:
        sets: sets of values of one attribute.
        domain: the values there are; every value by default.

    Returns:
        One entry per pattern of membership that occurs, none for an empty domain, in the order of
        the smallest values: truth values, then numbers, then strings. With ``n`` ends in all, the
        time is that of sorting them and of ``n`` operations on ``len(sets)`` bits.
    """
    everything = ValueSet.everything()
    # The domain is the last set: what it holds has the highest bit.
    tracked = (*sets, everything if domain is None else domain)
    inside = 1 << len(sets)
    found: dict[int, Value] = {}
    for flag in (False, True):
        found.setdefault(sum(1 << at for at, each in enumerate(tracked) if flag in each), flag)
    for members, low, high in sweep([each._numbers for each in tracked]):  # noqa: SLF001 - the same module's type
        found.setdefault(members, _number_between(low, high))
    for members, start, _ in sweep([each._strings for each in tracked]):  # noqa: SLF001 - as above
        found.setdefault(members, start or "")
    return [
        Elementary(members ^ inside, witness)
        for members, witness in found.items()
        if members & inside
    ]


def is_text(text: str) -> bool:
    """Say whether a string can be written: it has no half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _number_between(low: NumberCut | None, high: NumberCut | None) -> _Number:
    """Return a number between two neighbouring cuts, a whole one where that is easy."""
    if low is None:
        return 0 if high is None else math.ceil(high[0]) - 1
    if low[1] == 0:
        return low[0]
    whole = math.floor(low[0]) + 1
    if high is None or whole < high[0]:
        return whole
    return _reduced(Fraction(low[0] + high[0]) / 2)


def _exact(value: object, *, bounded: bool = True) -> Value:
    """Return a value as plain bool, int, Fraction (never a whole one) or str; refuse the rest."""
    match value:
        case bool():
            return value
        case int():
            exact: _Number = int(value)
        case Fraction():
            exact = _reduced(value)
        case float() if math.isfinite(value):
            exact = _reduced(Fraction(value))
        case float():
            raise ValueError("a number is finite: NaN and infinities are no values")
        case str():
            text = str.__str__(value)
            if bounded and not is_text(text):
                raise ValueError("a string has no half surrogates")
            return text
        case _:
            raise ValueError(
                f"a value is a truth value, a number or a string, not {type(value).__name__}"
            )
    if (
        bounded
        and max(exact.numerator.bit_length(), exact.denominator.bit_length()) > _LARGEST_BITS
    ):
        raise ValueError(f"a number has at most {_LARGEST_BITS} bits above and below the line")
    return exact


def _reduced(number: Fraction) -> _Number:
    return number.numerator if number.denominator == 1 else number


def _after(text: str) -> str:
    """Return the string that follows at once in the order by code points."""
    return text + "\0"


def _string_line(line: LineSet[str]) -> LineSet[str]:
    """Return the same set without a cut at the empty string: nothing comes before it."""
    if line.cuts[:1] == ("",):
        return LineSet(not line.begins_inside, line.cuts[1:])
    return line


def _number_side(cut: NumberCut) -> tuple[int | str, bool]:
    """Return the number of a cut, as JSON has it, and whether the cut stands after it."""
    number, side = cut
    return (number if isinstance(number, int) else str(number)), side == 1


def _string_side(cut: str) -> tuple[str, bool]:
    """Return the string of a cut and whether the cut stands after it."""
    return (cut[:-1], True) if cut.endswith("\0") else (cut, False)


def _spans(
    line: LineSet[Cut], side: Callable[[Cut], tuple[int | str, bool]]
) -> list[Any] | Literal[True]:
    """Return the points and intervals of a line as JSON data, or ``True`` for all of it."""
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


def _listed(data: object) -> list[Any]:
    if not isinstance(data, list):
        raise ValueError("the values of a kind are a list")  # noqa: TRY004 - text that does not parse is a ValueError
    return data


def _parsed(spans: object, cut: Callable[[object, bool], Cut]) -> LineSet[Cut]:
    """Return the line that ``_spans`` wrote."""
    if spans is True:
        return LineSet(begins_inside=True)
    ends: list[Cut | None] = []
    for span in _listed(spans):
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


def _number_cut(end: object, after: bool) -> NumberCut:
    if isinstance(end, int) and not isinstance(end, bool):
        _exact(end)
        return end, int(after)
    if isinstance(end, str) and (parts := _FRACTION.fullmatch(end)):
        number = _exact(Fraction(int(parts[1]), int(parts[2])))
        if isinstance(number, Fraction):
            return number, int(after)
    raise ValueError("a number is whole, or a reduced fraction in a string")


def _string_cut(end: object, after: bool) -> str:
    if isinstance(end, str) and is_text(end) and (after or end):
        return _after(end) if after else end
    raise ValueError("a string is text, and nothing comes before the empty one")
