"""What was found in recorded events: exact and private, for the custodian's terminal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "OUTSIDE_HISTORY",
    "OUTSIDE_WINDOWS",
    "UNASKED",
    "AlarmSurvey",
    "FeedSurvey",
    "Finding",
]

OUTSIDE_HISTORY: Final = "outside_history"
"""Dated outside the feed's public history."""
OUTSIDE_WINDOWS: Final = "outside_windows"
"""Dated in the history, when no window that is to be decided runs."""
UNASKED: Final = "unasked"
"""No alarm's WHERE or FILTER is true of it."""


@dataclass(slots=True)
class Finding:
    """Rows that share a fault; private.

    Args:
        rows: how many.
        place: where the first of them stands; empty where that was not looked for.
        example: what is wrong with it, with its values.
    """

    rows: int = 0
    place: str = ""
    example: str = ""

    def add(self, rows: int, example: Callable[[], tuple[str, str]] | None = None) -> None:
        """Add rows; the first is described, as soon as there is a description."""
        self.rows += rows
        if not self.place and example is not None:
            self.place, self.example = example()


@dataclass(frozen=True, slots=True)
class AlarmSurvey:
    """What one alarm, and those that count the same rows, can use of a feed; private.

    Args:
        alarms: their names.
        asked: rows that its WHERE asks for, and the FILTER of some statistic.
        usable: rows that a window takes which is to be decided.
        windows: whether there is any such window.
        groups: how many it has.
        unseen: names of some groups that no usable row is of, in the order of the domain.
        unseen_count: how many there are.
    """

    alarms: tuple[str, ...]
    asked: int
    usable: int
    windows: bool
    groups: int
    unseen: tuple[str, ...]
    unseen_count: int


@dataclass(frozen=True, slots=True)
class FeedSurvey:
    """What was read of one feed; private.

    Args:
        feed: its name.
        rows: how many rows, bad ones included.
        usable: rows that some window takes which is to be decided.
        dropped: rows that are dropped, by reason: what ``tocsin_events_dropped_total`` will say.
        passed_by: rows that are in order and lie outside the history, outside every window that
            runs, or are not asked for by any alarm.
        alarms: by alarm.
    """

    feed: str
    rows: int
    usable: int
    dropped: Mapping[str, Finding]
    passed_by: Mapping[str, Finding]
    alarms: tuple[AlarmSurvey, ...]

    @property
    def unfit(self) -> str | None:
        """Why deciding these rows would spend budget on nothing; ``None`` if it would not."""
        if not any(alarm.windows for alarm in self.alarms):
            return None
        if not self.rows:
            return "there is no event in it"
        if not self.usable:
            worst = max({**self.dropped, **self.passed_by}.items(), key=lambda one: one[1].rows)[0]
            return _NONE_USABLE.get(worst, "none of its events can be used")
        if 2 * sum(found.rows for found in self.dropped.values()) > self.rows:
            return "more than half of its events cannot be used"
        for alarm in self.alarms:
            if alarm.windows and alarm.asked and not alarm.usable:
                return f"alarm {alarm.alarms[0]!r} can use none of its events"
        return None


_NONE_USABLE: Final = {
    OUTSIDE_HISTORY: "none of its events lies in the feed's `history`",
    OUTSIDE_WINDOWS: "none of its events lies in a window that would be decided",
    UNASKED: "no alarm asks for any of its events",
    "out_of_domain": "none of its events has a value of the declared domain",
}
