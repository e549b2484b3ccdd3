"""Who looks for a coordinator while no broker is known is told to try again."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.client import AIOKafkaClient
from aiokafka.consumer.group_coordinator import CoordinationType, GroupCoordinator
from aiokafka.errors import NoError

from stream.kafka import nodes


class _Client(AIOKafkaClient):  # type: ignore[misc]  # aiokafka ships no stubs
    """Knows no broker until it has asked for metadata a second time."""

    def __init__(self) -> None:
        """Connect to nobody."""
        self.asked = 0

    def get_random_node(self) -> int | None:
        """Return the broker once there is one."""
        return 7 if self.asked > 1 else None

    async def force_metadata_update(self) -> None:
        """Ask."""
        self.asked += 1

    async def send(self, node_id: int, _request: Any, **_: Any) -> Any:
        """Answer that the coordinator is whoever was asked."""
        return SimpleNamespace(error_code=NoError.errno, coordinator_id=node_id)

    async def ready(self, *_: Any, **__: Any) -> bool:
        """Connect at once."""
        return True


async def _coordinator() -> Any:
    waiting: Any = SimpleNamespace(
        coordinator_id=None,
        group_id="group",
        _client=_Client(),
        _closing=asyncio.get_running_loop().create_future(),
        _coordinator_lookup_lock=asyncio.Lock(),
        _retry_backoff_ms=1,
    )
    await GroupCoordinator.ensure_coordinator_known(waiting)
    return waiting.coordinator_id


async def test_a_cluster_without_a_broker_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """By itself the client dies of it."""
    assert CoordinationType.GROUP == 0
    monkeypatch.setattr(AIOKafkaClient, "coordinator_lookup", nodes._lookup)
    with pytest.raises(AssertionError, match="bootstrap"):
        await _coordinator()
    for _ in range(2):
        nodes.tolerate_no_broker()
        assert await _coordinator() == 7
