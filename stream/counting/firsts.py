"""Who counts in which step of a window: people in the first that they are in, and in no other.

So what the steps of a window count adds up to what the window does. A step counts whoever a window
that ended with it would count and the step before does not; a row that was late for its own step is
taken by the first whose cut it made.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from stream.counting.bounding import Contributions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["in_turn"]


def in_turn(
    taken: Mapping[int, Sequence[Contributions]], step: int
) -> tuple[Contributions, int] | None:
    """Return rows in the order in which steps took them, and how many were taken before one.

    Whoever counts at a step then counts in it at all later ones: a row that was late, and stands
    before others in the log, takes nobody's place.

    Args:
        taken: by step, the rows that it is the first to take; none later than ``step``.
        step: the one that is looked at.

    Returns:
        ``None`` without any row.
    """
    ordered: list[Contributions] = []
    rows = before = 0
    for each in sorted(at for at, parts in taken.items() if parts):
        joined = Contributions.join(taken[each])
        ordered.append(replace(joined, sequence=np.arange(rows, rows + len(joined))))
        rows += len(joined)
        if each < step:
            before = rows
    return (Contributions.join(ordered), before) if ordered else None
