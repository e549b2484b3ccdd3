"""Time in which nobody reads is nobody's fault: what the log still holds is counted and decided."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from tests.support.hostile import WINDOW_MS, flowing
from tests.support.oracle import add_up, crowd
from tests.support.scenario import Scenario
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.kafka import Broker

pytestmark = pytest.mark.integration

_TIMEOUT_S = 6


def test_no_window_is_lost_to_a_downtime_longer_than_the_timeout(
    broker: Broker, tmp_path: Path
) -> None:
    """All workers are killed for several times ``decide_timeout``; every window is decided."""
    scenario = Scenario(
        broker,
        tmp_path / "downtime",
        f"downtime-{time.monotonic_ns()}",
        f"sqlite:///{tmp_path}/downtime.db",
        decide_timeout=f"{_TIMEOUT_S}s",
    )
    scenario.create_topics()
    try:
        before = scenario.start_worker()
        wait_until("a window is decided", lambda: bool(scenario.done("decision")))
        before.kill()
        first_ms = scenario.cursor_ms()
        with flowing(broker.bootstrap, scenario.topic, seed=31):
            time.sleep(3 * WINDOW_MS / 1000)
        time.sleep(2 * _TIMEOUT_S)
        last_ms = time.time_ns() // 1_000_000 // WINDOW_MS * WINDOW_MS
        scenario.start_worker()
        wait_until("the windows are decided", lambda: last_ms in scenario.windows("decision"))
    finally:
        scenario.stop()
    starts_ms = list(range(first_ms, last_ms + 1, WINDOW_MS))
    decisions = {line["start_ms"]: line["outcome"] for line in scenario.done("decision")}
    assert {start: decisions[start] for start in starts_ms} == dict.fromkeys(starts_ms, "decided")
    truth = crowd(scenario.read(scenario.topic), starts_ms, partitions=2, size_ms=WINDOW_MS)
    counted = add_up(scenario.done("partial"))
    assert {start: counted[start] for start in starts_ms} == truth
    assert sum(sum(cells) > 0 for cells in truth.values()) >= 3
