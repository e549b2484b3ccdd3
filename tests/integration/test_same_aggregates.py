"""The same events give the same counts, however they are partitioned, shared out or replayed."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from stream.build import open_ledger
from stream.events.records import Record
from stream.replay.exports import ExportInfo, LoggedRecord, export_info, read_log
from stream.replay.replay import Replay
from tests.support.commands import tocsin
from tests.support.hostile import WINDOW_MS, next_window_ms, produce_live
from tests.support.ledgers import must_verify
from tests.support.oracle import add_up, crowd
from tests.support.recording import journalled, stored_partials
from tests.support.scenario import Scenario
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tests.support.kafka import Broker
    from tests.support.postgres import Postgres

pytestmark = pytest.mark.integration

_WINDOWS = 4
_LAYOUTS = [(1, 1), (2, 2), (4, 1)]


def test_layouts_and_the_embedded_shell_count_alike(
    broker: Broker, postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1, 2 and 4 partitions, 1 and 2 workers and a replayed export agree with a plain recount."""
    scenarios = {
        (partitions, workers): Scenario(
            broker,
            tmp_path / f"p{partitions}w{workers}",
            ledger=postgres.new_database(),
            partitions=partitions,
            topic=f"same-{partitions}-{tmp_path.name}",
        )
        for partitions, workers in _LAYOUTS
    }
    with ExitStack() as stack:
        for scenario in scenarios.values():
            stack.enter_context(scenario)
        for (_, workers), scenario in scenarios.items():
            for _ in range(workers):
                scenario.start_worker()
        for scenario in scenarios.values():
            wait_until("a worker runs", lambda s=scenario: s.cursor_ms())
        topics = {scenario.topic: scenario for scenario in scenarios.values()}
        starts_ms = _produce_alike(topics)
        for layout, scenario in scenarios.items():
            wait_until(
                f"windows of layout {layout} are counted",
                lambda s=scenario: set(starts_ms) <= _counted(s),
            )

    counts = {}
    for (partitions, workers), scenario in scenarios.items():
        journalled = add_up(scenario.done("partial"))
        records = scenario.read(scenario.topic)
        counts[partitions, workers] = {start: journalled[start] for start in starts_ms}
        assert counts[partitions, workers] == crowd(
            records, starts_ms, partitions=partitions, size_ms=WINDOW_MS
        )
        if workers == 1:
            replayed = _replay(scenario, records, starts_ms, monkeypatch)
            assert {start: replayed[start] for start in starts_ms} == counts[partitions, workers]
    assert len({tuple(sorted(found.items())) for found in counts.values()}) == 1
    assert all(sum(cells) > 0 for cells in counts[1, 1].values())


def _produce_alike(scenarios: Mapping[str, Scenario]) -> list[int]:
    """Send the same events to every topic; return windows in which the logs say the same.

    The machine may stand still at a cut and make an event late in one topic alone. Such a window
    has another truth there, and more are produced until enough have one truth everywhere.
    """
    while True:
        bootstrap = next(iter(scenarios.values())).broker.bootstrap
        first_ms = next_window_ms()
        until_ms = first_ms + (_WINDOWS + 2) * WINDOW_MS
        sent = produce_live(bootstrap, list(scenarios), until_ms=until_ms, seed=7)
        assert sent > 300
        starts_ms = range(first_ms, until_ms - WINDOW_MS, WINDOW_MS)
        truths = [
            crowd(each.read(topic), starts_ms, partitions=each.partitions, size_ms=WINDOW_MS)
            for topic, each in scenarios.items()
        ]
        alike = [
            start_ms
            for start_ms in starts_ms
            if len({truth[start_ms] for truth in truths}) == 1 and sum(truths[0][start_ms]) > 0
        ]
        if len(alike) >= _WINDOWS:
            return alike


def _counted(scenario: Scenario) -> set[int]:
    """Return the windows of which every partition was counted."""
    places = {(p["start_ms"], p["partition"]) for p in scenario.done("partial")}
    starts = {start for start, _ in places}
    return {s for s in starts if {(s, p) for p in range(scenario.partitions)} <= places}


def _replay(
    scenario: Scenario,
    records: Sequence[Any],
    starts_ms: Sequence[int],
    monkeypatch: pytest.MonkeyPatch,
) -> dict[int, tuple[int, ...]]:
    """Replay an export of the topic through the embedded shell and return what it counted."""
    export = scenario.directory / "log.parquet"
    done = tocsin("export", scenario.config, "badges", export)
    assert (done.exit_code, done.stdout) == (0, f"{len(records)} records in {export}\n"), (
        done.stderr
    )
    assert export_info(export) == ExportInfo(scenario.topic, scenario.partitions)
    assert sorted(read_log(export), key=lambda one: (one.partition, one.record.offset)) == [
        LoggedRecord(
            r.partition, Record(r.offset, r.timestamp, r.timestamp_type == 1, r.value), r.key
        )
        for r in records
    ]
    replayed = Scenario(
        scenario.broker,
        scenario.directory / "replay",
        scenario.name,
        topic=scenario.topic,
        history=(starts_ms[0], starts_ms[-1] + WINDOW_MS),
    )
    counted = stored_partials(monkeypatch)
    alarms = replayed.alarms()
    ledger = open_ledger(alarms)
    try:
        decisions = list(Replay(alarms, ledger, {"badges": [export]}).run())
        must_verify(ledger)
    finally:
        ledger.close()
        monkeypatch.undo()
    assert len(decisions) == (starts_ms[-1] - starts_ms[0]) // WINDOW_MS + 1
    return add_up(journalled(counted))
