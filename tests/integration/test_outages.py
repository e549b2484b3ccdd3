"""Kafka and PostgreSQL that are away, for a while or for good, and configurations that change."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from deploy.kafka.runtime import free_port
from stream.build import open_ledger
from tests.support.commands import ledger_must_verify, tocsin
from tests.support.hostile import WINDOW_MS, flowing
from tests.support.oracle import add_up, crowd
from tests.support.scenario import Scenario, Worker
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tests.support.kafka import Broker
    from tests.support.postgres import Postgres

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module", autouse=True)
def hopeless(
    broker: Broker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mapping[str, Worker]]:
    """Two workers whose broker or database never answers; they give up while other tests run."""
    folder = tmp_path_factory.mktemp("hopeless")
    nowhere = f"127.0.0.1:{free_port()}"
    no_broker = Scenario(broker, folder / "broker", "no-broker", f"sqlite:///{folder}/ledger.db")
    text = no_broker.config.read_text()
    no_broker.config.write_text(text.replace(broker.bootstrap, nowhere))
    no_database = Scenario(
        broker,
        folder / "database",
        f"no-database-{time.monotonic_ns()}",
        f"postgresql://tocsin:a-secret@{nowhere}/tocsin",
    )
    no_database.create_topics()
    scenarios = {"broker": no_broker, "database": no_database}
    try:
        yield {name: scenario.start_worker() for name, scenario in scenarios.items()}
    finally:
        for scenario in scenarios.values():
            scenario.stop()


def test_broker_and_database_may_leave_and_come_back(
    own_broker: Broker, postgres: Postgres, tmp_path: Path
) -> None:
    """Sessions of PostgreSQL are cut and the broker is killed under a worker: nothing is lost."""
    ledger = postgres.new_database()
    scenario = Scenario(own_broker, tmp_path, "outage", ledger)
    with scenario:
        worker = scenario.start_worker()
        wait_until("a worker counts", lambda: scenario.done("partial"))
        with flowing(own_broker.bootstrap, scenario.topic, seed=23):
            for _ in range(4):
                time.sleep(0.7)
                postgres.drop_connections(ledger)
            cut_ms = _window_ms()
            wait_until("windows are decided after the cuts", lambda: cut_ms in _decided(scenario))
        own_broker.kill()
        time.sleep(1.5)
        own_broker.restart()
        with flowing(own_broker.bootstrap, scenario.topic, seed=29):
            last_ms = _window_ms() + 2 * WINDOW_MS
            wait_until("windows are decided after the kill", lambda: last_ms in _decided(scenario))
        wait_until("they are published", lambda: last_ms in scenario.decided())
        assert worker.alive

    published = scenario.decided()
    starts_ms = sorted(published)
    assert starts_ms == list(range(starts_ms[0], starts_ms[-1] + 1, WINDOW_MS))
    assert {copies[0]["outcome"] for copies in published.values()} == {"decided"}
    assert all(
        len({json.dumps(copy, sort_keys=True) for copy in copies}) == 1
        for copies in published.values()
    )
    truth = crowd(scenario.read(scenario.topic), starts_ms, partitions=2, size_ms=WINDOW_MS)
    counted = add_up(scenario.done("partial"))
    assert {start: counted[start] for start in starts_ms} == truth
    assert sum(sum(cells) > 0 for cells in truth.values()) >= 4
    ledger_must_verify(scenario.alarms())


def test_a_changed_configuration_is_refused_until_it_is_accepted(
    broker: Broker, tmp_path: Path
) -> None:
    """Under an applied change, windows that began before it are denied, later ones decided."""
    scenario = Scenario(
        broker, tmp_path, f"changed-{time.monotonic_ns()}", f"sqlite:///{tmp_path}/ledger.db"
    )
    with scenario:
        before = scenario.start_worker()
        wait_until("a window is decided", lambda: scenario.done("decision"))
        before.kill()
        cursor_ms = _cursor_ms(scenario)
        scenario.tolerance = 3
        scenario.config.write_text(scenario.config_text())

        refused = scenario.start_worker()
        assert refused.ended() == 2, refused.text()
        assert "differs from the ledger's" in refused.text()
        assert "tocsin ledger FILE apply" in refused.text()
        assert _cursor_ms(scenario) == cursor_ms

        told = tocsin("ledger", scenario.config, "apply", code=0)
        assert "crowd: applied, in force from" in told.output
        with open_ledger(scenario.alarms()) as ledger:
            boundary_ms = ledger.effective_from(scenario.query)
        assert boundary_ms > cursor_ms
        scenario.start_worker()
        wait_until("later windows are decided", lambda: boundary_ms in _decided(scenario))
    reasons = {d["start_ms"]: d["reason"] for d in scenario.done("decision")}
    after = {start: reason for start, reason in reasons.items() if start >= cursor_ms}
    assert sorted(after) == list(range(cursor_ms, max(after) + 1, WINDOW_MS))
    expected = {start: "reconfigured" if start < boundary_ms else None for start in after}
    assert after == expected
    ledger_must_verify(scenario.alarms())


def test_a_worker_gives_up_on_what_never_answers(hopeless: Mapping[str, Worker]) -> None:
    """After backing off for half a minute it exits with 4 and names what does not answer."""
    for name, worker in hopeless.items():
        assert worker.ended() == 4, (name, worker.text())
    assert "Kafka is unreachable at 127.0.0.1" in hopeless["broker"].text()
    assert "the ledger postgresql" in hopeless["database"].text()
    assert "a-secret" not in hopeless["database"].text()


def _decided(scenario: Scenario) -> set[int]:
    return {d["start_ms"] for d in scenario.done("decision") if d["outcome"] == "decided"}


def _cursor_ms(scenario: Scenario) -> int:
    with open_ledger(scenario.alarms()) as ledger:
        return ledger.cursor(scenario.query)


def _window_ms() -> int:
    return time.time_ns() // 1_000_000 // WINDOW_MS * WINDOW_MS
