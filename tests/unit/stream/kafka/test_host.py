"""What Faust does not hear of while it starts ends the process all the same."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from aiokafka.errors import KafkaError

from stream.kafka import host

if TYPE_CHECKING:
    import pytest


def _app(coordination: Any) -> Any:
    """Return an app whose consumer is kept in its group by this task."""
    consumer = SimpleNamespace(_coordinator=SimpleNamespace(_coordination_task=coordination))
    return SimpleNamespace(_consumer=SimpleNamespace(_thread=SimpleNamespace(_consumer=consumer)))


async def _watched(app: Any, *, ready: bool = False) -> list[type[BaseException]]:
    """Return what a worker that starts crashes of; it is ready after five looks, or before."""
    crashed: list[type[BaseException]] = []

    class Worker:
        looks = 0

        @property
        def _ready(self) -> bool:
            self.looks += 1
            return ready or bool(crashed) or self.looks > 5

        def _crash(self, reason: BaseException) -> None:
            crashed.append(type(reason))

    worker: Any = Worker()
    worker.app = app
    await host._Worker._watch_group(worker)
    return crashed


async def test_a_group_that_is_lost_while_everything_starts_ends_the_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However its task ended; not where nothing is lost, is there yet, or matters any more."""
    monkeypatch.setattr(host, "_WATCH_S", 0.0)
    lost, kept = SimpleNamespace(done=lambda: True), SimpleNamespace(done=lambda: False)
    assert await _watched(_app(lost)) == [KafkaError]
    for app in (_app(kept), _app(None), SimpleNamespace(_consumer=None)):
        assert await _watched(app) == []
    assert await _watched(_app(lost), ready=True) == []
