"""The Kafka side: records of the buffer to the feed's topic, in order and at least once."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from aiokafka import AIOKafkaProducer

from stream.kafka.clients import KAFKA_AWAY, aiokafka_arguments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream.kafka.connectivity import Connectivity
    from stream.kafka.mqtt.buffer import Buffer, Record
    from stream.model.alarms import KafkaSettings

__all__ = ["Producer"]

_MOST: Final = 500  # records that are on their way at once
_REQUEST_MS: Final = 10_000
_PAUSE_S: Final = 1.0
_STOP_S: Final = 5.0


@dataclass(eq=False)
class Producer:
    """Brings records to a topic until it is cancelled.

    Args:
        kafka: how it is reached.
        topic: of the feed.
        buffer: what is to be brought.
        connectivity: told whether Kafka answers.
    """

    kafka: KafkaSettings
    topic: str
    buffer: Buffer
    connectivity: Connectivity

    def __post_init__(self) -> None:
        """Begin: Kafka has not answered yet."""
        self.connected = asyncio.Event()
        """Set once Kafka has answered."""

    async def run(self) -> None:
        """Bring records until cancelled; what was not acknowledged is brought again.

        Raises:
            DependencyError: the buffer cannot be used.
        """
        while True:
            producer = AIOKafkaProducer(
                acks="all",
                enable_idempotence=True,
                request_timeout_ms=_REQUEST_MS,
                **aiokafka_arguments(self.kafka),
            )
            try:
                await producer.start()
                self.connected.set()
                while True:
                    records = await self.buffer.next(_MOST)
                    await self._send(producer, records)
                    self.connectivity.found()
                    await self.buffer.delivered(records)
            except KAFKA_AWAY as error:
                self.connectivity.missed(error)
            finally:
                # A producer that gave a record up is not to be trusted with the order of the next.
                with suppress(TimeoutError):
                    async with asyncio.timeout(_STOP_S):
                        await producer.stop()
            await asyncio.sleep(_PAUSE_S)

    async def _send(self, producer: Any, records: Sequence[Record]) -> None:
        """Return once all are in the log, on every replica that is in sync.

        Raises:
            KafkaError: one is not.
        """
        sent = [await producer.send(self.topic, value, key=key) for key, value in records]
        for outcome in await asyncio.gather(*sent, return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome
