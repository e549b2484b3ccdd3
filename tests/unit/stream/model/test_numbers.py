"""Numbers as people write them, exactly."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream.model.numbers import LONGEST_NUMBER, decimal, number, whole_steps


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("4", Fraction(4)),
        (" 0.05 ", Fraction(1, 20)),
        ("-.5", Fraction(-1, 2)),
        ("1e-3", Fraction(1, 1000)),
        ("4 / 15", Fraction(4, 15)),
        ("1/0", None),
        ("1/3.0", None),
        ("four", None),
        ("0x10", None),
        ("1_000", None),
        ("nan", None),
        ("", None),
        ("1e9999", None),
        ("9" * LONGEST_NUMBER, Fraction(10**LONGEST_NUMBER - 1)),
        ("9" * (LONGEST_NUMBER + 1), None),
    ],
)
def test_a_number_is_read_exactly_or_not_at_all(text, value):
    """Decimals and fractions of whole numbers; nothing that Python alone would take."""
    assert number(text) == value


@given(st.fractions())
def test_what_is_written_is_read_again(value):
    """Decimals where they end, a fraction where they do not."""
    assert number(decimal(value)) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(1, 20), "0.05"),
        (Fraction(-5, 2), "-2.5"),
        (Fraction(1, 3), "1/3"),
        (Fraction(120), "120"),
        (Fraction(-1, 1024), "-0.0009765625"),
    ],
)
def test_numbers_are_written_as_people_do(value, text):
    """Without an exponent, and with no digit too many."""
    assert decimal(value) == text


def test_what_is_no_whole_number_of_steps_names_its_neighbours():
    """Also below zero."""
    assert whole_steps(Fraction(3, 2), Fraction(1, 2)) == (3, "")
    assert whole_steps(Fraction(7, 4), Fraction(1, 2)) == (0, "write 1.5 or 2")
    assert whole_steps(Fraction(-7, 4), Fraction(1, 2)) == (0, "write -2 or -1.5")
