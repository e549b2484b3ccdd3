"""What a start and ``reconcile`` read of the decisions topic: back to the ledger's cursors."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from accountant.ledger.upkeep import Upkeep
from stream.build import open_ledger
from stream.config.loading import load
from stream.decisions.records import decision_loss_fields, encode
from stream.decisions.registration import registration, scopes_of, terms_of
from stream.kafka import guard
from stream.kafka.whole import Whole
from stream.windows.instants import iso_utc
from tests.support.published import decision_of

HOUR_MS = 3_600_000
HOURS = 2_500
SLOW_HOURS = 1_000
PLACE, LAST = 0, HOURS + 1

CONFIG = """\
kafka: {bootstrap: "localhost:9092"}
feeds:
  badges:
    topic: badges
    time: ts
    unit: person
    fields: {person: string, ts: timestamp}
budget: {privacy_unit: event, epsilon_max: "40"}
alarms:
  hourly:
    sql: SELECT 1 FROM badges GROUP BY TUMBLE(ts, INTERVAL '1' HOUR) HAVING COUNT(*) > 5
    max_fnr: 0.05
    tolerance: 2
  slow:
    sql: SELECT 1 FROM badges GROUP BY TUMBLE(ts, INTERVAL '1000' HOUR) HAVING COUNT(*) > 5
    max_fnr: 0.05
    tolerance: 2
"""


WINDOWS = sorted(
    [(hour, "hourly", 1) for hour in range(1, HOURS + 1)]
    + [(hour, "slow", SLOW_HOURS) for hour in (1_000, 2_000)]
)
"""What the topic holds, in order: when a window ended, of which alarm, and how long it was."""


class _Consumer:
    """Reads a topic of one partition, whose records may be decisions of other ledgers."""

    def __init__(self, values):
        self.records = [
            SimpleNamespace(offset=at, timestamp=WINDOWS[min(at, LAST)][0] * HOUR_MS, value=value)
            for at, value in enumerate(values)
        ]
        self.first = self.at = -1

    async def offsets_for_times(self, times):
        since_ms = times[PLACE]
        return {PLACE: next((one for one in self.records if one.timestamp >= since_ms), None)}

    def seek(self, _place, offset):
        self.first = self.at = offset

    async def position(self, _place):
        return self.at

    async def getmany(self, **_):
        batch = self.records[self.at : self.at + 100]
        self.at += len(batch)
        return {PLACE: batch}


def _decision(end, query, hours, ledger="f" * 32):
    start, end_text = iso_utc((end - hours) * HOUR_MS), iso_utc(end * HOUR_MS)
    window = {"window_start": start, "window_end": end_text, "next_start": end_text}
    decision = decision_of(end // hours, alarm=query, ledger=ledger)
    lost = decision_loss_fields(1, gaussian=False)
    return encode(replace(decision, budget="feed:badges", **window, **lost))


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Return a start: where it begins to read, and the windows that it holds against the ledger."""
    path = tmp_path / "alarms.yaml"
    path.write_text(CONFIG)
    alarms = load(path, environ={})

    def run(cursors, decided, more=lambda _: []):
        compared = []
        decided_ms = None if decided is None else decided * HOUR_MS
        monkeypatch.setattr(Upkeep, "last_decided_ms", lambda _: decided_ms)
        monkeypatch.setattr(Upkeep, "unknown_decisions", lambda _, seen: compared.extend(seen))
        with open_ledger(alarms) as ledger:
            values = [_decision(*each) for each in WINDOWS] + more(ledger.ledger_id)
            consumer = _Consumer(values)
            topic = Whole(consumer, {PLACE: 0}, {PLACE: len(values)})
            monkeypatch.setattr(guard, "read_whole", lambda *given: asyncio.run(given[2](topic)))
            for scope in scopes_of(alarms):
                ledger.pins.register_budget(terms_of(alarms, scope))
            for name, hours in cursors.items():
                query = alarms.by_name[name]
                ledger.pins.register_query(registration(query, alarms, hours * HOUR_MS))
            guard.check_ledger(alarms, ledger)
        return consumer.first, [(one.query, one.end_ms // HOUR_MS) for one in compared]

    return run


@pytest.mark.parametrize(
    ("cursors", "decided", "first"),
    [
        # back to its last decision, an hour earlier as brokers' clocks go, however much there is
        ((300, 1000), 301, 298),
        # up to date: the newest records tell whether another ledger serves the topic
        ((HOURS, HOURS), HOURS, HOURS + 2 - 1_000),
        # where a clock ran ahead the last decision is dated too late: back to the oldest cursor
        ((HOURS, 1_000), 9 * HOURS, 998),
        # lost and made anew, also where a start that was refused has registered every alarm
        ((), None, 0),
        ((HOURS, HOURS), None, 0),
    ],
)
def test_a_start_reads_back_to_what_the_ledger_may_lack(start, *, cursors, decided, first):
    """By its last decision and its cursors, the earlier of the two."""
    known = dict(zip(("hourly", "slow"), cursors, strict=False))
    assert start(known, decided) == (first, [(name, end) for end, name, _ in WINDOWS[first:]])


def test_an_alarm_that_was_removed_spent_all_the_same(start):
    """What this ledger published of it counts, also where this copy never had it."""

    def removed(ledger):
        return [_decision(HOURS, "removed", 1, ledger), _decision(HOURS, "another-file's", 1)]

    _, compared = start({"hourly": HOURS}, HOURS, removed)
    assert ("removed", HOURS) in compared
    assert {name for name, _ in compared} == {"removed", "hourly", "slow"}
