"""History replayed to Kafka with watermarks counts as it does in the embedded shell."""

from __future__ import annotations

import json
import random
import sys
import time
from collections import Counter
from dataclasses import replace

import pytest
from kafka import TopicPartition

from stream.build import open_ledger
from stream.events.marks import Mark, encode_mark
from stream.kafka.history import replay
from tests.support.commands import ledger_must_verify, tocsin
from tests.support.oracle import add_up
from tests.support.procs import ran
from tests.support.recording import replayed
from tests.support.scenario import ROOMS, Scenario
from tests.support.tree import ROOT
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration

_FROM_MS = 1_767_571_200_000  # 2026-01-05
_MINUTES = 20
_UNTIL_MS = _FROM_MS + _MINUTES * 60_000
_STARTS_MS = range(_FROM_MS, _UNTIL_MS, 60_000)
_KEY = b"sixteen characters and more"
_MARKS = f"""\
    clock: watermarks
    watermarks: {{interval: 40s, key: "{_KEY.decode()}"}}
"""
_EVENTS = 12_000
_DIES_AFTER = 7_000


def test_replayed_history_counts_like_the_embedded_shell(broker, postgres, tmp_path):
    """Both codecs; one replayer and one worker die midway, and forged marks end no window."""
    events = tmp_path / "events.jsonl"
    good = _write_events(events)
    plain, arrow = scenarios = [
        Scenario(
            broker,
            tmp_path / codec,
            ledger=postgres.new_database(),
            window="TUMBLE(ts, INTERVAL '1' MINUTE)",
            codec=codec,
            history=(_FROM_MS, _UNTIL_MS),
            feed_lines=_MARKS,
        )
        for codec in ("json", "arrow")
    ]
    with plain, arrow:
        assert replay(arrow.alarms(), "badges", [events]) == len(good)
        arrow.start_worker()
        _forge_marks(plain)
        _replay_and_die(plain, events)
        worker = plain.start_worker()
        wait_until(
            "some history is decided, and where to go on is stored",
            lambda: len(plain.windows("decision")) >= 4 and None not in _marks(plain),
        )
        worker.kill()

        rest = replay(plain.alarms(), "badges", [events])
        assert 0 < rest < len(good)
        tocsin("load", plain.config, events, code=0)  # finds nothing left to write
        _assert_each_event_once(plain, good)
        _forget_what_marks_replace(plain)
        plain.start_worker()
        for scenario in scenarios:
            wait_until(
                f"{scenario.codec}: all history is decided",
                lambda s=scenario: set(_STARTS_MS) <= s.windows("decision"),
            )
        time.sleep(1.5)  # whatever lies beyond the history would be decided by now

    embedded = replace(plain, directory=plain.directory / "embedded", ledger="")
    decisions, counted = replayed(embedded.alarms(), {"badges": [events]})
    assert len(decisions) == _MINUTES
    expected = add_up(counted)
    assert sorted(expected) == list(_STARTS_MS)
    assert all(sum(cells) > 0 for cells in expected.values())
    for scenario in scenarios:
        assert scenario.windows("decision") == set(_STARTS_MS)
        assert {line["outcome"] for line in scenario.done("decision")} == {"decided"}
        assert add_up(scenario.done("partial")) == expected
        ledger_must_verify(scenario.alarms())


def _write_events(path):
    """Write a file of events, bad ones among them, and return the ids of those of the history."""
    rng = random.Random(31)
    lines, good = [], set()
    for number in range(_EVENTS):
        time_ms = rng.randrange(_FROM_MS - 60_000, _UNTIL_MS + 60_000)
        event = {
            "person": f"p{rng.randrange(150)}",
            "event": f"e{number}",
            "room": rng.choice((*ROOMS, "cellar")),
            "ts": "soon" if number % 50 == 0 else time_ms,
        }
        lines.append('{"person": ' if number % 50 == 1 else json.dumps(event))
        if number % 50 > 1 and _FROM_MS <= time_ms < _UNTIL_MS:
            good.add(f"e{number}")
    path.write_text("\n".join(lines) + "\n")
    return good


def _forge_marks(scenario):
    """Write marks of another key, and authentic ones of another partition, that end everything."""
    after_ms, forged = _UNTIL_MS + 3_600_000, []
    for partition in range(scenario.partitions):
        mine, others = (Mark("badges", after_ms, at, 1_000) for at in (partition, 1 - partition))
        for mark, key in ((mine, b"another key of sixteen or more"), (others, _KEY)):
            value, headers = encode_mark(mark, key)
            forged.append({"value": value, "headers": headers, "partition": partition})
    scenario.send(forged)


def _replay_and_die(scenario, events):
    command = [sys.executable, "-m", "tests.support.replay_main"]
    ran(*command, scenario.config, events, _DIES_AFTER, code=-9, cwd=ROOT)
    assert len(scenario.read(scenario.topic)) >= _DIES_AFTER


def _assert_each_event_once(scenario, good):
    committed = scenario.read(scenario.topic, isolation_level="read_committed")
    found = Counter(json.loads(record.value)["event"] for record in committed if not record.headers)
    assert set(found) == good
    assert set(found.values()) == {1}


def _forget_what_marks_replace(scenario):
    """Delete every record before the marks in the ledger: going on must not need them."""
    marks = _marks(scenario)
    assert all(offset > 1_000 for offset in marks if offset is not None)
    with scenario.broker.admin() as client:
        client.delete_records(
            {TopicPartition(scenario.topic, p): offset for p, offset in enumerate(marks)}
        )


def _marks(scenario):
    """Return where a worker would go on in each partition."""
    with open_ledger(scenario.alarms()) as ledger:
        cursor_ms = ledger.cursor(scenario.query)
        return [
            ledger.counts.mark_before("badges", partition, cursor_ms)
            for partition in range(scenario.partitions)
        ]
