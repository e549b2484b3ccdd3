"""Errors by their type and place: what can be said of one whose text may quote an event."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["place_of"]

_FRAMES: Final = 6
"""Innermost frames that are named: from ours down into a library's."""


def place_of(error: BaseException) -> str:
    """Return where an error was raised, ``module:line function``, innermost first.

    Only names of code are in it: no text of the error, no value, no line of source.

    Args:
        error: as it was caught; the place of one that was never raised is empty.
    """
    return " < ".join(reversed(_frames(error.__traceback__)[-_FRAMES:]))


def _frames(trace: TracebackType | None) -> list[str]:
    return [
        f"{frame.f_globals.get('__name__', '?')}:{line} {frame.f_code.co_name}"
        for frame, line in traceback.walk_tb(trace)
    ]
