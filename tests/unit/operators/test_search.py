"""What is looked for is found to the last step or bit, with few questions."""

from __future__ import annotations

import math
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from operators.search import largest, passing_zero, rounded, rounded_index, smallest


@given(at=st.floats(1e-9, 1e9), below=st.floats(1e-6, 1e6), above=st.floats(1e-6, 1e6))
def test_the_number_is_found_itself(at, below, above):
    """The least float at which the function is not below zero, wherever the search begins."""
    asked = []

    def rising(x):
        asked.append(x)
        return x - at

    low, high = at - below, at + above
    assert passing_zero(rising, low, high) == at
    assert all(low < x < high for x in asked)
    assert len(asked) < 200


def test_a_number_beside_the_end_is_that_end():
    """Between two neighbouring floats there is nothing to ask about."""

    def never(x):
        raise AssertionError(x)

    assert passing_zero(never, 1.0, math.nextafter(1.0, 2.0)) == math.nextafter(1.0, 2.0)


@given(st.integers(0, 60), st.integers(0, 60), st.integers(-5, 70), st.booleans())
def test_smallest_finds_the_edge(low, span, edge, near):
    """Wherever it begins, the search ends at the first number that fits, asking inside only."""
    high = low + span

    def at_least(number):
        assert low < number <= high
        return number >= edge

    first = max(edge, low + 1)
    assert smallest(at_least, low, high, near=near) == (first if first <= high else None)
    assert largest(lambda number: not at_least(number), low, high) == min(high, first - 1)


@given(st.fractions(min_value=Fraction(1, 10**12), max_value=10**6))
def test_three_digits_are_rounded_up(value):
    """The least number of three significant digits that is not below."""
    index = rounded_index(value)
    assert rounded(index - 1) < value <= rounded(index)
    assert rounded_index(rounded(index)) == index
    assert len(f"{rounded(index).numerator}".strip("0")) <= 3 or rounded(index) < 1
