"""Starts and refusals as metrics: read from the ledger, since a worker that ends is not scraped.

A counter that a worker raises just before it ends is seen by nobody. The ledger remembers; the next
worker that gets as far, and any that runs beside it, shows what it says.
"""

from __future__ import annotations

from typing import Final

from accountant import errors

__all__ = ["KINDS", "kind_of"]

_UNEXPECTED: Final = "unexpected"
_NEVER: Final = ("TocsinError", "ArgumentError")  # a base, and what is a mistake like any other
KINDS: Final = (*(name for name in errors.__all__ if name not in _NEVER), _UNEXPECTED)
"""All kinds of refusals."""


def kind_of(error: BaseException) -> str:
    """Return the class of an error that stops a worker; its text goes nowhere."""
    names = (each.__name__ for each in type(error).__mro__)
    return next((name for name in names if name in KINDS), _UNEXPECTED)
