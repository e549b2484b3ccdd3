"""A topic read from where its partitions begin to where they end now, in no group."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from aiokafka import AIOKafkaConsumer, TopicPartition

from stream.kafka.clients import FETCH, aiokafka_arguments, reaching, stop_consumer
from stream.kafka.headers import tolerate_headers
from stream.kafka.topics import admin_client, facts_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from stream.model.alarms import KafkaSettings

__all__ = ["Whole", "opened", "read_whole"]

T = TypeVar("T")

_POLL_MS: Final = 500
_MOST_RECORDS: Final = 20_000  # at once: a fraction of a second's work
_SILENT_S: Final = 60.0


class Whole(NamedTuple):
    """A topic that is being read.

    Args:
        consumer: aiokafka's, at the beginning of every partition.
        begins: the oldest offset that is kept, by partition.
        ends: the next one.
    """

    consumer: Any
    begins: dict[TopicPartition, int]
    ends: dict[TopicPartition, int]

    async def records(self) -> AsyncIterator[tuple[TopicPartition, list[Any]]]:
        """Yield records from where the consumer stands up to the ends, and some behind them.

        Raises:
            KafkaError: they cannot be read.
            TimeoutError: none comes for a minute: a client goes on asking a broker that is gone.
        """
        heard_s = time.monotonic()
        while any([await self.consumer.position(at) < end for at, end in self.ends.items()]):
            batches = await self.consumer.getmany(timeout_ms=_POLL_MS, max_records=_MOST_RECORDS)
            if not batches and time.monotonic() > heard_s + _SILENT_S:
                raise TimeoutError
            for place, records in batches.items():
                yield place, records
                heard_s = time.monotonic()


@asynccontextmanager
async def opened(kafka: KafkaSettings, topic: str, partitions: int = 1) -> AsyncIterator[Whole]:
    """Yield what is committed of a topic, at the beginning of every partition.

    Raises:
        KafkaError, TimeoutError: it cannot be read.
    """
    tolerate_headers()
    consumer = AIOKafkaConsumer(
        group_id=None,
        enable_auto_commit=False,
        auto_offset_reset="none",  # what retention takes meanwhile is missed, never skipped
        isolation_level="read_committed",
        **FETCH,
        **aiokafka_arguments(kafka),
    )
    places = [TopicPartition(topic, number) for number in range(partitions)]
    try:
        await consumer.start()
        consumer.assign(places)
        begins = await consumer.beginning_offsets(places)
        for place, begin in begins.items():
            consumer.seek(place, begin)
        yield Whole(consumer, begins, await consumer.end_offsets(places))
    finally:
        await stop_consumer(consumer)


def read_whole(kafka: KafkaSettings, topic: str, read: Callable[[Whole], Awaitable[T]]) -> T:
    """Return what somebody makes of a topic.

    Raises:
        DependencyError: Kafka cannot be reached, or deleted records before they were read.
        LogChangedError: there is no such topic.
    """
    with admin_client(kafka) as client:
        partitions = facts_of(client, topic).partitions

    async def reading() -> T:
        async with opened(kafka, topic, partitions) as whole:
            return await read(whole)

    with reaching(
        f"topic {topic!r} cannot be read to its end",
        "check that Kafka is up, that this user may read the topic, and its retention",
    ):
        return asyncio.run(reading())
