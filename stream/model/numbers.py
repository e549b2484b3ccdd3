"""Exact numbers as people write them."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import count
from typing import Final

__all__ = ["INT64", "LONGEST_NUMBER", "decimal", "number", "whole_steps"]

INT64: Final = 1 << 63
"""Integers of events lie in ``[-INT64, INT64)``."""

LONGEST_NUMBER: Final = 300
"""Characters of the longest number that is read: sums and products of some stay printable."""

_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_RATIO = re.compile(r"[+-]?[0-9]+\s*/\s*[0-9]+")


def number(text: str) -> Fraction | None:
    """Return the exact value of a decimal number or a fraction ``a/b``, else ``None``.

    So it does for a text longer than ``LONGEST_NUMBER``.
    """
    text = text.strip()
    if len(text) > LONGEST_NUMBER:
        return None
    if _NUMBER.fullmatch(text):
        return Fraction(text)
    if _RATIO.fullmatch(text):
        above, below = text.split("/")
        return Fraction(int(above), int(below)) if int(below) else None
    return None


def decimal(value: Fraction) -> str:
    """Return a fraction as people write it: ``0.05`` where decimals end, else ``1/3``."""
    below = value.denominator
    if pow(10, below.bit_length(), below):  # decimals do not end
        return str(value)
    places = next(at for at in count() if not pow(10, at, below))
    digits = str(abs(int(value * 10**places))).rjust(places + 1, "0")
    text = f"{digits[:-places]}.{digits[-places:]}" if places else digits
    return f"-{text}" if value < 0 else text


def whole_steps(value: Fraction, step: Fraction) -> tuple[int, str]:
    """Return ``value`` in whole steps and "", or 0 and the nearest multiples to write instead."""
    steps = value / step
    if steps.denominator == 1:
        return int(steps), ""
    below = steps.numerator // steps.denominator
    return 0, f"write {decimal(below * step)} or {decimal((below + 1) * step)}"
