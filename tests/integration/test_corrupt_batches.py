"""A batch that fails its CRC stops its partition, not the worker, and is named."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest
from kafka.partitioner.default import murmur2

from tests.support.hostile import WINDOW_MS
from tests.support.scenario import Scenario
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.kafka import Broker

pytestmark = pytest.mark.integration

_MARKER = "spoilt-on-the-disk"
_GOOD = 40


@pytest.fixture
def scenario(broker: Broker, tmp_path: Path) -> Iterator[Scenario]:
    """A scenario whose worker was killed once it had decided."""
    made = Scenario(
        broker,
        tmp_path / "corrupt",
        f"corrupt-{time.monotonic_ns()}",
        f"sqlite:///{tmp_path}/corrupt.db",
        decide_timeout="10s",
    )
    with made:
        worker = made.start_worker()
        wait_until("a window is decided", lambda: made.done("decision"))
        worker.kill()
        yield made


def test_a_corrupt_batch_stops_its_partition_alone(scenario: Scenario) -> None:
    """What lies before it is counted, the other partition is read on, windows are denied by name.

    In the log of partition 0 a byte is overwritten while no worker runs. Its good batches complete
    the windows before it; behind it nothing of that partition can be said.
    """
    spoilt = _person(0, "spoilt")
    good_ms = 0
    while _now_ms() >= good_ms + WINDOW_MS:  # until a window holds all of them
        good_ms = _next_window_ms()
        time.sleep(max(good_ms - _now_ms(), 0) / 1000)
        _send(scenario, [_person(0, f"good-{number}") for number in range(_GOOD)])
        _send(scenario, [_person(1, f"other-{number}") for number in range(_GOOD)])
    # A record past the cut completes the window in partition 0.
    time.sleep(max(good_ms + 2 * WINDOW_MS - _now_ms(), 0) / 1000)
    _send(scenario, [_person(0, "later")])
    _send(scenario, [spoilt], event=_MARKER)
    _overwrite(scenario, partition=0)
    _send(scenario, [_person(0, "behind"), _person(1, "beside")])
    beside_ms = _now_ms() // WINDOW_MS * WINDOW_MS
    worker = scenario.start_worker()
    wait_until("a window is denied", lambda: _reasons(scenario) - {None})
    wait_until("the other partition is read on", lambda: (beside_ms, 1) in _counted(scenario))
    assert worker.alive, worker.text()
    assert _reasons(scenario) <= {None, "partition_corrupt"}
    assert (beside_ms, 0) not in _counted(scenario)
    assert _counted(scenario)[good_ms, 0] == _counted(scenario)[good_ms, 1] == _GOOD
    outcomes = {line["start_ms"]: line["outcome"] for line in scenario.done("decision")}
    assert outcomes[good_ms] == "decided"
    wait_until("the log names it", lambda: "is blocked" in worker.text())
    (said, *_) = (line for line in worker.text().splitlines() if "is blocked" in line)
    assert all(word in said for word in (scenario.topic, "corrupt", "partition=0")), said
    assert not any(_MARKER in line or "spoilt-" in line for line in worker.text().splitlines())


def _person(partition: int, name: str) -> str:
    """Return a person of that partition whose name begins so."""
    return next(
        person
        for person in (f"{name}-{number}" for number in range(100))
        if (murmur2(person.encode()) & 0x7FFFFFFF) % 2 == partition
    )


def _send(scenario: Scenario, people: list[str], event: str = "") -> None:
    now_ms = _now_ms()
    scenario.produce(
        (
            one,
            json.dumps(
                {"person": one, "event": event or one, "room": "lab", "ts": now_ms}
            ).encode(),
        )
        for one in people
    )


def _overwrite(scenario: Scenario, *, partition: int) -> None:
    """Change one byte of the marked record in the broker's own file."""
    folder = scenario.broker.directory / "data" / f"{scenario.topic}-{partition}"
    (log,) = folder.glob("*.log")
    place = log.read_bytes().rindex(_MARKER.encode())
    with log.open("r+b") as file:
        file.seek(place)
        file.write(b"S")


def _reasons(scenario: Scenario) -> set[str | None]:
    return {line["reason"] for line in scenario.done("decision")}


def _counted(scenario: Scenario) -> dict[tuple[int, int], int]:
    """Return how many people were counted, by window start (ms) and partition."""
    return {
        (line["start_ms"], line["partition"]): sum(line["value"])
        for line in scenario.done("partial")
    }


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _next_window_ms() -> int:
    return (_now_ms() // WINDOW_MS + 1) * WINDOW_MS
