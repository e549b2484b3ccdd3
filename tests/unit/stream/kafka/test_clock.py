"""A wall clock is believed while it goes on as the monotonic one does, and agrees with a broker."""

from __future__ import annotations

from pathlib import Path

import pytest

from accountant.errors import ClockError
from stream.config.loading import load
from stream.kafka.clock import HeldClock
from tests.faults.mutants import mutated
from tests.support.commands import configuration
from tests.support.files import edit

MINUTE_MS = 60_000
ALLOWED_MS = 7_500
"""Three quarters of the usual margin."""


class Clocks:
    """Both clocks of a machine."""

    def __init__(self):
        self.wall_ms = 1_700_000_000_000
        self.monotonic_ms = 5_000
        self.slow_ms = 0

    def wall(self):
        """Return the time, after a while."""
        slow_ms, self.slow_ms = self.slow_ms, 0
        self.passes(slow_ms)
        return self.wall_ms

    def passes(self, ms):
        """Let time go on."""
        self.wall_ms += ms
        self.monotonic_ms += ms


@pytest.fixture
def clocks():
    """Two clocks that go alike."""
    return Clocks()


@pytest.fixture
def held(tmp_path, clocks):
    """A held clock that has been looked at once."""
    alarms = load(Path(configuration(tmp_path)), environ={})
    return HeldClock(alarms, clocks.wall, lambda: clocks.monotonic_ms)


def test_time_goes_on(held, clocks):
    """However long, and where the process was not run between two looks."""
    for _ in range(1_000):
        clocks.passes(MINUTE_MS)
        clocks.slow_ms = 40 * MINUTE_MS
        assert held() == clocks.wall_ms


@pytest.mark.parametrize(
    ("ahead_ms", "step_ms", "left_ms"),
    [
        (None, 0, ALLOWED_MS),
        (None, 5_000, 2_500),  # allowed in all, not for each step
        (None, -MINUTE_MS, ALLOWED_MS),  # set back, it is held against where it agreed last
        (ALLOWED_MS - 100, 0, 100),  # ahead and set forward, it would close what is not over
        (-MINUTE_MS, 0, ALLOWED_MS),  # a broker that answers late is no proof that it is behind
    ],
)
@pytest.mark.parametrize("looks", [0, 10])
def test_what_is_allowed_is_allowed_once(held, clocks, *, ahead_ms, step_ms, left_ms, looks):
    """Whatever came before: a clock comes forward by what is left, and by no millisecond more."""
    if ahead_ms is not None:
        held.agrees(clocks.wall_ms, clocks.wall_ms - ahead_ms)
    for forward_ms in (step_ms, left_ms):
        clocks.wall_ms += forward_ms
        assert held() == clocks.wall_ms
        for _ in range(looks):
            clocks.passes(MINUTE_MS)
            held()
    clocks.wall_ms += 1
    with pytest.raises(ClockError, match=f"set forward .* is {ALLOWED_MS + 1} ms ahead"):
        held()


def test_a_clock_ahead_of_the_broker_is_refused(held, clocks):
    """One behind is late, and counts nothing wrongly."""
    held.agrees(clocks.wall_ms, clocks.wall_ms + MINUTE_MS)
    held.agrees(clocks.wall_ms, clocks.wall_ms - ALLOWED_MS)
    with pytest.raises(ClockError, match="7501 ms ahead of the brokers'"):
        held.agrees(clocks.wall_ms, clocks.wall_ms - ALLOWED_MS - 1)


def test_a_clock_that_forgets_how_far_it_is_ahead_is_caught(held, clocks):
    """The mutant that seeds hardly find: it comes forward by what is allowed twice."""
    with mutated("how far the clock is ahead is forgotten"):
        held.agrees(clocks.wall_ms, clocks.wall_ms - ALLOWED_MS)
    clocks.wall_ms += ALLOWED_MS
    assert held() == clocks.wall_ms


def test_the_shortest_margin_counts(tmp_path, clocks):
    """A feed that waits for less needs a better clock."""
    path = Path(configuration(tmp_path))
    margin = "    time: ts\n    idle_partition_timeout: 2s\n"
    edit(path, "    time: ts\n", margin)
    assert HeldClock(load(path, environ={}), clocks.wall).allowed_ms == 1_500
