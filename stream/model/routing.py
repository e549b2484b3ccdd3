"""Over how many partitions a window's events are routed: what readers and the judge agree on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from accountant.layouts import Layouts
    from stream.model.feeds import Feed
    from stream.model.queries import Query

__all__ = ["first_start_after", "partitions_of_window"]


def partitions_of_window(
    query: Query, feed: Feed, layouts: Layouts, start_ms: int, end_ms: int
) -> int | None:
    """Return over how many partitions a window's events are routed, on one of its feeds.

    It takes events appended from the allowed skew before its start on, and before its end and
    grace: see :class:`stream.counting.counter.WindowCounter`.

    Returns:
        ``None`` where that changed meanwhile: the window can only be denied.
    """
    return layouts.of_slice(start_ms - feed.allowed_skew_ms, end_ms + query.grace_ms)


def first_start_after(query: Query, append_ms: int) -> int:
    """Return the start of the first window that takes events appended at an instant or later."""
    calendar = query.calendar
    index = int(calendar.first_open(np.array([append_ms]), query.grace_ms)[0])
    return calendar.bounds(index)[0]
