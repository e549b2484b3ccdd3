"""Simulate five working days of badge readings in an office.

Usage: ``python simulate.py TARGET``. Seeded: the same file every time.

Two hundred and fifty people come, sit at their desks, meet, eat, and read their badge at every
door they pass. Three things happen in the week that the fire code does not allow for: everybody
eats at once on Tuesday (the canteen's new cook), an all-hands meeting on Thursday fills the
auditorium, and a party on Friday fills the atrium.
"""

from __future__ import annotations

import json
import sys
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from zoneinfo import ZoneInfo

ZONE = ZoneInfo("Europe/Berlin")
MONDAY = datetime(2025, 3, 3, tzinfo=ZONE)
PEOPLE = 250
DESKS = ("floor-1-east", "floor-1-west", "floor-2-east", "floor-2-west", "floor-3-east")
MEETING_ROOMS = ("lab", "library", "meeting-blue", "meeting-green", "meeting-red")
TUESDAY, THURSDAY, FRIDAY = 1, 3, 4

Reading = tuple[datetime, str, str]


def day_of(random: Random, day: int, person: int) -> list[Reading]:
    """Return the readings of one person on one day, in time order."""
    name = f"p{person:03d}"
    desk = DESKS[person % len(DESKS)]
    start = MONDAY + timedelta(days=day)
    readings: list[Reading] = []

    def walk(hour: float, spread_minutes: float, room: str) -> None:
        seconds = hour * 3600 + abs(random.gauss(0.0, spread_minutes * 60))
        readings.append((start + timedelta(seconds=round(seconds)), name, room))

    if random.random() < 0.12:
        return []
    walk(7.2 + random.random() * 2.5, 5, "entrance")
    readings.append((readings[-1][0] + timedelta(minutes=3), name, desk))
    if random.random() < 0.5:
        walk(10.0, 12, random.choice(MEETING_ROOMS))
        walk(11.0, 12, desk)
    if day == THURSDAY:
        walk(10.0, 8, "auditorium")
        walk(11.0, 12, desk)
    lunch = 12.0 if day == TUESDAY else random.choice((11.0, 12.0, 13.0))
    if random.random() < (0.95 if day == TUESDAY else 0.6):
        walk(lunch + 0.01, 12, "canteen")
        walk(lunch + 1.0, 12, desk)
    if random.random() < 0.4:
        walk(15.0, 12, random.choice(MEETING_ROOMS))
        walk(16.0, 12, desk)
    if day == FRIDAY and random.random() < 0.9:
        walk(17.0, 15, "atrium")
    walk(18.1 + random.random(), 10, "entrance")
    return sorted(readings)


def week(seed: int) -> list[Reading]:
    """Return the readings of everybody, in time order."""
    random = Random(seed)
    return sorted(
        reading
        for day in range(5)
        for person in range(PEOPLE)
        for reading in day_of(random, day, person)
    )


def main(target: str) -> None:
    """Write one JSON object a line to ``target``."""
    lines = [
        json.dumps({"person": person, "room": room, "ts": when.isoformat()}, separators=(",", ":"))
        for when, person, room in week(seed=20250303)
    ]
    Path(target).write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(lines)} readings")


if __name__ == "__main__":
    main(*sys.argv[1:])
