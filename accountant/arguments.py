"""Arguments of the library, checked where they come in: a sentence instead of a traceback inside.

A check says which argument, what it should be and what kind of thing it is; never its value, which
may be a count.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.errors import ArgumentError, TocsinError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "EXACT",
    "FLAG",
    "INTEGERS",
    "NATURAL",
    "NUMBER",
    "TEXT",
    "WHOLE",
    "WHOLES",
    "Kind",
    "expect",
    "instance_of",
    "one_of",
    "or_none",
    "sentence_of",
    "several",
    "tuple_of",
]


@dataclass(frozen=True, slots=True)
class Kind:
    """What an argument should be.

    Args:
        wanted: in words, with an article.
        hint: how one writes such a thing.
        holds: tells whether a value is one.
    """

    wanted: str
    hint: str
    holds: Callable[[object], bool]


def expect(kind: Kind, /, **given: object) -> None:
    """Check arguments by their names.

    Raises:
        ArgumentError: the first that is something else.
    """
    for name, value in given.items():
        if not kind.holds(value):
            raise ArgumentError(f"`{name}` is {kind.wanted}, not {_said(value)}", hint=kind.hint)


def sentence_of(error: Exception) -> str:
    """Return what an error says, without its hint: for whoever adds another.

    Args:
        error: a refused argument, or any other.
    """
    return error.sentence if isinstance(error, TocsinError) else str(error)


@cache
def instance_of(*kinds: type) -> Kind:
    """Return the kind that instances of some classes are."""
    names = " or ".join(kind.__name__ for kind in kinds)
    where = f"make a {names} first: docs/how-to/use-as-a-library.md has examples"
    return Kind(f"a {names}", where, lambda value: isinstance(value, kinds))


@cache
def or_none(kind: Kind) -> Kind:
    """Return the kind that also takes ``None``."""
    return Kind(
        f"{kind.wanted} or None", kind.hint, lambda value: value is None or kind.holds(value)
    )


@cache
def one_of(*words: str) -> Kind:
    """Return the kind that some words are."""
    known = ", ".join(words)
    hint = f"write one of {', '.join(map(repr, words))}"
    return Kind(f"one of {known}", hint, lambda value: isinstance(value, str) and value in words)


@cache
def several(kind: Kind) -> Kind:
    """Return the kind of a list or tuple of such values."""
    return Kind(
        f"a list, each {kind.wanted}",
        f"write a list; {kind.hint}",
        lambda value: isinstance(value, list | tuple) and all(map(kind.holds, value)),
    )


def tuple_of(kind: Kind) -> Kind:
    """Return the kind of a tuple of such values."""
    return Kind(
        f"a tuple, each {kind.wanted}",
        f"write a tuple, such as (9,); {kind.hint}",
        lambda value: isinstance(value, tuple) and all(map(kind.holds, value)),
    )


WHOLE: Final = Kind(
    "a whole number", "write an int, such as 9", lambda value: isinstance(value, int | np.integer)
)
EXACT: Final = Kind(
    "an exact number",
    "write Fraction(1, 20), or Fraction('0.05'): a float is not the number that was typed",
    lambda value: isinstance(value, int | Fraction | np.integer),
)
NUMBER: Final = Kind(
    "a number",
    "write 0.05 or Fraction(1, 20)",
    lambda value: isinstance(value, int | float | Fraction | np.integer | np.floating),
)
NATURAL: Final = Kind(
    "a whole number from 0 on",
    "write an int, such as 2",
    lambda value: isinstance(value, int | np.integer) and bool(value >= 0),
)
FLAG: Final = Kind(
    "True or False", "write True or False", lambda value: isinstance(value, bool | np.bool_)
)
TEXT: Final = Kind("a text", "write a str", lambda value: isinstance(value, str))
INTEGERS: Final = Kind(
    "a numpy array of int64",
    "write np.asarray(values, dtype=np.int64)",
    lambda value: isinstance(value, np.ndarray) and value.dtype == np.int64,
)
WHOLES: Final = tuple_of(WHOLE)


def _said(value: object) -> str:
    """Return what kind of thing a value is, without the value."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}"
    if value is None:
        return "None"
    if isinstance(value, str):
        return "some text"
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
