"""Over how many partitions a window's events are routed: what readers and the judge agree on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stream.model.alarms import windows_cap

if TYPE_CHECKING:
    from accountant.layouts import Layouts
    from stream.model.alarm import Alarm
    from stream.model.alarms import Budget
    from stream.model.feeds import Feed

__all__ = ["counted_from", "first_start_after", "partitions_of_window"]


def partitions_of_window(
    alarm: Alarm, feed: Feed, layouts: Layouts, start_ms: int, end_ms: int
) -> int | None:
    """Return over how many partitions a window's events are routed, on one of its feeds.

    Under a cap over a period, ``start_ms`` is that of :func:`counted_from`: somebody's events lie
    in one partition from there on. It takes events appended from the allowed skew before its start
    on, and before its end and grace: see :class:`stream.counting.counter.WindowCounter`.

    Returns:
        ``None`` where that changed meanwhile: the window can only be denied.
    """
    return layouts.of_slice(start_ms - feed.allowed_skew_ms, end_ms + alarm.grace_ms)


def counted_from(alarm: Alarm, budget: Budget, index: int) -> int:
    """Return the first window that the count of a window depends on.

    That is the window itself, and under a cap over a period the first that touches a period which
    the window touches: who counts in a window follows from those before it.

    Args:
        alarm: whose windows.
        budget: unit, periods and caps.
        index: of an active window.
    """
    if budget.periods is None or windows_cap(alarm, budget) is None:
        return index
    calendar = alarm.calendar
    period_ms = budget.periods.touched(*calendar.bounds(index))[0]
    first = int(calendar.containing(np.array([period_ms]))[0][0])
    return min(calendar.next_active(first), index)


def first_start_after(alarm: Alarm, append_ms: int) -> int:
    """Return the start of the first window that takes events appended at an instant or later."""
    calendar = alarm.calendar
    index = int(calendar.first_open(np.array([append_ms]), alarm.grace_ms)[0])
    return calendar.bounds(index)[0]
