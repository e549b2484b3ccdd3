"""Bands around references that are counted on a public feed, of which one lags, on real Kafka."""

from __future__ import annotations

import time
from functools import partial

import pytest

from accountant.records import REFERENCE_PARTITIONS
from tests.support.commands import ledger_must_verify
from tests.support.forecasts import WINDOW_MS, ForecastScenario, fired_at
from tests.support.forms import PEOPLE, USUAL
from tests.support.oracle import add_up
from tests.support.waiting import wait_until


@pytest.mark.integration
def test_a_forecast_that_lags_is_waited_for_but_not_for_ever(broker, postgres, tmp_path):
    """Two partitions each, two workers, one killed while the forecast lags; then it stays away."""
    scenario = ForecastScenario(
        broker,
        tmp_path,
        ledger=postgres.new_database(),
        having="ABS(COUNT(*) - REFERENCE) >= 0.5 * REFERENCE",
        epsilon_max="100000",
    )
    with scenario:
        workers = [scenario.start_worker(), scenario.start_worker()]
        wait_until("a worker runs", scenario.cursor_ms)
        decided = partial(scenario.windows, "decision")
        first_ms = scenario.people(scenario.cursor_ms())
        scenario.mark(first_ms)
        scenario.expect(first_ms)
        scenario.mark(first_ms + WINDOW_MS + 1_000)
        wait_until("the first window is decided", lambda: first_ms in decided())

        second_ms = scenario.people(first_ms)
        scenario.mark(second_ms)
        scenario.expect(second_ms)
        wait_until("its people are counted", lambda: scenario.own(second_ms) == {0, 1})
        time.sleep(2)
        assert second_ms not in decided()
        workers[0].kill()
        last_mark_ms = second_ms + WINDOW_MS + 1_000
        scenario.mark(last_mark_ms)
        wait_until("the second window is decided", lambda: second_ms in decided())

        wait_until("a window lacks its forecast", lambda: _late(scenario, last_mark_ms))
        denied_ms = min(line["start_ms"] for line in _late(scenario, last_mark_ms))
        wait_until("it is denied", lambda: denied_ms in scenario.decided())
    partials = scenario.done("partial")
    own = [line for line in partials if line["partition"] < REFERENCE_PARTITIONS]
    reference = [line for line in partials if line["partition"] >= REFERENCE_PARTITIONS]
    assert {line["partition"] - REFERENCE_PARTITIONS for line in reference} == {0, 1}
    counted, expected = add_up(own), add_up(reference)
    published, records = scenario.published(), scenario.decided()
    for start_ms in (first_ms, second_ms):
        assert counted[start_ms] == tuple(PEOPLE.values())
        assert expected[start_ms] == tuple(USUAL.values())
        assert fired_at(published, start_ms) == {"library", "roof"}
    assert sorted(records) == list(range(min(records), max(records) + 1, WINDOW_MS))
    denied = records[denied_ms][0]
    assert (denied["reason"], denied["epsilon_units"]) == ("reference_timeout", 0)
    for line in _late(scenario, last_mark_ms):
        assert line["at_ns"] / 1e6 > line["start_ms"] + WINDOW_MS + 1_000 + 25_000
    ledger_must_verify(scenario.alarms())


def _late(scenario, since_ms):
    """Return the windows that ended after an instant and lacked a forecast."""
    return [
        line
        for line in scenario.done("decision")
        if line["reason"] == "reference_timeout" and line["start_ms"] >= since_ms - WINDOW_MS
    ]
