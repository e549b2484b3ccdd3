"""Who looks for a coordinator while no broker is known is told to try again."""

from __future__ import annotations

import asyncio
from functools import partial
from types import SimpleNamespace
from unittest.mock import AsyncMock, Mock

import pytest
from aiokafka.client import AIOKafkaClient
from aiokafka.consumer.group_coordinator import CoordinationType, GroupCoordinator

from stream.kafka import nodes


async def _coordinator():
    """Look for a coordinator with a client that knows no broker until it has asked twice."""
    asked = []
    client = Mock(
        spec=AIOKafkaClient,
        get_random_node=lambda: 7 if len(asked) > 1 else None,
        force_metadata_update=AsyncMock(side_effect=lambda: asked.append("metadata")),
    )
    client.coordinator_lookup = partial(AIOKafkaClient.coordinator_lookup, client)
    client.send.side_effect = lambda node, _: SimpleNamespace(error_code=0, coordinator_id=node)
    waiting = SimpleNamespace(
        coordinator_id=None,
        group_id="group",
        _client=client,
        _closing=asyncio.get_running_loop().create_future(),
        _coordinator_lookup_lock=asyncio.Lock(),
        _retry_backoff_ms=1,
    )
    await GroupCoordinator.ensure_coordinator_known(waiting)
    return waiting.coordinator_id


async def test_a_cluster_without_a_broker_is_asked_again(monkeypatch):
    """By itself the client dies of it."""
    assert CoordinationType.GROUP == 0
    monkeypatch.setattr(AIOKafkaClient, "coordinator_lookup", nodes._lookup)
    with pytest.raises(AssertionError, match="bootstrap"):
        await _coordinator()
    for _ in range(2):
        nodes.tolerate_no_broker()
        assert await _coordinator() == 7
