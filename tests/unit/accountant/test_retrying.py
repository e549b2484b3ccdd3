"""Waiting for a dependency ends."""

from __future__ import annotations

import time

import pytest
from prometheus_client import REGISTRY

from accountant.errors import ConfigError, DependencyError
from accountant.retrying import retrying


class Clock:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.pauses_s = []

    def sleep(self, pause_s):
        """Note a pause."""
        self.pauses_s.append(pause_s)
        self.now_s += pause_s

    def monotonic(self):
        """Return the time."""
        return self.now_s


@pytest.fixture
def clock(monkeypatch):
    """The clock that is read and waited on."""
    clock = Clock()
    monkeypatch.setattr(time, "sleep", clock.sleep)
    monkeypatch.setattr(time, "monotonic", clock.monotonic)
    return clock


def failing(times):
    """Return outcomes: so many failures, then success."""
    return [*(DependencyError("away") for _ in range(times)), None]


def call(outcomes):
    """Take the next outcome."""
    outcome = outcomes.pop(0)
    if outcome is not None:
        raise outcome
    return "here"


def test_tries_again_with_growing_pauses(clock):
    """Pauses double from a quarter of a second, up to five."""
    outcomes = failing(7)
    assert retrying(lambda: call(outcomes)) == "here"
    assert clock.pauses_s == [0.25, 0.5, 1.0, 2.0, 4.0, 5.0, 5.0]


@pytest.mark.parametrize(("deadline_s", "pauses"), [(0.0, 0), (3.0, 3), (3.75, 4), (30.0, 9)])
def test_gives_up_at_the_deadline(clock, deadline_s, pauses):
    """The last error comes out when another pause would pass the deadline."""
    outcomes = failing(99)
    with pytest.raises(DependencyError, match="away"):
        retrying(lambda: call(outcomes), deadline_s=deadline_s)
    assert clock.now_s <= deadline_s
    assert len(clock.pauses_s) == pauses == 98 - outcomes.index(None)


@pytest.mark.parametrize("error", [ConfigError("away"), DependencyError("gone")])
def test_what_will_not_pass_comes_out_at_once(clock, error):
    """Only an absent dependency is worth waiting for, and not where the caller knows better."""
    with pytest.raises(type(error)):
        retrying(lambda: call([error, None]), passing=lambda error: error.message == "away")
    assert clock.pauses_s == []


@pytest.mark.usefixtures("clock")
def test_trying_again_is_neither_logged_nor_counted(caplog):
    """Nothing is said of a pause, and nothing stands on the registry that all libraries share."""
    outcomes = failing(2)
    assert retrying(lambda: call(outcomes)) == "here"
    assert caplog.records == []
    assert not [metric.name for metric in REGISTRY.collect() if "stamina" in metric.name]
