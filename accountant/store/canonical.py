"""Values as chains hash them: JSON without spaces, put together piece by piece.

Guarantee: a text is the one that ``json.dumps`` gives, separators ``,`` and ``:``, wherever a row
holds what its columns are declared as, and no such text where it holds anything else. Encoding a
whole row takes several times longer, and a ledger is verified a million rows at a time.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["hexed", "quoted", "whole", "wholes"]

quoted = lru_cache(maxsize=4_096)(json.dumps)
"""The text of a string: names and fingerprints, which thousands of rows repeat."""


def whole(value: int | None) -> str:
    """Return the text of an integer that may be missing."""
    # Python's own text of a string or a float, say, is never that of an integer.
    return "null" if value is None else repr(value)


def wholes(values: Iterable[int]) -> str:
    """Return the text of a list of integers."""
    return f"[{','.join(map(repr, values))}]"


def hexed(value: bytes | None) -> str:
    """Return the text of bytes in hexadecimal, that may be missing."""
    return "null" if value is None else f'"{value.hex()}"'
