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
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from accountant.regions.linesets import LineSet, NumberCut, sweep
from accountant.regions.spans import (
    listed,
    number_cut,
    number_side,
    parsed,
    string_cut,
    string_side,
    written,
)
from accountant.regions.values import after, exact_value, reduced

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from accountant.regions.values import Number, Value

__all__ = ["Elementary", "ValueSet", "elementary"]

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
        numbers: set[Number] = set()
        strings: set[str] = set()
        for value in values:
            exact = exact_value(value)
            if isinstance(exact, bool):
                booleans |= 2 if exact else 1
            elif isinstance(exact, str):
                strings.add(exact)
            else:
                numbers.add(exact)
        number_cuts = ((number, side) for number in sorted(numbers) for side in (0, 1))
        string_cuts = (cut for text in sorted(strings) for cut in (text, after(text)))
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
        exact = [exact_value(value) for value in values]
        wholes = sorted({value for value in exact if type(value) is int})
        if any(type(value) is not int for value in exact):
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
        first = None if low is None else exact_value(low)
        last = None if high is None else exact_value(high)
        if isinstance(first, bool) or isinstance(last, bool):
            raise ValueError("truth values have no order: no range of them")  # noqa: TRY004 - a programming error is a ValueError in this tree
        if first is None and last is None:
            return cls.everything()
        if isinstance(first, str | None) and isinstance(last, str | None):
            start = None if first is None else first if low_closed else after(first)
            stop = None if last is None else after(last) if high_closed else last
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
        exact = exact_value(value, bounded=False)
        if isinstance(exact, bool):
            return bool(self._booleans & (2 if exact else 1))
        if isinstance(exact, str):
            return self._strings.holds(exact)
        return self._numbers.holds((exact, 0))

    def __invert__(self) -> ValueSet:
        """Return every value of any kind that is not in the set."""
        return ValueSet(3 - self._booleans, self._numbers.complement(), self._strings.complement())

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
            data["numbers"] = written(self._numbers, number_side)
        if not self._strings.empty:
            data["strings"] = written(self._strings, string_side)
        return data

    @classmethod
    def from_data(cls, data: object) -> ValueSet:
        """Return the set that ``to_data`` wrote.

        Raises:
            ValueError: nothing that ``to_data`` writes looks so.
        """
        if not isinstance(data, dict) or not data.keys() <= _KINDS:
            raise ValueError("a set of values is an object of booleans, numbers and strings")
        flags = listed(data.get("booleans", []))
        if not all(isinstance(flag, bool) for flag in flags):
            raise ValueError("a truth value is true or false")
        return cls(
            (1 if False in flags else 0) | (2 if True in flags else 0),
            parsed(data.get("numbers", []), number_cut),
            parsed(data.get("strings", []), string_cut),
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


def elementary(sets: Sequence[ValueSet]) -> list[Elementary]:
    """Return the classes of values by the sets they belong to.

    The elementary predicates of one attribute (MIDE, section 4): a query that only asks which sets
    hold a value need look at one witness per class. A row that lacks the attribute is in the sets
    of no constraint only, and so in a subset of what every class is in.

    Args:
        sets: sets of values of one attribute.

    Returns:
        One entry per pattern of membership that occurs, in the order of the smallest values: truth
        values, then numbers, then strings. With ``n`` ends in all, the time is that of sorting them
        and of ``n`` operations on ``len(sets)`` bits.
    """
    found: dict[int, Value] = {}
    for flag in (False, True):
        found.setdefault(sum(1 << at for at, each in enumerate(sets) if flag in each), flag)
    for members, low, high in sweep([each._numbers for each in sets]):  # noqa: SLF001 - the same module's type
        found.setdefault(members, _number_between(low, high))
    for members, start, _ in sweep([each._strings for each in sets]):  # noqa: SLF001 - as above
        found.setdefault(members, start or "")
    return [Elementary(members, witness) for members, witness in found.items()]


def _number_between(low: NumberCut | None, high: NumberCut | None) -> Number:
    """Return a number between two neighbouring cuts, a whole one where that is easy."""
    if low is None:
        return 0 if high is None else math.ceil(high[0]) - 1
    if low[1] == 0:
        return low[0]
    whole = math.floor(low[0]) + 1
    if high is None or whole < high[0]:
        return whole
    return reduced(Fraction(low[0] + high[0]) / 2)


def _string_line(line: LineSet[str]) -> LineSet[str]:
    """Return the same set without a cut at the empty string: nothing comes before it."""
    if line.cuts[:1] == ("",):
        return LineSet(not line.begins_inside, line.cuts[1:])
    return line
