"""A configuration that changed under its ledger: refused, until it is accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from stream.build import open_ledger
from tests.support.commands import ledger_must_verify, tocsin
from tests.support.hostile import WINDOW_MS
from tests.support.scenario import Scenario
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.kafka import Broker

pytestmark = pytest.mark.integration


def test_a_changed_configuration_is_refused_until_it_is_accepted(
    broker: Broker, tmp_path: Path
) -> None:
    """Under an applied change, windows that began before it are denied, later ones decided."""
    with Scenario(broker, tmp_path) as scenario:
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
        wait_until("later windows are decided", lambda: boundary_ms in scenario.ended("decided"))
    reasons = {d["start_ms"]: d["reason"] for d in scenario.done("decision")}
    after = {start: reason for start, reason in reasons.items() if start >= cursor_ms}
    assert sorted(after) == list(range(cursor_ms, max(after) + 1, WINDOW_MS))
    expected = {start: "reconfigured" if start < boundary_ms else None for start in after}
    assert after == expected
    ledger_must_verify(scenario.alarms())


def _cursor_ms(scenario: Scenario) -> int:
    with open_ledger(scenario.alarms()) as ledger:
        return ledger.cursor(scenario.query)
