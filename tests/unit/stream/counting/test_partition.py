"""When a partition's window is complete, and what is known of its slice of the log."""

from __future__ import annotations

import json
import math

import pytest

from stream.counting import partition
from stream.counting.partition import slice_start_ms
from stream.events.decoder import Record
from stream.events.marks import Mark, encode_mark
from tests.support.neighbours import reader_for
from tests.support.random_logs import loaded

_MINUTE_MS = 60_000
_GRACE_MS = 1_000
_SKEW_MS = 200
_CONFIG = """\
feeds:
  badges:
    topic: badges
    time: ts
    unit: person
    fields: {person: string, room: {domain: [attic, bar]}, ts: timestamp}
    codec: json
    allowed_skew: 2s
    max_append_time_regression: 200ms
budget: {privacy_unit: event, epsilon_max: "9"}
alarms:
  crowd:
    sql: |
      SELECT room FROM badges
      GROUP BY room, TUMBLE(ts, INTERVAL '1' MINUTE)
      HAVING COUNT(*) > 5
    max_fnr: 0.05
    tolerance: 2
    timing: {grace: 1s}
"""


_KEY = b"0123456789abcdef"
_MARKED = _CONFIG.replace(
    "    max_append_time_regression: 200ms\n",
    "    max_append_time_regression: 200ms\n    clock: watermarks\n"
    "    watermarks: {interval: 1m, key: 0123456789abcdef}\n",
)


def reader_from(start_ms=0, whole_from_ms=-math.inf, config=_CONFIG):
    """Return a reader that begins with the window at ``start_ms``."""
    reader = reader_for(loaded(config))
    reader.begin({"crowd": start_ms})
    reader.whole_from_ms = whole_from_ms
    return reader


def event(offset, time_ms, append_ms):
    """Return one event in the attic."""
    value = json.dumps({"person": f"p{offset}", "room": "attic", "ts": time_ms}).encode()
    return Record(offset, append_ms, log_append=True, value=value)


def counts(reader):
    """Return per partial its window's minute, its attic's count and whether it is whole."""
    return [
        (one.key.start_ms // _MINUTE_MS, int(one.value.sum()), one.complete)
        for one in reader.partials()
    ]


def test_window_waits_for_the_cut_and_the_brokers_skew():
    """It closes with the first record appended a skew after window end and grace.

    ::

        |--- minute 0 ---|grace|skew|
           e                      ^  closes here, not before
    """
    reader = reader_from()
    cut_ms = _MINUTE_MS + _GRACE_MS
    reader.read([event(0, 5, 10), event(1, cut_ms, cut_ms + _SKEW_MS - 1)])
    assert counts(reader) == []
    reader.read([event(2, cut_ms, cut_ms + _SKEW_MS)])
    assert counts(reader) == [(0, 1, True)]
    assert counts(reader) == []


def test_append_times_may_step_back_within_the_skew():
    """A leader change dates a later record earlier; whether it counts is its own affair."""
    reader = reader_from()
    cut_ms = _MINUTE_MS + _GRACE_MS
    reader.read(
        [
            event(0, 5, cut_ms + 100),  # appended after the cut: too late
            event(1, 6, cut_ms - 50),  # further on in the log, but appended before it
            event(2, cut_ms, cut_ms + _SKEW_MS),
        ]
    )
    (partial,) = reader.partials()
    assert (int(partial.value.sum()), partial.first_offset, partial.last_offset) == (1, 1, 1)


def test_idle_partition_closes_empty_windows_too():
    """When the log was read to its end well after a cut, every window before it is complete."""
    reader = reader_from()
    reader.arrived_through(3 * _MINUTE_MS + _GRACE_MS)
    assert counts(reader) == [(0, 0, True), (1, 0, True), (2, 0, True)]


@pytest.mark.parametrize("live", [False, True])
def test_slice_that_may_have_lost_records_is_incomplete(*, live):
    """A cut-off log is whole again from the first window with an older record before its slice.

    Or whose slice begins after reading began at the end: what was appended while the log was being
    read cannot have been deleted before.

    ::

        (deleted) | first retained record
                  |----- minute 1 -----|----- minute 2 -----|
    """
    (crowd,) = loaded(_CONFIG).by_name.values()
    first_ms, second_ms = (slice_start_ms(crowd, minute * _MINUTE_MS) for minute in (1, 2))
    assert first_ms == _MINUTE_MS - 2_000 - _SKEW_MS
    reader = reader_from(_MINUTE_MS, second_ms if live else math.inf)
    for offset, append_ms in ((9, first_ms), (10, first_ms - 1)):  # a later one tells of no older
        reader.read([] if live else [event(offset, append_ms, append_ms)])
    reader.arrived_through(4 * _MINUTE_MS)
    assert [whole for *_, whole in counts(reader)] == [False, True]


def mark(offset, time_ms):
    """Return the mark that says that every event before an instant was written."""
    number = time_ms // _MINUTE_MS
    value, headers = encode_mark(Mark("badges", time_ms, 0, number), _KEY)
    return Record(offset, time_ms, log_append=True, value=value, headers=headers)


def test_what_precedes_the_first_mark_has_arrived_at_its_own_time():
    """To write everything and then mark it is the natural order.

    An event dated after the first mark by more than the skew was written too early, as it would be
    before any other mark: read again from that mark on, its window does not see it either.
    """
    written = [
        event(0, 5, 0),
        event(1, _MINUTE_MS + 5, 0),
        event(2, 2 * _MINUTE_MS + 1_500, 0),
        event(3, 2 * _MINUTE_MS + 2_500, 0),
    ]
    later = [mark(4, 2 * _MINUTE_MS), event(5, 2 * _MINUTE_MS + 7, 0), mark(6, 4 * _MINUTE_MS)]
    reader = reader_from(config=_MARKED)
    reader.read(written[:2])
    assert counts(reader) == []
    reader.read(written[2:])
    reader.read(later)
    assert counts(reader) == [(0, 1, True), (1, 1, True), (2, 2, True)]


def test_too_much_before_the_first_mark_makes_its_windows_incomplete(monkeypatch):
    """What cannot be kept is dropped by name, and no window passes for one without events."""
    monkeypatch.setattr(partition, "_MOST_UNMARKED", 2)
    reader = reader_from(config=_MARKED)
    for each in range(3):
        reader.read([event(each, 5, 0)])
    reader.read([mark(3, _MINUTE_MS), event(4, _MINUTE_MS + 7, 0), mark(5, 4 * _MINUTE_MS)])
    assert counts(reader) == [(0, 0, False), (1, 1, False), (2, 0, True)]
