"""Where a function passes zero is found to the last bit, with few questions."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from operators.search import passing_zero


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
