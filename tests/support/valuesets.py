"""Random sets of values, each with what it should hold of a grid that tells all of them apart."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from accountant.regions.regions import ValueSet

if TYPE_CHECKING:
    from accountant.regions.regions import Value

HALF = Fraction(1, 2)
NUMBERS: list[Any] = [-1, 0, Fraction(1, 4), HALF, Fraction(3, 4), 1, Fraction(3, 2), 2, 3]
STRINGS: list[Any] = ["", "\0", "A", "a", "a\0", "a\0\0", "aa", "b", "b\0", "\U0001f600"]
GRID: list[Any] = [False, True, *NUMBERS, *STRINGS]
NUMBER_ENDS = [0, HALF, 1, 2]
STRING_ENDS = ["", "a", "a\0", "b"]

Member = tuple[ValueSet, frozenset[int]]  # a set, and the places of its values in the grid


def place(*values: Value) -> frozenset[int]:
    """Return where values stand in the grid; places tell True from 1."""
    return frozenset(
        at
        for at, known in enumerate(GRID)
        if any(type(known) is type(value) and known == value for value in values)
    )


def found(values: ValueSet) -> frozenset[int]:
    """Return the places of the grid's values that a set holds."""
    return frozenset(at for at, value in enumerate(GRID) if value in values)


@st.composite
def points(draw: st.DrawFn) -> Member:
    """Draw a few values."""
    ends: list[Any] = [False, True, *NUMBER_ENDS, *STRING_ENDS]
    values = draw(st.lists(st.sampled_from(ends), max_size=4))
    return ValueSet.of(*values), place(*values)


@st.composite
def ranges(draw: st.DrawFn) -> Member:
    """Draw a range of numbers or of strings, turned around or without end at times."""
    kinds = draw(st.sampled_from([(NUMBER_ENDS, NUMBERS), (STRING_ENDS, STRINGS)]))
    ends, values = kinds
    low, high = draw(st.sampled_from(ends)), draw(st.sampled_from(ends))
    openness = draw(st.sampled_from(["both", "low", "high"]))
    low_closed, high_closed = draw(st.booleans()), draw(st.booleans())
    inside = [
        value
        for value in values
        if (openness == "low" or low < value or (low == value and low_closed))
        and (openness == "high" or value < high or (value == high and high_closed))
    ]
    return ValueSet.between(
        None if openness == "low" else low,
        None if openness == "high" else high,
        low_closed=low_closed,
        high_closed=high_closed,
    ), place(*inside)


ALL = frozenset(range(len(GRID)))
WHOLE = st.sampled_from(
    [
        (ValueSet.everything(), ALL),
        (ValueSet.nothing(), frozenset[int]()),
        (ValueSet.booleans(), place(False, True)),
        (ValueSet.numbers(), place(*NUMBERS)),
        (ValueSet.strings(), place(*STRINGS)),
    ]
)
SETS: st.SearchStrategy[Member] = st.recursive(
    points() | ranges() | WHOLE,
    lambda inner: st.one_of(
        inner.map(lambda each: (~each[0], ALL - each[1])),
        st.tuples(inner, inner).map(lambda two: (two[0][0] & two[1][0], two[0][1] & two[1][1])),
        st.tuples(inner, inner).map(lambda two: (two[0][0] | two[1][0], two[0][1] | two[1][1])),
    ),
    max_leaves=6,
)
