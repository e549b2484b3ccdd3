"""Waiting for a dependency ends."""

from __future__ import annotations

import time
from unittest.mock import Mock

import pytest
from prometheus_client import REGISTRY

from accountant.errors import ConfigError, DependencyError
from accountant.retrying import retrying


@pytest.fixture
def pauses_s(monkeypatch):
    """Every pause so far: only sleeping moves the clock."""
    found = []
    monkeypatch.setattr(time, "sleep", found.append)
    monkeypatch.setattr(time, "monotonic", lambda: sum(found))
    return found


def failing(times, error=None):
    """Return a call that fails so often, and then succeeds."""
    return Mock(side_effect=[error or DependencyError("away")] * times + ["here"])


def test_tries_again_with_growing_pauses(pauses_s):
    """Pauses double from a quarter of a second, up to five."""
    assert retrying(failing(7)) == "here"
    assert pauses_s == [0.25, 0.5, 1.0, 2.0, 4.0, 5.0, 5.0]


@pytest.mark.parametrize(("deadline_s", "pauses"), [(0.0, 0), (3.0, 3), (3.75, 4), (30.0, 9)])
def test_gives_up_at_the_deadline(pauses_s, deadline_s, pauses):
    """The last error comes out when another pause would pass the deadline."""
    call = failing(99)
    with pytest.raises(DependencyError, match="away"):
        retrying(call, deadline_s=deadline_s)
    assert sum(pauses_s) <= deadline_s
    assert len(pauses_s) == pauses == call.call_count - 1


@pytest.mark.parametrize("error", [ConfigError("away"), DependencyError("gone")])
def test_what_will_not_pass_comes_out_at_once(pauses_s, error):
    """Only an absent dependency is worth waiting for, and not where the caller knows better."""
    with pytest.raises(type(error)):
        retrying(failing(1, error), passing=lambda error: error.message == "away")
    assert pauses_s == []


@pytest.mark.usefixtures("pauses_s")
def test_trying_again_is_neither_logged_nor_counted(caplog):
    """Nothing is said of a pause, and nothing stands on the registry that all libraries share."""
    assert retrying(failing(2)) == "here"
    assert caplog.records == []
    assert not [metric.name for metric in REGISTRY.collect() if "stamina" in metric.name]
