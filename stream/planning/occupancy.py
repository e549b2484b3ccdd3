"""How many active windows of a calendar there are: counted by their numbers, without a walk.

Windows that touch the same budget periods make up a *run* where alarms share one noisy threshold.
Both ends of windows grow with their numbers, so the windows of a run follow each other::

    periods   |------a------|------b------|
    windows   [--0--)[--1--)[--2--)           touch a | a | b: two runs
                 [--3--)[--4--)[--5--)        touch a | a, b | b: three
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from accountant.errors import ConfigError
from stream.windows.localtime import TIME_LIMIT_MS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream.windows.calendars import Calendar
    from stream.windows.schedule import Schedule

__all__ = ["ActiveWindows", "active_spans", "first_ending_after", "run_breaks"]

_BLOCK_MS = 28 * 86_400_000
_MOST_EDGES = 1_000_000


class ActiveWindows:
    """The active windows of a calendar that touch a span of time.

    A day that a time zone skipped leaves windows that never run; they are counted all the same,
    which is the safe side for a plan.

    Args:
        calendar: the windows.
        from_ms: start of the span, >= 0.
        until_ms: its end, exclusive.
    """

    def __init__(self, calendar: Calendar, from_ms: int, until_ms: int) -> None:
        self._calendar = calendar
        span = np.array([from_ms, until_ms - 1], np.int64)
        first, last = calendar.containing(span)
        low, high = int(first[0]), max(int(first[0]), int(last[1]) + 1)
        opening, closing = np.array([low], np.int64), np.array([high], np.int64)
        if calendar.schedule is not None and high > low:
            begin_ms, end_ms = calendar.bounds(low)[0], calendar.bounds(high - 1)[1]
            starts_ms, ends_ms = active_spans(calendar.schedule, begin_ms, end_ms)
            opening = _first_starting_at(calendar, starts_ms).clip(low, high)
            closing = calendar.first_open(ends_ms, 0).clip(low, high)
        runs = closing > opening
        self._first, self._end = opening[runs], closing[runs]
        self._passed = np.concatenate(([0], np.cumsum(self._end - self._first)))

    @property
    def covered_ms(self) -> int:
        """How much time lies in active windows of the span, where windows leave no gaps."""
        bounds = self._calendar.bounds
        return sum(
            bounds(end - 1)[1] - bounds(first)[0]
            for first, end in zip(self._first.tolist(), self._end.tolist(), strict=True)
        )

    def before(self, index: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many active windows of the span have a lower number.

        Args:
            index: shape (n,), numbers of windows.
        """
        at = np.searchsorted(self._first, index, side="right")
        lengths = np.append(0, self._end - self._first)[at]
        firsts = np.append(0, self._first)[at]
        counted: NDArray[np.int64] = np.append(0, self._passed)[at] + np.clip(
            index - firsts, 0, lengths
        )
        return counted

    def between(self, low: int, high: int) -> int:
        """Return how many active windows have numbers in ``[low, high)``."""
        both = self.before(np.array([low, max(low, high)], np.int64))
        return int(both[1] - both[0])

    def touching(
        self, starts_ms: NDArray[np.int64], ends_ms: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return how many active windows touch each ``[start, end)``.

        Args:
            starts_ms: shape (n,), inside the span.
            ends_ms: shape (n,), inside the span, each after its start.
        """
        first, stop = self._numbers(starts_ms, ends_ms)
        counted: NDArray[np.int64] = self.before(stop) - self.before(first)
        return counted

    def runs_touching(
        self, starts_ms: NDArray[np.int64], ends_ms: NDArray[np.int64], breaks: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return how many runs touch each ``[start, end)``.

        Args:
            starts_ms: shape (n,), starts of periods inside the span.
            ends_ms: shape (n,), their ends.
            breaks: of the same periods, as :func:`run_breaks` returns them.
        """
        first, stop = (self.before(each) for each in self._numbers(starts_ms, ends_ms))
        # Periods begin and end at breaks: a run that touches one opens among its windows.
        opening = np.unique(np.concatenate([self.before(breaks), first]))
        counted: NDArray[np.int64] = np.searchsorted(opening, stop) - np.searchsorted(
            opening, first
        )
        return counted

    def _numbers(
        self, starts_ms: NDArray[np.int64], ends_ms: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the first window that touches each interval, and the one after the last."""
        first = self._calendar.containing(starts_ms)[0]
        last = self._calendar.containing(ends_ms - 1)[1]
        return first, np.maximum(first, last + 1)


def first_ending_after(calendar: Calendar, time_ms: int) -> int:
    """Return the number of the first window, active or not, that ends after an instant."""
    return int(calendar.first_open(np.array([time_ms], np.int64), 0)[0])


def run_breaks(
    calendar: Calendar, periods: Calendar, from_ms: int, until_ms: int
) -> NDArray[np.int64]:
    """Return where runs end: windows on two sides of such a number touch different periods.

    Args:
        calendar: the windows.
        periods: the budget periods.
        from_ms: start of a span; looked at are all windows that touch it.
        until_ms: its end.

    Returns:
        Numbers of windows, ascending.

    Raises:
        ConfigError: windows touch too many periods to distinguish them.
    """
    reach_ms = calendar.longest_ms
    around = np.array([max(from_ms - reach_ms, 0), min(until_ms + reach_ms, TIME_LIMIT_MS - 1)])
    first, last = periods.containing(around)[1].tolist()
    if last - first > _MOST_EDGES:
        raise ConfigError(
            "the windows lie in too many budget periods",
            hint="write a longer period, or shorter windows",
        )
    edges_ms = np.array([periods.bounds(index)[0] for index in range(first, last + 2)], np.int64)
    # No event lies before 1970: a window that begins there touches nothing more for it.
    edges_ms = edges_ms[(edges_ms > 0) & (edges_ms < TIME_LIMIT_MS)]
    return np.unique(
        np.concatenate([_first_starting_at(calendar, edges_ms), calendar.first_open(edges_ms, 0)])
    )


def active_spans(
    schedule: Schedule, from_ms: int, until_ms: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the intervals in which a schedule is active, at least those that meet a span of time.

    Args:
        schedule: when windows run.
        from_ms: start of the span.
        until_ms: its end, exclusive.

    Returns:
        Starts and ends in milliseconds, ascending; the first start is cut off long before the span.
    """
    # On a coarse grid, so that windows of any length ask for the same intervals.
    return _spans(schedule, from_ms // _BLOCK_MS - 1, -(-until_ms // _BLOCK_MS) + 1)


@lru_cache(maxsize=64)
def _spans(schedule: Schedule, first: int, end: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    spans: list[tuple[int, int]] = []
    at_ms, until_ms = first * _BLOCK_MS, end * _BLOCK_MS
    while (start_ms := schedule.next_start(at_ms)) is not None and start_ms < until_ms:
        at_ms = schedule.covered_until(start_ms, until_ms)
        spans.append((start_ms, at_ms))
    table = np.array(spans, np.int64).reshape(-1, 2)
    table.setflags(write=False)
    return table[:, 0], table[:, 1]


def _first_starting_at(calendar: Calendar, times: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first window that starts at each instant or later."""
    after: NDArray[np.int64] = calendar.containing(times - 1)[1] + 1
    early = times <= 0  # where the calendar reads times as 1970
    after[early] = [calendar.first_starting_at(at_ms) for at_ms in times[early].tolist()]
    return after
