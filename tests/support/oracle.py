"""What alarms of :mod:`tests.support.scenario` must count, straight from the records.

Written from the promises and from nothing of Tocsin's: one pass over the log, one record at a time.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from tests.support.hostile import home
from tests.support.scenario import ROOMS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

GRACE_MS = 1_000
ALLOWED_SKEW_MS = 2_000


Event = dict[str, Any]


def crowd(
    records: Iterable[Any],
    starts_ms: Iterable[int],
    *,
    partitions: int,
    size_ms: int,
    few: tuple[int, int] | None = None,
    every: bool = False,
) -> dict[int, tuple[int, ...]]:
    """Return per window start the number of distinct people per room.

    A person counts in the first room of the window only (one group per window), in the order of
    the log.

    Args:
        records: of the events topic, by partition, then offset.
        starts_ms: windows to count.
        partitions: of the topic.
        size_ms: length of a window.
        few: in how many windows per period somebody counts, and how long periods are (whole
            windows): the first that they have events in.
        every: whether everybody counts in every room instead, as a quantifier has it.
    """
    most, period_ms = few or (1, size_ms)
    cells = {start_ms: [0] * len(ROOMS) for start_ms in starts_ms}
    begun = {start_ms // period_ms * period_ms for start_ms in cells}
    events = _usable(records, partitions)
    used: Counter[tuple[int, str]] = Counter()
    for start_ms in sorted(
        at for begin in begun for at in range(begin, begin + period_ms, size_ms)
    ):
        rooms: dict[str, list[str]] = defaultdict(list)
        for event in _within(events, start_ms, start_ms + size_ms):
            mine = rooms[event["person"]]
            if not mine or (every and event["room"] not in mine):
                mine.append(event["room"])
        for person, mine in rooms.items():
            used[start_ms // period_ms, person] += 1
            if start_ms in cells and used[start_ms // period_ms, person] <= most:
                for room in mine:
                    cells[start_ms][ROOMS.index(room)] += 1
    return {start_ms: tuple(values) for start_ms, values in cells.items()}


def looks(
    records: Iterable[Any], steps_ms: Iterable[int], *, partitions: int, size_ms: int, step_ms: int
) -> dict[int, tuple[int, ...]]:
    """Return per start of a step the events per room, from its window's start to its own end.

    An event that came late for its step is in no look whose cut it missed, and in all later ones.
    Copies of an event, by its id, count once.

    Args:
        records: of the events topic, by partition, then offset.
        steps_ms: starts of the steps to look at.
        partitions: of the topic.
        size_ms: length of a window.
        step_ms: length of a step.
    """
    events, found = _usable(records, partitions), {}
    for start_ms in steps_ms:
        counted = _within(events, start_ms // size_ms * size_ms, start_ms + step_ms)
        once = {(event["room"], event["person"], event["event"]) for event in counted}
        found[start_ms] = tuple(sum(room == one for one, *_ in once) for room in ROOMS)
    return found


def add_up(
    partials: Sequence[Mapping[str, Any]], *, cells: int = len(ROOMS)
) -> dict[int, tuple[int, ...]]:
    """Add journalled partials up over partitions, after checking that recounts never differed.

    Args:
        partials: as a worker journals them.
        cells: length of their vectors.
    """
    digests: dict[tuple[int, int], set[str]] = defaultdict(set)
    once: dict[tuple[int, int], Mapping[str, Any]] = {}
    for partial in partials:
        place = (partial["start_ms"], partial["partition"])
        digests[place].add(partial["digest"])
        once[place] = partial
    assert all(len(found) == 1 for found in digests.values()), "a slice was counted in two ways"
    sums: dict[int, list[int]] = defaultdict(lambda: [0] * cells)
    for (start_ms, _), partial in once.items():
        row = sums[start_ms]
        for index, value in zip(partial["index"], partial["value"], strict=True):
            row[index] += value
    return {start_ms: tuple(values) for start_ms, values in sums.items()}


def _usable(records, partitions):
    """Return the events that some window may count, and their append times, as the log has them."""
    return [
        (event, record.timestamp)
        for record in records
        if record.timestamp_type == 1
        and (event := _well_formed(record, partitions)) is not None
        and record.timestamp >= event["ts"] - ALLOWED_SKEW_MS
    ]


def _within(events, begin_ms, end_ms):
    """Yield those that a window counts."""
    for event, appended_ms in events:
        if begin_ms <= event["ts"] < end_ms and appended_ms < end_ms + GRACE_MS:
            yield event


def _well_formed(record, partitions):
    """Return the event of a record that may count, ``None`` for a bad one."""
    try:
        event = json.loads(record.value)
    except ValueError:
        return None
    whole = (
        isinstance(event.get("person"), str)
        and isinstance(event.get("event"), str)
        and type(event.get("ts")) is int
        and event.get("room") in ROOMS
    )
    if not whole:
        return None
    return event if home(event["person"], partitions) == record.partition else None
