"""Windows looked at one by one, as tests of plans do it by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stream.windows.calendars import Calendar

__all__ = ["touching"]


def touching(calendar: Calendar, since_ms: int, until_ms: int) -> Iterator[tuple[int, int, int]]:
    """Yield number, start and end of every active window that touches a span, in order."""
    index = calendar.first_starting_at(since_ms)
    while calendar.bounds(index - 1)[1] > since_ms:
        index -= 1
    while (bounds := calendar.bounds(index))[0] < until_ms:
        if calendar.active(index) and bounds[1] > since_ms:
            yield index, *bounds
        index += 1
