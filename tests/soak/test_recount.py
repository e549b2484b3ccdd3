"""The recount gives every event one fate, and counts what the pages promise."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.soak.alarms import PARTITIONS, Counted
from tests.soak.log import LogRecord
from tests.soak.recount import COUNTED, Recount, recount
from tests.soak.sensors import Reading, as_arrow, home

START_MS = 1_700_000_000_000
PERSON = "p1"
PEOPLE = Counted("crowd", "badges", "people", 4_000, 4_000, 1_000, 1)
EVENTS = Counted("visits", "badges", "events", 6_000, 2_000, 1_000, 1)
AMOUNTS = Counted("spent", "sales", "amounts", 4_000, 4_000, 1_000, 1, in_shop=True)


def badge(**changes):
    """One JSON event, appended half a second after it happened unless told otherwise."""
    event = {"person": PERSON, "event": "e1", "room": "bar", "ts": START_MS, **changes}
    append_ms = event.pop("append_ms", START_MS + 500)
    partition = event.pop("partition", home(PERSON))
    return LogRecord(partition, 0, append_ms, json.dumps(event).encode())


def sale(*rows):
    """One Arrow message of readings that differ from a good one."""
    good = Reading(PERSON, "", "bar", START_MS, amount=2, online=False, partition=home(PERSON))
    readings = [replace(good, event=f"s{at}", **row) for at, row in enumerate(rows)]
    return LogRecord(home(PERSON), 0, START_MS + 500, as_arrow(readings))


def counted(alarm, *records, first_ms=0):
    """Return the recount of a few records."""
    one = Recount(alarm, first_ms)
    events, drops = recount(alarm.feed, records, [one])
    assert one.fates.total() == events
    assert drops.total() <= events
    return one


@pytest.mark.parametrize(
    ("fate", "changes"),
    [
        (COUNTED, {}),
        (COUNTED, {"append_ms": START_MS + 4_999}),
        ("late", {"append_ms": START_MS + 5_000}),
        (COUNTED, {"ts": START_MS + 2_500}),
        ("early", {"ts": START_MS + 2_501}),
        ("out_of_domain", {"room": "nowhere"}),
        ("out_of_domain", {"room": None}),
        ("missing_field", {"person": None}),
        ("wrong_type", {"ts": "soon"}),
        ("misrouted", {"partition": (home(PERSON) + 1) % PARTITIONS}),
    ],
)
def test_one_event_has_one_fate(fate, changes):
    """Each rule has its boundary where the pages say."""
    one = counted(PEOPLE, badge(**changes))
    assert one.fates == {fate: 1}
    assert sum(sum(cells.values()) for cells in one.counts.values()) == (fate == COUNTED)


def test_what_is_no_event_is_undecodable():
    """Bytes that are no JSON, or no object, count as one event that cannot be read."""
    records = [LogRecord(0, at, START_MS, value) for at, value in enumerate((b"{", b"[]", None))]
    assert counted(PEOPLE, *records).fates == {"undecodable": 3}


def test_windows_before_the_first_count_nothing():
    """What lies in windows that were never asked for has that as its reason."""
    one = counted(PEOPLE, badge(), first_ms=START_MS + 4_000)
    assert one.fates == {"before the first window": 1}


def test_a_person_counts_once_in_two_rooms_at_most():
    """Rooms in the order of the log; the third is beyond the cap."""
    rooms = ("bar", "bar", "deck", "foyer", "bar")
    one = counted(PEOPLE, *(badge(room=room, event=f"e{at}") for at, room in enumerate(rooms)))
    assert one.counts[START_MS, home(PERSON)] == {"bar": 1, "deck": 1}
    assert one.fates == {
        COUNTED: 2,
        "the same person again": 2,
        "beyond max_groups_per_window": 1,
    }


def test_events_count_once_each_and_three_times_at_most():
    """A repeated id is a duplicate; the fourth id of a room is beyond the cap."""
    one = counted(EVENTS, *(badge(event=event) for event in ("a", "a", "b", "c", "d")))
    start_ms = START_MS // 2_000 * 2_000
    wanted = {(start_ms - back, home(PERSON)): {"bar": 3} for back in (0, 2_000, 4_000)}
    assert one.counts == wanted
    assert one.fates == {COUNTED: 3, "duplicate": 1, "beyond max_events_per_group": 1}


def test_amounts_are_clipped_and_filtered():
    """An amount counts within [0, 5], where WHERE lets its event through."""
    one = counted(AMOUNTS, sale({"amount": 9}, {"amount": -1}, {"online": True}, {"amount": 1}))
    assert one.counts[START_MS, home(PERSON)] == {"bar": 6}
    assert one.fates == {COUNTED: 3, "left out by WHERE": 1}


def test_a_drop_is_what_no_alarm_can_use_that_asks_for_it():
    """Excluded by one WHERE and late for the other: late. Used by one alarm: no drop."""
    long = Counted("buyers", "sales", "people", 8_000, 8_000, 1_000, 1)
    late_for_short = {"ts": START_MS - 4_600}
    rows = (
        {"online": True, "room": "nowhere"},
        {"online": True, "ts": START_MS - 90_000},
        {"room": "nowhere"},
        late_for_short,
        {"unit": None},
    )
    alarms = [Recount(AMOUNTS, 0), Recount(long, 0)]
    events, drops = recount("sales", [sale(*rows)], alarms)
    assert events == len(rows)
    assert drops == {"out_of_domain": 2, "late": 1, "missing_field": 1}
    assert [one.fates["late"] for one in alarms] == [1, 1]
