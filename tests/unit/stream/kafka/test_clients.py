"""Clients of Kafka end in order, whatever they were doing."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.consumer.fetcher import Fetcher

from stream.kafka.clients import admin_arguments, stop_consumer


class Connections:
    """Connections that note when they are closed."""

    closed = False

    async def close(self):
        """Close them."""
        self.closed = True


async def waiting_to_fetch_again():
    """Return a consumer whose broker has gone: a request of it waits to be tried again."""
    consumer = AIOKafkaConsumer()
    fetching, again = (asyncio.create_task(asyncio.sleep(60)) for _ in range(2))
    await asyncio.sleep(0)
    fetcher = SimpleNamespace(_fetch_task=fetching, _fetch_waiters=[], _pending_tasks=[again])
    fetcher.close = lambda: Fetcher.close(fetcher)
    consumer._fetcher, consumer._client = fetcher, Connections()
    return consumer, consumer._client


async def test_a_request_that_waits_to_be_tried_again_ends_nobody():
    """Aiokafka hands its own cancellation on; the connections are closed all the same."""
    consumer, connections = await waiting_to_fetch_again()
    await stop_consumer(consumer)
    assert connections.closed
    consumer, _ = await waiting_to_fetch_again()
    with pytest.raises(asyncio.CancelledError):
        await consumer.stop()


async def test_who_is_cancelled_while_stopping_ends():
    """That cancellation is ours."""
    consumer, _ = await waiting_to_fetch_again()
    stopping = asyncio.create_task(stop_consumer(consumer))
    await asyncio.sleep(0)
    stopping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stopping


def test_a_busy_machine_is_no_warning(caplog):
    """Whoever watches would read that kafka-python had to wait for a tenth of a second."""

    async def wait():
        time.sleep(0.2)  # noqa: ASYNC251  # as long as a step of its loop that gets no processor

    client = admin_arguments(SimpleNamespace(bootstrap="", security={}))["kafka_client"]()
    client._net.run(wait)
    assert caplog.text == ""
