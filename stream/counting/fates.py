"""What becomes of a row: how far an alarm brings it to its counts, and what that is for a feed.

The farthest that any alarm of a feed brings a row decides whether the row is a drop, and of which
kind: so a row has one fate however many alarms read it, and a row that one alarm can use is no drop
because another cannot.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["FAULTS", "Fate", "drops_of"]


class Fate(IntEnum):
    """Where a row left an alarm's way, nearest to the start first.

    What lies between the first and the last are faults of the row, and drops where no alarm brought
    it farther; their names in small letters are the reasons that the custodian sees.
    """

    UNASKED = 0
    """The alarm does not ask for it: its WHERE, or the FILTER of its every statistic, is not true
    of the row, or no window of its calendar that is still open runs at the row's time."""
    OUT_OF_DOMAIN = 1
    """A group value is null or not declared."""
    BAD_VALUE = 2
    """No statistic that asks for it finds a finite value in its field."""
    BAD_TIME = 3
    """Its event or append time lies outside 1970 to 9999."""
    EARLY = 4
    """Dated after its append time by more than the allowed skew."""
    LATE = 5
    """Every window that contains it was cut before it came."""
    USED = 6
    """A window takes it (duplicates and caps are looked for later), or it came in time for one
    before the first that is read for: that one was decided, or nobody asked for it."""


FAULTS: Final = tuple(fate for fate in Fate if Fate.UNASKED < fate < Fate.USED)


def drops_of(fates: NDArray[np.uint8]) -> Mapping[str, int]:
    """Return how many rows are drops, by reason; reasons of none are left out.

    Args:
        fates: shape (n,): per row the farthest that any alarm brought it.
    """
    if not len(fates) or int(fates.min()) == Fate.USED:
        return {}
    found = np.bincount(fates, minlength=len(Fate)).tolist()
    return {fate.name.lower(): found[fate] for fate in FAULTS if found[fate]}
