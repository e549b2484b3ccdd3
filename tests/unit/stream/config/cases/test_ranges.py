"""What a test takes of probabilities: bounds, and what lies between."""

from __future__ import annotations

import math

import pytest

from stream.config.cases.ranges import range_of


@pytest.mark.parametrize(
    ("text", "taken", "refused"),
    [
        (">= 0.95", (0.95, 1.0, math.nextafter(0.95, 0)), (0.9499999, 0.0)),
        ("<= 1/20", (0.05, 0.0, math.nextafter(0.05, 1)), (0.0500001,)),
        (">0.5", (0.500001,), (0.5, math.nextafter(0.5, 1))),
        ("< 0.5", (0.0, 0.499999), (0.5, math.nextafter(0.5, 0))),
        ("> 0", (1e-300,), (0.0,)),
        ("< 1", (1 - 1e-12,), (1.0,)),
        ("<= 1e-12", (1e-12, 0.0), (1.1e-12,)),
        ("0.2 to 0.4", (0.2, 0.3, 0.4), (0.1999999, 0.4000001)),
    ],
)
def test_a_range_takes_what_is_written(text, taken, refused):
    """A bound that may be met is met within the rounding of floats; others must be passed."""
    found = range_of(text)
    assert [found.holds(each) for each in taken] == [True] * len(taken)
    assert [found.holds(each) for each in refused] == [False] * len(refused)


def test_bounds_of_a_probability_are_taken_from_the_worst_side():
    """A law that depends on an order holds for all of it; an estimate fails only beyond doubt."""
    found = range_of(">= 0.9")
    assert found.holds_within(0.9, 0.95)
    assert not found.holds_within(0.8, 0.95)
    assert found.meets(0.8, 0.95)
    assert not found.meets(0.7, 0.8)
    assert range_of("< 0.1").meets(0.05, 0.2)
    assert not range_of("< 0.1").meets(0.15, 0.2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0.35", "not a range"),
        (">= 95", "between 0 and 1"),
        (">= -0.1", "between 0 and 1"),
        ("=> 0.9", "not a range"),
        (">= often", "not a probability"),
        (">= ", "not a probability"),
    ],
)
def test_what_is_no_range_is_said_so(text, said):
    """With the reason."""
    with pytest.raises(ValueError, match=said):
        range_of(text)
