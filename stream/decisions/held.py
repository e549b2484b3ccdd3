"""Which cells of a window are held: those whose last alarm began a hold that is not over.

A pure function of what the alarm released before, by the ends of windows and never by a clock: so
it is private for nothing, and the same after any crash, on any worker. What the ledger does not
know to have fired (recovered decisions say how many fired, not which) holds nothing: those cells
are asked again, and pay.

::

    hold: 2h     windows     |  0  |  1  |  2  |  3  |  4  |  5  |
                 a cell         .     F     h     h     .     F      F fired, h held, . did not fire
                                      └─ held: window ends up to 2h after this one's end
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np

from stream.decisions.release import released_alarms, whole_window

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from accountant.costs.charges import WindowKey
    from accountant.ledger.progress import Progress
    from stream.model.alarm import Alarm

__all__ = ["held_cells", "held_from_ms"]


def held_cells(alarm: Alarm, key: WindowKey, progress: Progress) -> NDArray[np.bool_] | None:
    """Return which cells of a window are held, shape (cells,); ``None`` for an alarm without hold.

    An early alarm holds whole windows: what one step of a window is, all its steps are.

    Args:
        alarm: the alarm.
        key: its oldest undecided window, or step: all before it are decided.
        progress: of the ledger, which has these decisions.
    """
    if not alarm.hold_ms:
        return None
    held = np.zeros(len(alarm.domain), dtype=np.bool_)
    end_ms = whole_window(alarm, key)[1]
    since_ms = end_ms - alarm.hold_ms
    for decision in progress.decided(
        alarm.id, since_ms - alarm.calendar.longest_ms, key.start_ms - 1
    ):
        if decision.fingerprint != alarm.fingerprint:
            continue
        for fired, group in released_alarms(decision):
            if since_ms <= whole_window(alarm, fired)[1] < end_ms:
                held[alarm.domain.index(group.values())] = True
    return held


def held_from_ms(alarms: Mapping[str, Alarm], progress: Progress) -> int:
    """Return an instant such that no window to come is held for one that ended by then.

    What fired before it may be forgotten; cursors only rise, so that it stays right.

    Args:
        alarms: the alarms, by id.
        progress: of their ledger.
    """
    holding = ((alarms.get(one.query), one.cursor_ms) for one in progress.queries())
    reach = (
        cursor_ms - alarm.hold_ms - alarm.calendar.longest_ms
        for alarm, cursor_ms in holding
        if alarm is not None and alarm.hold_ms
    )
    return min(reach, default=sys.maxsize)
