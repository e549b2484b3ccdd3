"""References counted on a public feed: where they do not fit, what they count, when due."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from accountant.costs.charges import WindowKey
from accountant.errors import ConfigChangedError, LogChangedError
from accountant.records import (
    REFERENCE_PARTITIONS,
    UNSEEN_MS,
    LogIdentity,
    Partial,
    PartialStatus,
    Stand,
)
from stream.build import Runtime, assemble, open_ledger
from stream.config.loading import load
from stream.decisions.mechanisms import operator_of
from stream.events.decoder import Record
from stream.events.marks import Mark, encode_mark
from stream.kafka.topics import plan
from stream.model.fingerprints import definition
from stream.model.references import FARTHEST_REFERENCE, around, counted_on, waited_ms
from tests.support.configurations import MARK, assert_named
from tests.support.decoding import a_reader
from tests.support.ledgers import must_verify, only_scope
from tests.unit.stream.config.given import examined, loaded

if TYPE_CHECKING:
    from accountant.ledger.ledger import Ledger
    from stream.model.alarms import Alarms

MINUTE_MS = 60_000
CONFIG = """\
ledger: sqlite:///LEDGER
kafka: {bootstrap: "localhost:9092"}
feeds:
  sales:
    topic: sales
    time: ts
    unit: person
    fields:
      person: string
      shop: {domain: [east, north]}
      paid: {type: float, clip: [0, 20], resolution: "0.5"}
      age: {type: integer, clip: [10, 60]}
      open: boolean
      ts: timestamp
  forecast:
    topic: forecast
    time: ts
    unit: shop
    fields:
      shop: {domain: DOMAIN}
      paid: {type: float, clip: [0, 9000], resolution: "GRANULE"}
      age: {type: integer, clip: [0, 99]}
      OPEN
      ts: timestamp
    allowed_skew: 2d
    MARKS
budget:
  privacy_unit: user
  epsilon_max: "4"
  period: lifetime
  contribution: {max_groups_per_window: 1, max_events_per_group: 1}
alarms:
  drift:
    sql: |
      SELECT shop FROM sales WHERE open GROUP BY shop, TUMBLE(ts, INTERVAL '1' MINUTE)
      HAVING ABS(AGGREGATE - REFERENCE) >= 5
    max_fnr: 0.05
    mechanism: {decider: {epsilon: "0.5", reference: {feed: ⟦forecast}DECIDER}}
    KEYS
"""
PARTS = {
    "DOMAIN": "[east, north]",
    "GRANULE": "0.5",
    "OPEN": "open: boolean",
    "MARKS": "",
    "AGGREGATE": "COUNT(*)",
    "KEYS": "",
    "DECIDER": "",
}
MARKED = 'clock: watermarks\n    watermarks: {key: "0123456789abcdef"}'


def text_of(folder, **parts):
    """Return a configuration, the mark still in it."""
    text = CONFIG.replace("LEDGER", str(folder / "ledger.db"))
    for name, value in {**PARTS, **parts}.items():
        text = text.replace(name, value)
    return text


def alarms_of(folder, **parts):
    """Return a configuration without errors."""
    return loaded(folder, text_of(folder, **parts))


# --- configuration

OTHER = """
  other:
    sql: |
      SELECT shop FROM forecast GROUP BY shop, TUMBLE(ts, INTERVAL '1' MINUTE)
      HAVING COUNT(*) > 9
    max_fnr: 0.05
    tolerance: 3"""
BAD = [
    (
        {"DOMAIN": "[north, east]"},
        "`shop` has another domain or resolution in `forecast` than in `sales`",
        "the same domain",
    ),
    ({"OPEN": "closed: boolean"}, "does not fit `forecast`: `open` is not", "closed"),
    (
        {"GRANULE": "0.25", "AGGREGATE": "SUM(paid)"},
        "`paid` has another domain or resolution in `forecast` than in `sales`",
        "domain and resolution",
    ),
    (
        {"AGGREGATE": "MEDIAN(paid)"},
        "MEDIAN(paid) of a feed takes at most 256",
        "coarser resolution",
    ),
    ({"AGGREGATE": "COUNT(DISTINCT person)"}, "does not fit `forecast`: `person`", ""),
    ({"KEYS": OTHER}, "alarm `other` protects events of `forecast`", "without personal data"),
]


@pytest.mark.parametrize(("parts", "message", "hint"), BAD, ids=lambda each: str(each)[:40])
def test_a_feed_that_does_not_fit_is_named_where_it_is_referred_to(tmp_path, parts, message, hint):
    """One error, at the feed's name, says what to write instead."""
    text = text_of(tmp_path, **parts)
    assert_named(examined(tmp_path, text).errors, text, message, hint)


def test_a_replayed_alarm_needs_a_reference_with_marks_and_all_its_history(tmp_path):
    """Else nothing says that the reference is whole, and its windows would wait for ever."""
    span = "history: {from: 2026-01-01, until: 2026-01-02}"
    text = text_of(tmp_path).replace("topic: sales\n", f"topic: sales\n    {MARKED}\n    {span}\n")
    for marks in ("", f"{MARKED}\n    history: {{from: 2026-01-01, until: 2026-01-01T12:00:00}}"):
        (error,) = examined(tmp_path, text.replace("allowed_skew: 2d", marks)).errors
        assert "may never end in `forecast`" in error.message
        assert "the same history" in error.hint
    loaded(tmp_path, text.replace("allowed_skew: 2d", f"{MARKED}\n    {span}"))


def test_the_reference_is_part_of_what_is_registered(tmp_path):
    """Its feed changes the fingerprint, its timeout does not; without one, it is decide_timeout."""
    alarms = alarms_of(tmp_path)
    query = alarms.by_name["drift"]
    assert definition(query, alarms.budget)["band"]["reference"]["feed"]["name"] == "forecast"
    assert waited_ms(query) == query.decide_timeout_ms == 600_000
    longer = alarms_of(tmp_path, KEYS="timing: {reference_timeout: 1h}").by_name["drift"]
    assert (longer.fingerprint, waited_ms(longer)) == (query.fingerprint, 3_600_000)
    assert alarms_of(tmp_path, MARKS=MARKED).by_name["drift"].fingerprint != query.fingerprint


def test_retention_knows_how_long_a_reference_is_waited_for(tmp_path):
    """Topics keep what may still be counted."""
    report = examined(tmp_path, text_of(tmp_path, KEYS="timing: {reference_timeout: 8d}"))
    kept = {topic.feed: topic.retention_ms for topic in plan(report.alarms) if topic.feed}
    assert all(kept[name] > 8 * 86_400_000 for name in ("sales", "forecast"))
    assert kept["forecast"] - kept["sales"] == 2 * 86_400_000 - MINUTE_MS


# --- counting


@pytest.mark.parametrize(
    ("aggregate", "values"), [("COUNT(*)", [2, 1]), ("SUM(paid)", [17_001, 3])]
)
def test_a_reference_is_the_same_aggregate_without_caps(tmp_path, aggregate, values):
    """The filter holds there; one shop's many events count, and values up to that feed's clip."""
    alarms = alarms_of(tmp_path, AGGREGATE=aggregate)
    events = [
        '{"shop": "east", "paid": 8500, "open": true, "ts": 1}',
        '{"shop": "east", "paid": 0.5, "open": true, "ts": 2}',
        '{"shop": "north", "paid": 1.5, "open": true, "ts": 3}',
        '{"shop": "north", "paid": 4, "open": false, "ts": 4}',
        '{"shop": "west", "paid": 4, "open": true, "ts": 5}',
    ]
    feed = alarms.feeds["forecast"]
    reader = a_reader(feed, *counted_on(feed, alarms), public=True)
    for at, line in enumerate(events):
        reader.read([Record(at, at, log_append=True, value=line.encode())])
    reader.arrived_through(2 * MINUTE_MS)
    counted = next(iter(reader.partials()))
    assert counted.partition == REFERENCE_PARTITIONS
    assert counted.counted_on == "forecast"
    assert counted.value.tolist() == values
    assert counted.fingerprint == alarms.by_name["drift"].fingerprint


def test_a_mark_tells_that_a_slice_is_whole(tmp_path):
    """Of a log whose beginning is gone: every event of a later slice stands behind the mark."""
    alarms = alarms_of(tmp_path, MARKS=MARKED)
    feed, day_ms = alarms.feeds["forecast"], 86_400_000
    queries, budget = counted_on(feed, alarms)
    reader = a_reader(feed, queries, budget, whole=False, first=12 * day_ms, public=True)
    for offset, time_ms in enumerate((10 * day_ms, 12 * day_ms + 3 * MINUTE_MS)):
        value, headers = encode_mark(Mark("forecast", time_ms, 0, offset), b"0123456789abcdef")
        reader.read([Record(offset, 0, log_append=True, value=value, headers=headers)])
    assert [one.complete for one in reader.partials()] == [False, True]


def test_a_decider_takes_the_references_of_the_window(tmp_path):
    """Far references are clamped to what deciders take, without an error in the worker."""
    query = alarms_of(tmp_path, DECIDER=", decider: lm").by_name["drift"]
    counts = np.array([[1_000, 7]], dtype=np.int64)
    for references, fires in (
        ([1_000, 7], [False, False]),
        ([7, 7], [True, False]),
        ([2**62, -(2**62)], [True, True]),
    ):
        moved = around(query, np.array(references, dtype=np.int64))
        assert np.abs(moved.band.references).max() <= FARTHEST_REFERENCE
        laws = [operator_of(moved).chances(cell, counts[:, [cell]]) for cell in (0, 1)]
        assert [law.item() > 0.99 for law in laws] == fires
        assert [law.item() > 0.11 for law in laws] == fires


# --- deciding


@dataclass
class Harness:
    """One alarm over two feeds of two partitions each, and a clock that tests move."""

    alarms: Alarms
    ledger: Ledger
    runtime: Runtime
    now_ms: list[int]

    @property
    def query(self):
        """The alarm."""
        return self.alarms.by_name["drift"]

    def late(self, late_ms):
        """Move the clock to so long after the cut of the first window; all feeds stand still."""
        cut_ms = MINUTE_MS + self.query.grace_ms
        end_ms = cut_ms + late_ms
        for now_ms in (*range(max(self.now_ms[0], cut_ms), end_ms, UNSEEN_MS), end_ms):
            self.now_ms[0] = now_ms
            still = dict.fromkeys((0, 1), (5, Stand.END))
            self.ledger.counts.put_places({"sales": still, "forecast": still})

    def counted(self, partition, values, *, complete=True):
        """Return a partial of the first window."""
        on = "forecast" if partition >= REFERENCE_PARTITIONS else None
        return Partial(
            key=WindowKey(end_ms=MINUTE_MS, query="drift", start_ms=0),
            partition=partition,
            fingerprint=self.query.fingerprint,
            topic_id=f"log of {on or 'sales'}",
            complete=complete,
            cells=2,
            index=np.arange(2),
            value=np.array(values, dtype=np.int64),
            first_offset=-1,
            last_offset=-1,
            counted_on=on,
        )

    def put(self, partition, values, *, complete=True):
        """Store one."""
        return self.ledger.counts.put_partial(self.counted(partition, values, complete=complete))

    def ended(self):
        """Decide what is due: outcome, reason and number of alarms of the first window."""
        found = self.runtime.judge.decide_due("drift")
        return [
            (str(one.outcome), one.reason, one.alarm_count)
            for one in found
            if one.key.start_ms == 0
        ]


SALES, FORECAST = (
    LogIdentity(name, "cluster", f"log of {name}", name, 2) for name in ("sales", "forecast")
)


@contextmanager
def running(folder, began_ms=0, **parts):
    """Open what a configuration says; the clock stands at ``began_ms``."""
    parts.setdefault("KEYS", "timing: {reference_timeout: 1h}")
    text = text_of(folder, **parts).replace(MARK, "").replace('epsilon: "0.5"', 'epsilon: "50"')
    path = folder / "run.yaml"
    path.write_text(text.replace('epsilon_max: "4"', 'epsilon_max: "900"'))
    alarms = load(path, environ={})
    now_ms = [began_ms]
    with open_ledger(alarms, clock_ms=lambda: now_ms[0]) as ledger:
        runtime = assemble(
            alarms,
            ledger,
            identities={"sales": SALES, "forecast": FORECAST},
            first_start_ms={"drift": 0},
            clock_ms=lambda: now_ms[0],
        )
        yield Harness(alarms, ledger, runtime, now_ms)


OWN = ((0, [100, 3]), (1, [20, 4]))
OTHERS = ((REFERENCE_PARTITIONS, [60, 7]), (REFERENCE_PARTITIONS + 1, [60, 40]))


def test_a_window_is_decided_once_both_feeds_are_cut(tmp_path):
    """Every order of the four partials waits for the last; references are added up."""
    with running(tmp_path) as run:
        run.late(5 * MINUTE_MS)
        for each in (*OTHERS, OWN[0]):
            run.put(*each)
            assert run.ended() == []
        run.put(*OWN[1])
        assert run.ended() == [("decided", None, 1)]  # 120 against 120, 7 against 47
        must_verify(run.ledger)


@pytest.mark.parametrize(
    ("there", "minutes", "reason"),
    [
        ((*OWN, OTHERS[0]), 60, "reference_timeout"),  # longer than decide_timeout
        ((*OTHERS, OWN[0]), 10, "partition_missing"),  # a whole reference does not prolong it
    ],
)
def test_each_feed_is_waited_for_until_its_own_timeout(tmp_path, there, minutes, reason):
    """Then the window is denied, and nothing is charged; what comes later is not taken."""
    with running(tmp_path) as run:
        for each in there:
            run.put(*each)
        run.late(minutes * MINUTE_MS)
        assert run.ended() == []
        run.late(minutes * MINUTE_MS + 1)
        assert run.ended() == [("denied", reason, 0)]
        (missing,) = [each for each in (*OWN, *OTHERS) if each not in there]
        assert run.put(*missing) is PartialStatus.DECIDED
        assert only_scope(run.ledger).spent_units == 0
        must_verify(run.ledger)


@pytest.mark.parametrize("case", ["incomplete", "conflict"])
def test_a_reference_that_was_not_counted_well_denies(tmp_path, case):
    """Truncated or contradictory references are no better than such counts."""
    with running(tmp_path) as run:
        run.late(MINUTE_MS)
        run.put(*OTHERS[0], complete=case != "incomplete")
        if case == "conflict":
            assert run.put(REFERENCE_PARTITIONS, [60, 8]) is PartialStatus.CONFLICT
        assert run.ended() == [("denied", case, 0)]


def test_the_ledger_takes_a_reference_from_its_own_log_only(tmp_path):
    """Neither log can stand in for the other, nor can either's partition numbers."""
    with running(tmp_path) as run:
        reference, own = run.counted(REFERENCE_PARTITIONS, [1, 1]), run.counted(0, [1, 1])
        for wrong, error in (
            (replace(reference, topic_id=own.topic_id), LogChangedError),
            (replace(own, topic_id=reference.topic_id), LogChangedError),
            (replace(reference, counted_on="sales"), LogChangedError),
            (replace(reference, counted_on="weather"), LogChangedError),
            (replace(reference, counted_on=None), ValueError),
            (replace(own, counted_on="forecast"), ValueError),
            (replace(reference, fingerprint="other"), ConfigChangedError),
        ):
            with pytest.raises(error):
                run.ledger.counts.put_partial(wrong)


def test_a_feed_that_was_ever_protected_is_no_reference(tmp_path):
    """Not even after its alarm was retired."""
    text = text_of(tmp_path).replace(MARK, "")
    start = text.index("    mechanism: {decider")
    watched = f"{text[:start]}    tolerance: 3\n".replace("FROM sales WHERE open", "FROM forecast")
    watched = watched.replace("ABS(COUNT(*) - REFERENCE) >= 5", "COUNT(*) > 9")
    path = tmp_path / "before.yaml"
    watched = watched.replace("drift:", "before:").replace('epsilon_max: "4"', 'epsilon_max: "900"')
    path.write_text(watched)
    alarms = load(path, environ={})
    with open_ledger(alarms) as ledger:
        assemble(alarms, ledger, identities={"forecast": FORECAST}, first_start_ms={"before": 0})
        ledger.pins.remove_alarm("before")
    with pytest.raises(ConfigChangedError, match="protects its events"), running(tmp_path):
        pass
