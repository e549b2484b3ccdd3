"""An event that no alarm can use is one drop, for one reason; what WHERE excludes is none."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace

import pyarrow as pa
import pytest

from accountant.units import PrivacyUnit
from operators.conditions.weights import Weight
from stream.counting.fates import Fate
from stream.counting.sharing import FeedCounters
from stream.events.decoder import Record
from stream.model.feeds import Codec, Domain
from tests.support import reference
from tests.support.decoding import ipc
from tests.support.neighbours import reader_for
from tests.support.random_logs import MINUTE_MS, START_MS, alarms_of


def counted(alarms, records, begin_ms=START_MS):
    """Return what a reader tells of events: how many it read, and which it dropped."""
    told = Counter()
    reader = reader_for(alarms, on_read=lambda many: told.update(read=many), on_drops=told.update)
    reader.begin(dict.fromkeys(alarms.by_name, begin_ms))
    reader.read(list(records))
    return told


def row(**fields):
    """Return an event that every alarm counts, but for some fields."""
    good = {"person": "ann", "room": "attic", "amount": 2.0, "open": True, "ts": START_MS}
    return good | fields


def test_rows_read_again_for_windows_decided_before_are_no_drops():
    """After a restart a slice begins in windows that are over: they took their rows then."""
    later_ms = START_MS + MINUTE_MS
    records = [
        Record(at, later_ms + 500, log_append=True, value=json.dumps(row(ts=time_ms)).encode())
        for at, time_ms in enumerate((later_ms - 1_000, later_ms + 1_000))
    ]
    alarms = alarms_of(Codec.JSON, PrivacyUnit.EVENT, ids=False)
    assert counted(alarms, records, later_ms) == {"read": 2}


def test_events_are_counted_not_messages():
    """Every row of an Arrow message is an event; a message that cannot be read is one, dropped."""
    alarms = alarms_of(Codec.ARROW, PrivacyUnit.EVENT, ids=False)
    rows = [row(), row(room="hall"), row(person=None)]
    columns = {name: pa.array([one[name] for one in rows]) for name in row()}
    values = [ipc(columns), b"nonsense", None]
    records = [Record(at, START_MS, True, value) for at, value in enumerate(values)]
    assert counted(alarms, records) == {
        "read": 5,
        "out_of_domain": 1,
        "missing_field": 1,
        "undecodable": 2,
    }


@pytest.mark.parametrize("scene", reference.scenes(), ids=lambda scene: scene.name)
def test_fates_are_those_of_a_row_by_row_reference(scene):
    """Whatever windows, domains, filters and faults: the farthest that any alarm brings a row."""
    rng = random.Random(scene.name)
    queries = [
        reference.make_query(scene, Weight.SUM, grace=1, skew=2, filtered=True),
        reference.make_query(scene, reference.AggregateSpec(Weight.COUNT, "size"), skew=2),
        reference.make_query(scene, *map(reference.random_spec, [rng] * 2), skew=2),
        reference.make_query(scene, Weight.COUNT, grace=3, skew=2),
    ]
    queries[3] = replace(queries[3], domain=Domain(("room",), (("bar",),)))
    queries = [replace(query, id=str(at)) for at, query in enumerate(queries)]
    for some in (queries[:1], queries[1:3], queries[1:], queries):
        log = reference.random_log(scene, 300, rng)
        counters = FeedCounters(some, reference.make_budget(PrivacyUnit.EVENT))
        found = counters.count(reference.decoded(log)).tolist()
        assert found == [max(fate_of(query, event) for query in some) for event in log]


def fate_of(query, event):
    """Return what one alarm makes of one event, rule by rule."""
    asked = [
        spec
        for spec in query.aggregates
        if spec.where is None or reference.FILTERS[spec.where](event)
    ]
    if (query.where is not None and not event.open) or not asked:
        return Fate.UNASKED
    if event.room not in [room.encode() for room in query.domain.values[0]]:
        return Fate.OUT_OF_DOMAIN
    if all(reference.weight_of(spec, event, 0) is None for spec in asked):
        return Fate.BAD_VALUE
    return fate_in_time(query, event)


def fate_in_time(query, event):
    """Return what an alarm's windows make of an event that has a cell and a weight."""
    if not all(0 <= at_ms < reference.LIMIT_MS for at_ms in (event.time_ms, event.append_ms)):
        return Fate.BAD_TIME
    if event.time_ms - event.append_ms > query.feed.allowed_skew_ms:
        return Fate.EARLY
    calendar = query.calendar
    near = calendar.first_starting_at(event.time_ms)
    around = {index: calendar.bounds(index) for index in range(near - 20, near + 2)}
    ends = {at: end for at, (start, end) in around.items() if start <= event.time_ms < end}
    still = [at for at, end_ms in ends.items() if event.append_ms < end_ms + query.grace_ms]
    if ends and not still:
        return Fate.LATE
    return Fate.USED if any(map(calendar.active, still)) else Fate.UNASKED
