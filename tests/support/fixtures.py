"""Pytest fixtures that start and stop servers; ``tests/conftest.py`` imports them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.kafka import Broker

if TYPE_CHECKING:
    from collections.abc import Iterator

_RUNNING = []


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    """One Kafka broker for the whole session; tests take topics of their own and never kill it."""
    with Broker() as running:
        _RUNNING.append(running)
        yield running


def end_broker() -> None:
    """End the session's broker, if it runs: an idle one takes a fiftieth of a core for nothing."""
    while _RUNNING:
        _RUNNING.pop().stop()


@pytest.fixture
def own_broker() -> Iterator[Broker]:
    """A Kafka broker for one test, which may kill, pause and restart it.

    After SIGKILL the same node may register again only once its session is over.
    """
    with Broker(settings={"broker.session.timeout.ms": "3000"}) as running:
        yield running
