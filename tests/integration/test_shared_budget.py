"""Alarms of two kinds on one Gaussian budget, while their workers are killed and events pause.

Runs pay as they open and comparisons in every window. What the ledger says of a minute has to be
what its records say of both.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from accountant.loss.gaussian import Gaussian
from accountant.records import Outcome
from operators.registry import create
from stream.build import open_ledger
from stream.windows.instants import from_iso_utc
from tests.support.hostile import WINDOW_MS, produce_live
from tests.support.matrix import Matrix, check_paid_by_run, decisions_of
from tests.support.scenario import Scenario
from tests.support.waiting import PATIENCE_S, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from accountant.records import StoredDecision
    from tests.support.kafka import Broker
    from tests.support.postgres import Postgres

pytestmark = pytest.mark.integration

_MINUTE_MS = 60_000
_FLOWS_S, _PAUSES_S = 9.0, 7.0

# A minute carries two runs, or one and some of its twenty comparisons: both are refused at times.
_BUDGET = """\
  privacy_unit: user
  epsilon_max: "40"
  privacy: gdp
  delta: "1e-6"
  period: 1m
  contribution: {max_groups_per_window: 1, max_events_per_group: 1}
"""
_IN_RUNS = "2\n    mechanism: {svt: {max_alarms: 3}}"
_COMPARED = """\
  busy:
    sql: |
      SELECT room FROM badges
      GROUP BY room, TUMBLE(ts, INTERVAL '3' SECOND)
      HAVING COUNT(*) > 20
    max_fnr: 0.05
    tolerance: 3
    timing: {grace: 1s, publish_delay: 250ms}
"""


class SharedScenario(Scenario):
    """A scenario with a second alarm on the same budget, whose windows are compared one by one."""

    def config_text(self, *, public: int = 0, custodian: int = 0) -> str:
        """Return the configuration."""
        return super().config_text(public=public, custodian=custodian) + _COMPARED


def in_bursts(scenario: Scenario, stop: Sequence[object]) -> None:
    """Send hostile events, with pauses in which every partition is idle for some windows."""
    seed = 0
    while not stop:
        until_ms = int((time.time() + _FLOWS_S) * 1000)
        produce_live(
            scenario.broker.bootstrap,
            [scenario.topic],
            until_ms=until_ms,
            seed=seed,
            every_ms=15,
            stop=stop,
        )
        seed += 1
        pause_until_s = time.monotonic() + _PAUSES_S
        while not stop and time.monotonic() < pause_until_s:
            time.sleep(0.1)


@contextmanager
def flowing_in_bursts(scenario: Scenario) -> Iterator[None]:
    """Keep events coming and pausing while the block runs."""
    stop: list[object] = []
    thread = Thread(target=in_bursts, args=(scenario, stop), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.append(True)
        thread.join(timeout=PATIENCE_S)


def check_records(scenario: Scenario, decisions: Sequence[StoredDecision], until_ms: int) -> None:
    """Assert that every window up to an instant was published, one record however often sent."""
    published: dict[tuple[str, int], set[int]] = {}
    for copies in scenario.decided().values():
        for copy in copies:
            key = (copy["alarm"], from_iso_utc(copy["window_start"]))
            published.setdefault(key, set()).add(copy["sequence"])
    for one in decisions:
        if one.key.end_ms <= until_ms:
            assert published[one.key.query, one.key.start_ms] == {one.sequence}


def test_two_kinds_on_one_gaussian_budget_survive_kills(
    broker: Broker, postgres: Postgres, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Every window is decided or refused once, and a minute's rho is the sum of its records."""
    scenario = SharedScenario(
        broker,
        tmp_path,
        f"shared-{time.monotonic_ns()}",
        postgres.new_database(),
        partitions=3,
        budget=_BUDGET,
        tolerance=_IN_RUNS,
    )
    scenario.create_topics()
    ledger = open_ledger(scenario.alarms())
    matrix = Matrix(scenario, ledger)
    kills = 12 if request.config.getoption("--full") else 3
    try:
        with flowing_in_bursts(scenario):
            matrix.kill_at_random(kills, random.Random(5))
            matrix.finish()
            caught_up_ms = matrix.caught_up_ms
        names = sorted(scenario.alarms().by_name)
        assert names == ["busy", "crowd"]
        scenario.start_worker()
        wait_until(
            "both alarms have caught up",
            lambda: (
                all(
                    one.published
                    for name in names
                    for one in decisions_of(ledger, name)
                    if one.key.end_ms <= caught_up_ms
                )
                and min(ledger.reports.status().queries[name].cursor_ms for name in names)
                >= caught_up_ms
            ),
        )
        scenario.stop()
        by_alarm = {name: decisions_of(ledger, name) for name in names}
        spent: Counter[int] = Counter()
        for name, decisions in by_alarm.items():
            starts_ms = [one.key.start_ms for one in decisions]
            assert starts_ms == list(range(starts_ms[0], starts_ms[-1] + 1, WINDOW_MS))
            assert {one.reason for one in decisions} <= {None, "budget"}
            assert {one.epsilon_units for one in decisions if one.reason} <= {0}
            print(name, Counter(str(one.outcome) for one in decisions), kills)
            check_records(scenario, decisions, caught_up_ms)
            for one in decisions:
                spent[one.key.start_ms // _MINUTE_MS] += one.epsilon_units
        query = scenario.alarms().by_name["crowd"]
        svt = create(query.mechanism, query.condition, query.aim)
        check_paid_by_run(svt, by_alarm["crowd"])
        assert all(len(noises) == 1 for noises in matrix.drawn.values())
        scope = ledger.reports.status().scopes["user"]
        promise = Gaussian.read(scope.promise)
        paid_units = scope.spent_units - scope.reserved_units  # one may be under way when all end
        assert paid_units <= max(spent.values()) <= scope.spent_units <= scope.epsilon_max_units
        assert scope.epsilon_max_units == promise.wall_units
        assert matrix.worst_units <= scope.epsilon_max_units
        assert promise.keeps(scope.spent_units)
        assert all(
            any(one.outcome is Outcome.DECIDED for one in each) for each in by_alarm.values()
        )
        scenario.topics_must_agree()
    finally:
        scenario.stop()
        ledger.close()
