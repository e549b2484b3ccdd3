"""The same events give the same counts, however they are partitioned, shared out or replayed."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from dataclasses import replace

import pytest

from stream.events.records import Record
from stream.replay.exports import ExportInfo, LoggedRecord, export_info, read_log
from tests.support.commands import tocsin
from tests.support.hostile import WINDOW_MS, next_window_ms, produce_live
from tests.support.oracle import add_up, crowd
from tests.support.recording import replayed
from tests.support.scenario import Scenario
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration

_WINDOWS = 4
_LAYOUTS = [(1, 1), (2, 2), (4, 1)]


def test_layouts_and_the_embedded_shell_count_alike(broker, postgres, tmp_path):
    """1, 2 and 4 partitions, 1 and 2 workers and a replayed export agree with a plain recount."""
    scenarios = [
        Scenario(
            broker,
            tmp_path / f"p{partitions}w{workers}",
            ledger=postgres.new_database(),
            partitions=partitions,
            topic=f"same-{partitions}-{tmp_path.name}",
        )
        for partitions, workers in _LAYOUTS
    ]
    with ExitStack() as stack:
        for scenario, (_, workers) in zip(scenarios, _LAYOUTS, strict=True):
            stack.enter_context(scenario)
            for _ in range(workers):
                scenario.start_worker()
        for scenario in scenarios:
            wait_until("a worker runs", scenario.cursor_ms)
        starts_ms = _produce_alike(broker, scenarios)
        wanted = set(starts_ms)
        for scenario in scenarios:
            wait_until("windows are counted", lambda s=scenario: wanted <= _counted(s))

    counts = []
    for scenario in scenarios:
        records = scenario.read(scenario.topic)
        truth = crowd(records, starts_ms, partitions=scenario.partitions, size_ms=WINDOW_MS)
        shells = [scenario.done("partial")]
        if len({line["pid"] for line in shells[0]}) == 1:
            shells.append(_exported_and_replayed(scenario, records, starts_ms))
        for lines in shells:
            counted = add_up(lines)
            assert {start: counted[start] for start in starts_ms} == truth
        counts.append(truth)
    assert counts == counts[:1] * len(counts)
    assert all(sum(cells) > 0 for cells in counts[0].values())


def _produce_alike(broker, scenarios):
    """Send the same events to every topic; return windows in which the logs say the same.

    The machine may stand still at a cut and make an event late in one topic alone. Such a window
    has another truth there, and more are produced until enough have one truth everywhere.
    """
    while True:
        first_ms = next_window_ms()
        until_ms = first_ms + (_WINDOWS + 2) * WINDOW_MS
        topics = [scenario.topic for scenario in scenarios]
        assert produce_live(broker.bootstrap, topics, until_ms=until_ms, seed=7) > 300
        starts_ms = range(first_ms, until_ms - WINDOW_MS, WINDOW_MS)
        truths = [
            crowd(each.read(each.topic), starts_ms, partitions=each.partitions, size_ms=WINDOW_MS)
            for each in scenarios
        ]
        alike = [
            start_ms
            for start_ms in starts_ms
            if len({truth[start_ms] for truth in truths}) == 1 and sum(truths[0][start_ms]) > 0
        ]
        if len(alike) >= _WINDOWS:
            return alike


def _counted(scenario):
    """Return the windows of which every partition was counted."""
    places = {(one["start_ms"], one["partition"]) for one in scenario.done("partial")}
    whole = Counter(start_ms for start_ms, _ in places)
    return {start_ms for start_ms, counted in whole.items() if counted == scenario.partitions}


def _exported_and_replayed(scenario, records, starts_ms):
    """Export the topic, which must give its records, and return what a replay of it counts."""
    export = scenario.directory / "log.parquet"
    done = tocsin("export", scenario.config, "badges", export, code=0)
    assert done.stdout == f"{len(records)} records in {export}\n"
    assert export_info(export) == ExportInfo(
        scenario.topic, scenario.partitions, (0,) * scenario.partitions
    )
    assert sorted(read_log(export), key=lambda one: (one.partition, one.record.offset)) == [
        LoggedRecord(
            r.partition, Record(r.offset, r.timestamp, r.timestamp_type == 1, r.value), r.key
        )
        for r in records
    ]
    history = starts_ms[0], starts_ms[-1] + WINDOW_MS
    again = replace(scenario, directory=scenario.directory / "replay", ledger="", history=history)
    decisions, counted = replayed(again.alarms(), {"badges": [export]})
    assert len(decisions) == (history[1] - history[0]) // WINDOW_MS
    return counted
