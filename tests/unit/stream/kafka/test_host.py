"""What Faust does not hear of while it starts ends the process all the same."""

from __future__ import annotations

from types import SimpleNamespace
from unittest.mock import Mock, PropertyMock

import pytest
from aiokafka.errors import KafkaError

from stream.kafka import host


def _consumer(*, lost):
    """Return Faust's consumer, whose task that keeps it in its group has ended, or has not."""
    coordinator = SimpleNamespace(_coordination_task=SimpleNamespace(done=lambda: lost))
    consumer = SimpleNamespace(_coordinator=coordinator)
    return SimpleNamespace(_thread=SimpleNamespace(_consumer=consumer))


@pytest.mark.parametrize(
    ("consumer", "ready", "crashes"),
    [
        (_consumer(lost=True), [False, True], True),
        (_consumer(lost=True), [True], False),  # then Faust hears of it itself
        (_consumer(lost=False), [False, False, True], False),
        (None, [False, False, True], False),  # it is not there yet
    ],
)
async def test_a_group_that_is_lost_while_everything_starts_ends_the_process(
    monkeypatch, consumer, ready, *, crashes
):
    """However its task ended."""
    monkeypatch.setattr(host, "_WATCH_S", 0.0)
    worker = Mock(app=SimpleNamespace(_consumer=consumer))
    type(worker)._ready = PropertyMock(side_effect=ready)
    await host._Worker._watch_group(worker)
    crashed = [type(error) for _, (error,), _ in worker._crash.mock_calls]
    assert crashed == ([KafkaError] if crashes else [])
