"""What Faust does not hear of while it starts ends the process all the same."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from aiokafka.errors import KafkaError

from stream.kafka import host
from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    import pytest


def _app(coordination: Any) -> Any:
    """Return an app whose consumer is kept in its group by this task."""
    consumer = SimpleNamespace(_coordinator=SimpleNamespace(_coordination_task=coordination))
    return SimpleNamespace(_consumer=SimpleNamespace(_thread=SimpleNamespace(_consumer=consumer)))


def _watched(app: Any, *, ready: bool = False) -> list[BaseException]:
    """Return what a worker that starts crashes of; it is ready after five looks, or before."""
    crashed: list[BaseException] = []

    class Worker:
        looks = 0

        def __init__(self) -> None:
            self.app = app

        @property
        def _ready(self) -> bool:
            self.looks += 1
            return ready or bool(crashed) or self.looks > 5

        def _crash(self, reason: BaseException) -> None:
            crashed.append(reason)

    async def watch() -> None:
        worker: Any = Worker()
        await asyncio.wait_for(host._Worker._watch_group(worker), PATIENCE_S)

    asyncio.run(watch())
    return crashed


def test_a_group_that_is_lost_while_everything_starts_ends_the_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However its task ended; not where nothing is lost, is there yet, or matters any more."""
    monkeypatch.setattr(host, "_WATCH_S", 0.0)
    lost, kept = SimpleNamespace(done=lambda: True), SimpleNamespace(done=lambda: False)
    assert [type(reason) for reason in _watched(_app(lost))] == [KafkaError]
    for app in (_app(kept), _app(None), SimpleNamespace(_consumer=None)):
        assert _watched(app) == []
    assert _watched(_app(lost), ready=True) == []
