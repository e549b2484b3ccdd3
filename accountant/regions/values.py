"""Values of attributes: truth values, numbers and strings, each in one exact form."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TypeAlias

__all__ = ["Number", "Value", "after", "exact_value", "is_text", "reduced"]

Value: TypeAlias = int | Fraction | str | bool
"""What an attribute can be; a float is taken as the fraction it is exactly."""

Number: TypeAlias = int | Fraction

_LARGEST_BITS = 4096  # of a numerator or denominator: far below where Python refuses to print one


def exact_value(value: object, *, bounded: bool = True) -> Value:
    """Return a value as plain bool, int, Fraction (never a whole one) or str.

    Args:
        value: anything.
        bounded: whether it has to be fit for writing.

    Raises:
        ValueError: it is NaN, infinite, of no known kind, or not fit for writing.
    """
    match value:
        case bool():
            return value
        case int():
            number: Number = int(value)
        case Fraction():
            number = reduced(value)
        case float() if math.isfinite(value):
            number = reduced(Fraction(value))
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
        and max(number.numerator.bit_length(), number.denominator.bit_length()) > _LARGEST_BITS
    ):
        raise ValueError(f"a number has at most {_LARGEST_BITS} bits above and below the line")
    return number


def reduced(number: Fraction) -> Number:
    """Return a whole fraction as an integer, any other as it is."""
    return number.numerator if number.denominator == 1 else number


def after(text: str) -> str:
    """Return the string that follows at once in the order by code points."""
    return text + "\0"


def is_text(text: str) -> bool:
    """Say whether a string can be written: it has no half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
