"""A batch that fails its CRC stops its partition, not the worker, and is named."""

from __future__ import annotations

import pytest

from tests.support.hostile import WINDOW_MS, event_of, home, next_window_ms, sleep_until, time_ms
from tests.support.scenario import Scenario
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration

_MARKER = "spoilt-on-the-disk"
_GOOD = 40


def test_a_corrupt_batch_stops_its_partition_alone(broker, tmp_path):
    """What lies before it is counted, the other partition is read on, windows are denied by name.

    In the log of partition 0 a byte is overwritten while no worker runs. Its good batches complete
    the windows before it; behind it nothing of that partition can be said.
    """
    with Scenario(broker, tmp_path, decide_timeout="10s") as scenario:
        worker = scenario.start_worker()
        wait_until("a window is decided", lambda: scenario.done("decision"))
        worker.kill()
        good_ms = 0
        while time_ms() >= good_ms + WINDOW_MS:  # until a window holds all of them
            sleep_until(good_ms := next_window_ms())
            for partition in range(2):
                _send(scenario, *(_person(partition, f"good-{at}") for at in range(_GOOD)))
        # A record past the cut completes the window in partition 0.
        sleep_until(good_ms + 2 * WINDOW_MS)
        _send(scenario, _person(0, "later"))
        _send(scenario, _person(0, "spoilt"), event=_MARKER)
        _overwrite(scenario, partition=0)
        _send(scenario, _person(0, "behind"), _person(1, "beside"))
        beside_ms = time_ms() // WINDOW_MS * WINDOW_MS
        worker = scenario.start_worker()
        wait_until("a window is denied", lambda: scenario.reasons() - {None})
        wait_until("the other partition is read on", lambda: (beside_ms, 1) in _counted(scenario))
        wait_until("the log names it", lambda: "is blocked" in worker.text())
        assert worker.alive, worker.text()
    assert scenario.reasons() <= {None, "partition_corrupt"}
    counted = _counted(scenario)
    assert (beside_ms, 0) not in counted
    assert counted[good_ms, 0] == counted[good_ms, 1] == _GOOD
    assert good_ms in scenario.ended("decided")
    lines = worker.text().splitlines()
    said = next(line for line in lines if "is blocked" in line)
    assert all(word in said for word in (scenario.topic, "corrupt", "partition=0")), said
    assert not any(_MARKER in line or "spoilt-" in line for line in lines)


def _person(partition, name):
    """Return a person of that partition whose name begins so."""
    people = (f"{name}-{number}" for number in range(100))
    return next(person for person in people if home(person, 2) == partition)


def _send(scenario, *people, event=""):
    scenario.produce(event_of(one, "lab", event) for one in people)


def _overwrite(scenario, *, partition):
    """Change one byte of the marked record in the broker's own file."""
    folder = scenario.broker.directory / "data" / f"{scenario.topic}-{partition}"
    (log,) = folder.glob("*.log")
    place = log.read_bytes().rindex(_MARKER.encode())
    with log.open("r+b") as file:
        file.seek(place)
        file.write(b"S")


def _counted(scenario):
    """Return how many people were counted, by window start (ms) and partition."""
    return {
        (line["start_ms"], line["partition"]): sum(line["value"])
        for line in scenario.done("partial")
    }
