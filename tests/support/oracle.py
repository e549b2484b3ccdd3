"""What the crowd alarm of :mod:`tests.support.scenario` must count, straight from the records.

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
    asked = wanted = set(starts_ms)
    if few is not None:
        begun = {start_ms // few[1] * few[1] for start_ms in asked}
        wanted = {at for begin in begun for at in range(begin, begin + few[1], size_ms)}
    first_room: dict[tuple[int, str, str], str] = {}
    for record in records:
        event = well_formed(record, partitions)
        if event is None or record.timestamp_type != 1:
            continue
        for start_ms in wanted:
            counts = (
                start_ms <= event["ts"] < start_ms + size_ms
                and record.timestamp < start_ms + size_ms + GRACE_MS
                and record.timestamp >= event["ts"] - ALLOWED_SKEW_MS
            )
            if counts:
                place = event["room"] if every else ""
                first_room.setdefault((start_ms, event["person"], place), event["room"])
    cells: dict[int, list[int]] = {start_ms: [0] * len(ROOMS) for start_ms in asked}
    counted: Counter[tuple[int, str]] = Counter()
    for (start_ms, person, _), room in sorted(first_room.items()):
        if few is not None:
            counted[start_ms // few[1], person] += 1
            if counted[start_ms // few[1], person] > few[0]:
                continue
        if start_ms in asked:
            cells[start_ms][ROOMS.index(room)] += 1
    return {start_ms: tuple(values) for start_ms, values in cells.items()}


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


def well_formed(record: Any, partitions: int) -> dict[str, Any] | None:
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
