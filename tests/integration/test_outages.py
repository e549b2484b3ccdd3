"""A PostgreSQL that never answers, and a configuration that changes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from deploy.kafka.runtime import free_port
from stream.build import open_ledger
from stream.cli.main import main
from tests.support.commands import ledger_must_verify
from tests.support.hostile import WINDOW_MS
from tests.support.scenario import Scenario, Worker
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.kafka import Broker

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module", autouse=True)
def hopeless(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """A worker whose database never answers; it gives up while other tests run."""
    scenario = Scenario(
        broker,
        tmp_path_factory.mktemp("hopeless"),
        f"no-database-{time.monotonic_ns()}",
        f"postgresql://tocsin:a-secret@127.0.0.1:{free_port()}/tocsin",
    )
    scenario.create_topics()
    try:
        yield scenario.start_worker()
    finally:
        scenario.stop()


def test_a_changed_configuration_is_refused_until_it_is_accepted(
    broker: Broker, tmp_path: Path
) -> None:
    """Under an accepted change, windows that began before it are denied, later ones decided."""
    scenario = Scenario(
        broker, tmp_path, f"changed-{time.monotonic_ns()}", f"sqlite:///{tmp_path}/ledger.db"
    )
    scenario.create_topics()
    try:
        before = scenario.start_worker()
        wait_until("a window is decided", lambda: bool(scenario.done("decision")))
        before.kill()
        cursor_ms = _cursor_ms(scenario)
        scenario.tolerance = 3
        scenario.config.write_text(scenario.config_text())

        refused = scenario.start_worker()
        assert refused.ended() == 2, refused.text()
        assert "differs from the registered one" in refused.text()
        assert "tocsin ledger FILE accept" in refused.text()
        assert _cursor_ms(scenario) == cursor_ms

        told = CliRunner().invoke(main, ["ledger", str(scenario.config), "accept"])
        assert told.exit_code == 0, told.output
        assert "crowd: accepted, in force from" in told.output
        with open_ledger(scenario.alarms()) as ledger:
            boundary_ms = ledger.effective_from(scenario.query)
        assert boundary_ms > cursor_ms
        scenario.start_worker()
        wait_until("later windows are decided", lambda: boundary_ms in _decided(scenario))
    finally:
        scenario.stop()
    reasons = {d["start_ms"]: d["reason"] for d in scenario.done("decision")}
    after = {start: reason for start, reason in reasons.items() if start >= cursor_ms}
    assert sorted(after) == list(range(cursor_ms, max(after) + 1, WINDOW_MS))
    expected = {start: "reconfigured" if start < boundary_ms else None for start in after}
    assert after == expected
    ledger_must_verify(scenario.alarms())


def test_a_worker_gives_up_on_a_database_that_never_answers(hopeless: Worker) -> None:
    """After backing off for half a minute it exits with 4 and names what does not answer."""
    assert hopeless.ended() == 4, hopeless.text()
    assert "the ledger postgresql" in hopeless.text()
    assert "a-secret" not in hopeless.text()


def _decided(scenario: Scenario) -> set[int]:
    return {d["start_ms"] for d in scenario.done("decision") if d["outcome"] == "decided"}


def _cursor_ms(scenario: Scenario) -> int:
    with open_ledger(scenario.alarms()) as ledger:
        return ledger.cursor(scenario.query)
