"""What the alarms of the soak must count, straight from the records: one pass, one event at a time.

Written from what the pages promise and from nothing of Tocsin's. Whether an event counts in a
window is said by that event, and by what came before it of the same person::

    ts in [start, end)   appended before end + grace   ts at most allowed_skew after its append time

    badges, sales: one person is in at most two rooms of a window, and counts three events in each;
    an event with the id and weight of an earlier one of the same person and room is a duplicate.

Every event of the log ends in ``counted`` or under one reason, for every alarm of its feed.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from tests.soak.alarms import (
    ALLOWED_SKEW_MS,
    CELLS,
    EVENTS_PER_CELL,
    GROUPS_PER_WINDOW,
    HIGHEST_AMOUNT,
)
from tests.soak.sensors import home

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.soak.log import LogRecord

COUNTED = "counted"
_NOT_ASKED_FOR = "left out by WHERE"
_DROPS = ("out_of_domain", "early", "late")
"""Why no window of an alarm can use an event that it asks for; of several alarms' the last."""

Cells = dict[str, int]
"""What one partition adds to the rooms of one window; rooms with nothing are left out."""

_KEEP_OPEN_MS = 10_000


@dataclass(frozen=True, slots=True)
class Event:
    """One event as it lies in the log; ``bad`` says why it cannot be read as one."""

    partition: int
    append_ms: int
    unit: str = ""
    identity: str = ""
    room: str | None = None
    ts: int = 0
    amount: int = 1
    online: bool = False
    bad: str = ""


@dataclass
class _Window:
    """What a window of one partition remembers of the people in it."""

    rooms: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    events: Counter[tuple[str, str]] = field(default_factory=Counter)
    seen: set[tuple[str, str, str, int]] = field(default_factory=set)


class Recount:
    """Counts one alarm.

    Args:
        alarm: what it counts.
        first_ms: start of its first window.
    """

    def __init__(self, alarm, first_ms):
        self.alarm = alarm
        self.counts = defaultdict(lambda: defaultdict(int))
        self.fates = Counter()
        self._first_ms = first_ms
        self._open = {}

    def add(self, event: Event) -> str:
        """Count one event and return its fate; they come by partition, then in log order."""
        fate = self._fate(event)
        self.fates[fate] += 1
        return fate

    def forget(self, append_ms: int) -> None:
        """Let go of windows that nothing can be added to any more, by the time of the log."""
        over = [
            place for place in self._open if self.alarm.cut_ms(place[0]) + _KEEP_OPEN_MS < append_ms
        ]
        for place in over:
            del self._open[place]

    def _fate(self, event):
        alarm = self.alarm
        if unfit := self._unfit(event):
            return unfit
        newest_ms = event.ts // alarm.step_ms * alarm.step_ms
        starts = range(newest_ms, event.ts - alarm.size_ms, -alarm.step_ms)
        timely = [start for start in starts if event.append_ms < alarm.cut_ms(start)]
        if not timely:
            return "late"
        known = [start for start in timely if start >= self._first_ms]
        if not known:
            return "before the first window"
        fates = {self._fate_in(start, event) for start in known}
        return COUNTED if COUNTED in fates else min(fates)

    def _unfit(self, event):
        """Say why no window of this alarm may count an event; nothing where one might."""
        if event.bad:
            return event.bad
        if self.alarm.in_shop and event.online:
            return _NOT_ASKED_FOR
        if event.room not in CELLS:
            return "out_of_domain"
        return "early" if event.ts - event.append_ms > ALLOWED_SKEW_MS else ""

    def _fate_in(self, start_ms, event):
        place = (start_ms, event.partition)
        window = self._open.setdefault(place, _Window())
        unit, room = event.unit, str(event.room)
        rooms = window.rooms[unit]
        if room not in rooms and len(rooms) == GROUPS_PER_WINDOW:
            return "beyond max_groups_per_window"
        weight = self._weight(event)
        if self.alarm.of == "people":
            if room in rooms:
                return "the same person again"
        else:
            if (unit, room, event.identity, weight) in window.seen:
                return "duplicate"
            if window.events[unit, room] == EVENTS_PER_CELL:
                return "beyond max_events_per_group"
            window.seen.add((unit, room, event.identity, weight))
            window.events[unit, room] += 1
        if room not in rooms:
            rooms.append(room)
        if weight:
            self.counts[place][room] += weight
        return COUNTED

    def _weight(self, event):
        if self.alarm.of == "amounts":
            return min(max(event.amount, 0), HIGHEST_AMOUNT)
        return 1


def recount(
    feed: str, records: Iterable[LogRecord], alarms: Iterable[Recount]
) -> tuple[int, Counter[str]]:
    """Count a feed's log for all its alarms.

    Args:
        feed: ``badges`` or ``sales``.
        records: by partition, then offset.
        alarms: of this feed; they are added to.

    Returns:
        How many events the log holds, and how many of them are drops, by reason: what cannot be
        read, and what no alarm can use that asks for it.
    """
    reading = list(alarms)
    events = 0
    drops = Counter()
    forgotten_ms = 0
    for record in records:
        for event in events_of(feed, record):
            events += 1
            fates = {alarm.add(event) for alarm in reading} - {_NOT_ASKED_FOR}
            if event.bad:
                drops[event.bad] += 1
            elif fates and fates <= set(_DROPS):
                drops[max(fates, key=_DROPS.index)] += 1
        if abs(record.append_ms - forgotten_ms) > _KEEP_OPEN_MS:
            forgotten_ms = record.append_ms
            for alarm in reading:
                alarm.forget(record.append_ms)
    return events, drops


def events_of(feed: str, record: LogRecord) -> Iterator[Event]:
    """Yield the events of one record; a record that is none of its feed's yields one bad one."""
    bad = Event(record.partition, record.append_ms, bad="undecodable")
    try:
        rows = _json_rows(record) if feed == "badges" else _arrow_rows(record)
    except (ValueError, pa.ArrowInvalid, OSError):
        yield bad
        return
    unit_field, id_field = ("person", "event") if feed == "badges" else ("customer", "sale")
    for row in rows:
        unit, identity, ts = row.get(unit_field), row.get(id_field), row.get("ts")
        yield Event(
            partition=record.partition,
            append_ms=record.append_ms,
            unit=str(unit),
            identity=str(identity),
            room=row.get("room"),
            ts=ts if isinstance(ts, int) else 0,
            amount=row.get("amount", 1),
            online=row.get("online", False),
            bad=_why_bad(unit, identity, ts, record.partition),
        )


def _why_bad(unit, identity, ts, partition):
    if isinstance(ts, str) or not isinstance(unit, str | None):
        return "wrong_type"
    if unit is None or identity is None or ts is None:
        return "missing_field"
    return "misrouted" if home(unit) != partition else ""


def _json_rows(record):
    event = json.loads(record.value or b"")
    if not isinstance(event, dict):
        raise ValueError("no object")  # noqa: TRY004  # as bytes that are no JSON
    return [event]


def _arrow_rows(record):
    with pa.ipc.open_stream(record.value or b"") as reader:
        table = reader.read_all()
    at = table.schema.get_field_index("ts")
    return table.set_column(at, "ts", table.column("ts").cast(pa.int64())).to_pylist()
