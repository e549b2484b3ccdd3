"""What people have used up of a cap over a budget period: in how many windows each counted so far.

A person counts in the first ``most`` windows of an alarm that touch a period and that they have
rows in, in the order in which windows end. Guarantee: whether somebody counts in a window depends
on their own rows of that period alone, and on the windows of the public calendar: not on what was
decided, denied or drawn, nor on how the log was read. So all events of one person and period
together change at most ``most`` windows, always the same ones, whatever the noise.

The windows of a calendar are taken one by one, in order, none left out that the person may have
rows in: also those that are denied, that were decided before, or that began before the alarm was
registered. What was used up is as confidential as counts are.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Final

import numpy as np

from stream.events.grouping import numbered

if TYPE_CHECKING:
    from stream.counting.bounding import Contributions

__all__ = ["Usage"]

_ROW: Final = np.dtype([("low", "<u8"), ("high", "<u8"), ("period", "<i8"), ("windows", "<i8")])
_PERSON: Final = ["low", "high", "period"]


class Usage:
    """In how many windows people counted, period by period, through one window.

    Args:
        most: in how many windows of a period somebody counts.
        text: from :meth:`encoded`; empty for nobody.

    Raises:
        ValueError: the text is none.

    Attributes:
        met: how many people, by period, have rows in the window that was taken last.
        beyond: how many of them do not count in it.
    """

    def __init__(self, most: int, text: bytes = b"") -> None:
        self._most = most
        self._rows = np.frombuffer(text, _ROW)
        self.forget_last()

    def encoded(self) -> bytes:
        """Return it as bytes: the same for the same people, whatever they were read from."""
        return self._rows.tobytes()

    def take(self, rows: Contributions) -> Contributions:
        """Count everybody who has rows in the next window, and return the rows that count there.

        Args:
            rows: of that window, in log order, before any other cap.
        """
        self.forget_last()
        if not len(rows):
            return rows
        person, first = numbered(rows.unit.number, rows.period)
        here = np.zeros(len(first), _ROW)
        hashed = rows.unit.roster.hashed[rows.unit.number[first]]
        here["low"], here["high"], here["period"] = hashed[:, 0], hashed[:, 1], rows.period[first]
        both, known = np.concatenate([self._rows, here]), len(self._rows)
        people, place = np.unique(both[_PERSON], return_inverse=True)
        self._rows = np.zeros(len(people), _ROW)
        self._rows[_PERSON] = people
        windows = self._rows["windows"]
        windows[place[:known]] = both["windows"][:known]
        counts = windows[place[known:]] < self._most
        windows[place[known:][counts]] += 1
        self.met, self.beyond = len(counts), int((~counts).sum())
        if not self.beyond:
            return rows
        return rows.take(counts[person])

    def forget_last(self) -> None:
        """Forget how many people were in the window that was taken last."""
        self.met = self.beyond = 0

    def forget_before(self, period_ms: int) -> None:
        """Forget periods that start before an instant: no window to come touches them."""
        kept = self._rows["period"] >= period_ms
        if not kept.all():
            self._rows = self._rows[kept]

    def copy(self) -> Usage:
        """Return one that goes on by itself."""
        return copy(self)  # its rows are replaced, never written to

    def __len__(self) -> int:
        """For how many people and periods it tells."""
        return len(self._rows)
