"""What windows must count, and what may be published of them, from the logs alone.

Written from the promises and from nothing of Tocsin's but the names of its records' fields.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tests.support.hostile import home

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.faults.log import Entry

ROOMS = ("atrium", "library")
PARTITIONS = 2
WINDOW_MS = 10_000
GRACE_MS = 1_000
ALLOWED_SKEW_MS = 2_000
EVENTS = 2
"""Events of a person that a room counts in a window; of rooms, one."""


def recount(log: Sequence[tuple[int, Entry]], start_ms: int) -> tuple[int, ...]:
    """Return the events per room of the window from an instant on.

    Args:
        log: of the feed, what was committed: ``(partition, entry)`` by partition and offset.
        start_ms: of the window.
    """
    room_of = {}
    seen = defaultdict(set)
    end_ms = start_ms + WINDOW_MS
    for partition, entry in log:
        event = _event(entry.value)
        if event is None or home(event["person"], PARTITIONS) != partition:
            continue
        if not start_ms <= event["ts"] < end_ms:
            continue
        late = entry.timestamp >= end_ms + GRACE_MS
        if late or event["ts"] - entry.timestamp > ALLOWED_SKEW_MS:
            continue
        person, room = event["person"], event["room"]
        if room_of.setdefault(person, room) == room and len(seen[person]) < EVENTS:
            seen[person].add(event["event"])
    counts = dict.fromkeys(ROOMS, 0)
    for person, events in seen.items():
        counts[room_of[person]] += len(events)
    return tuple(counts.values())


def _event(value):
    try:
        event = json.loads(value or b"")
    except ValueError:
        return None
    return event if isinstance(event, dict) and event.get("room") in ROOMS else None


@dataclass
class Topic:
    """What analysts may have read: the decisions and alarms that left, in the order they did."""

    decisions: dict[int, dict[str, Any]] = field(default_factory=dict)
    """By start of the window."""
    alarms: defaultdict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    """The rooms, by start of the window."""
    repeated: int = 0

    def decided(self, value: bytes) -> Iterator[str]:
        """Take a record of the decisions topic; yield what contradicts what left before."""
        record = json.loads(value)
        key = _start_ms(record)
        before = self.decisions.setdefault(key, record)
        self.repeated += before is not record
        if before != record:
            yield f"{key}: published as {_short(before)}, then as {_short(record)}"

    def alarmed(self, value: bytes) -> Iterator[str]:
        """Take a record of the alarms topic; yield what contradicts what left before."""
        alarm = json.loads(value)
        key = _start_ms(alarm)
        self.alarms[key].add(alarm["group"]["room"])
        decision = self.decisions.get(key)
        if decision is None:
            yield f"{key}: an alarm left before its decision"
        elif (alarm["ledger"], alarm["sequence"]) != (decision["ledger"], decision["sequence"]):
            yield f"{key}: an alarm of another decision than the published one"

    def spent_units(self) -> int:
        """Return what one person may have lost to what left, at worst, in loss units."""
        return sum(one["epsilon_units"] * one["cells_per_unit"] for one in self.decisions.values())


def _start_ms(record):
    return round(datetime.fromisoformat(record["window_start"]).timestamp() * 1000)


def _short(record):
    names = ("outcome", "reason", "alarms", "epsilon_units", "ledger", "sequence")
    return ", ".join(f"{name}={record[name]}" for name in names)
