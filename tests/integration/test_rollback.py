"""A ledger restored from an older copy is found out, and the gap is charged before it goes on."""

from __future__ import annotations

import json
import sqlite3
import time
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from accountant.errors import LedgerRolledBackError
from accountant.units import to_loss_units
from stream.build import open_ledger
from stream.decisions.mechanisms import plans_of
from stream.kafka.guard import check_ledger
from stream.windows.shown import moment_text
from tests.support.commands import tocsin
from tests.support.hostile import WINDOW_MS
from tests.support.ledgers import must_verify
from tests.support.scenario import Scenario
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from accountant.records import LedgerStatus
    from tests.support.kafka import Broker

pytestmark = pytest.mark.integration


def test_an_older_copy_is_refused_until_the_gap_is_charged(broker: Broker, tmp_path: Path) -> None:
    """The worker names the command; after it no window is drawn again and every one is charged."""
    database, copy = tmp_path / "ledger.db", tmp_path / "copy.db"
    scenario = Scenario(broker, tmp_path, f"back-{time.monotonic_ns()}", f"sqlite:///{database}")
    with scenario:
        worker = scenario.start_worker()
        wait_until("a window is published", lambda: _published(scenario) >= 1)
        _copy(database, copy)
        copied = _sequence(scenario)  # or one more than the copy holds
        wait_until("more windows are published", lambda: _published(scenario) >= copied + 2)
        worker.kill()
        for leftover in tmp_path.glob("ledger.db-*"):
            leftover.unlink()
        _copy(copy, database)
        released = scenario.decided()
        before = _sequence(scenario)
        assert 0 < before <= copied < len(released)

        refused = scenario.start_worker()
        assert refused.ended() == 2, refused.text()
        assert "tocsin ledger FILE reconcile" in refused.text()
        first_lost = moment_text(sorted(released)[before], "UTC")
        assert f"the first of alarm 'crowd' from {first_lost} on: " in refused.text()
        assert _sequence(scenario) == before

        told = tocsin("ledger", scenario.config, "reconcile", code=0)
        assert f"{len(released) - before} decision(s) taken over" in told.output
        assert _sequence(scenario) == len(released)

        scenario.start_worker()
        wait_until("new windows are published", lambda: _published(scenario) >= before + 3)
    _assert_drawn_once_and_charged(scenario, released)
    _assert_another_ledger_is_refused(scenario)


def _assert_drawn_once_and_charged(
    scenario: Scenario, released: dict[int, list[dict[str, Any]]]
) -> None:
    """Compare everything published with what was published before the rollback."""
    published = scenario.decided()
    starts_ms = sorted(published)
    assert starts_ms == list(range(starts_ms[0], starts_ms[-1] + 1, WINDOW_MS))
    for start_ms, copies in published.items():
        assert len({json.dumps(copy, sort_keys=True) for copy in copies}) == 1
        if start_ms in released:
            assert copies[0] == released[start_ms][0]
    # The kill may have cut off a window between its draw and its release: that one is drawn again.
    drawn = Counter(
        line["start_ms"] for line in scenario.done("step") if line["step"] == "after_draw"
    )
    decided = Counter(line["start_ms"] for line in scenario.done("decision"))
    for counted in (drawn, decided):
        assert {counted[start_ms] for start_ms in released} == {1}
        assert max(counted.values()) <= 2
    assert sum(times > 1 for times in decided.values()) <= 1

    alarms = scenario.alarms()
    per_window = to_loss_units(plans_of(alarms)[scenario.query].epsilon)
    with open_ledger(alarms) as ledger:
        must_verify(ledger)
        spent = ledger.reports.status().scopes["user"].spent_units
    assert {copies[0]["outcome"] for copies in published.values()} == {"decided"}
    assert spent >= len(published) * per_window


def _assert_another_ledger_is_refused(scenario: Scenario) -> None:
    """Point a fresh ledger at the same topics: it has not seen what was released."""
    fresh = Scenario(
        scenario.broker,
        scenario.directory / "fresh",
        scenario.name,
        f"sqlite:///{scenario.directory}/fresh.db",
    )
    with (
        open_ledger(fresh.alarms()) as ledger,
        pytest.raises(LedgerRolledBackError, match="an older copy, or not the topic's ledger"),
    ):
        check_ledger(fresh.alarms(), ledger)


def _status(scenario: Scenario) -> LedgerStatus:
    with open_ledger(scenario.alarms()) as ledger:
        return ledger.reports.status()


def _sequence(scenario: Scenario) -> int:
    return _status(scenario).queries[scenario.query].sequence


def _published(scenario: Scenario) -> int:
    """Return how many decisions of this ledger's own have left."""
    if not scenario.done("decision"):
        return 0
    query = _status(scenario).queries.get(scenario.query)
    decided = {line["start_ms"] for line in scenario.done("decision")}
    return len(decided) - (query.unpublished if query else 0)


def _copy(source: Path, target: Path) -> None:
    """Copy a database as a backup does, with what its log holds."""
    target.unlink(missing_ok=True)
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)
