"""Waiting for a dependency ends."""

from __future__ import annotations

import pytest

from accountant.errors import ConfigError, DependencyError
from stream.kafka.retry import retrying


class Clock:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.pauses_s: list[float] = []

    def sleep(self, pause_s: float) -> None:
        """Note a pause."""
        self.pauses_s.append(pause_s)
        self.now_s += pause_s

    def monotonic(self) -> float:
        """Return the time."""
        return self.now_s


def failing(times: int) -> list[Exception | None]:
    """Return outcomes: so many failures, then success."""
    return [*(DependencyError("away") for _ in range(times)), None]


def call(outcomes: list[Exception | None]) -> str:
    """Take the next outcome."""
    outcome = outcomes.pop(0)
    if outcome is not None:
        raise outcome
    return "here"


def test_tries_again_with_growing_pauses() -> None:
    """Pauses double from a quarter of a second, up to five."""
    clock, outcomes = Clock(), failing(7)
    found = retrying(lambda: call(outcomes), sleep=clock.sleep, monotonic=clock.monotonic)
    assert found == "here"
    assert clock.pauses_s == [0.25, 0.5, 1.0, 2.0, 4.0, 5.0, 5.0]


def test_gives_up_at_the_deadline() -> None:
    """The last error comes out when another pause would pass the deadline."""
    clock, outcomes = Clock(), failing(99)
    with pytest.raises(DependencyError, match="away"):
        retrying(
            lambda: call(outcomes), deadline_s=3.0, sleep=clock.sleep, monotonic=clock.monotonic
        )
    assert clock.now_s <= 3.0


def test_other_errors_come_out_at_once() -> None:
    """Only an absent dependency is worth waiting for."""
    clock = Clock()
    outcomes: list[Exception | None] = [ConfigError("wrong")]
    with pytest.raises(ConfigError):
        retrying(lambda: call(outcomes), sleep=clock.sleep, monotonic=clock.monotonic)
    assert clock.pauses_s == []
