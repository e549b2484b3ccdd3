"""The last messages of a topic, for ``tocsin init``: a bounded read that leaves no trace.

No group is joined and no place is kept. Whoever looks sees events, as the custodian does.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, TopicPartition

from accountant.errors import DataError, DependencyError
from stream.events.marks import claims_mark
from stream.kafka.clients import KAFKA_AWAY, aiokafka_arguments, stop_consumer
from stream.kafka.headers import tolerate_headers
from stream.kafka.topics import admin_client, describe
from stream.model.alarms import KafkaSettings

__all__ = ["last_messages"]

_POLL_MS: Final = 500
_PATIENCE_S: Final = 30.0


def last_messages(bootstrap: str, topic: str, most: int) -> list[bytes]:
    """Return the values of the last messages of a topic, partition by partition.

    Args:
        bootstrap: ``host:port`` of a Kafka without credentials.
        topic: which one.
        most: at most so many messages, spread evenly over the partitions.

    Raises:
        DataError: there is no such topic.
        DependencyError: Kafka cannot be reached, or is too slow to answer.
    """
    kafka = KafkaSettings(bootstrap, "", "", "", "", "", {})
    with admin_client(kafka) as client:
        facts = describe(client, [topic]).get(topic)
    if facts is None:
        raise DataError(f"topic {topic!r} does not exist", hint="check its name and the broker")
    places = [TopicPartition(topic, number) for number in range(facts.partitions)]
    try:
        return asyncio.run(asyncio.wait_for(_read(kafka, places, most), _PATIENCE_S))
    except KAFKA_AWAY as error:
        raise DependencyError(
            f"topic {topic!r} cannot be read ({type(error).__name__})",
            hint="check that Kafka is up and that this user may read the topic",
        ) from error


async def _read(kafka: KafkaSettings, places: list[TopicPartition], most: int) -> list[bytes]:
    tolerate_headers()
    consumer = AIOKafkaConsumer(
        group_id=None,
        enable_auto_commit=False,
        isolation_level="read_committed",
        **aiokafka_arguments(kafka),
    )
    found: list[bytes] = []
    try:
        await consumer.start()
        consumer.assign(places)
        begins: dict[Any, int] = await consumer.beginning_offsets(places)
        ends: dict[Any, int] = await consumer.end_offsets(places)
        each = max(most // len(places), 1)
        read = {place: max(begins[place], ends[place] - each) for place in places}
        for place in places:
            consumer.seek(place, read[place])
        while any(read[place] < ends[place] for place in places):
            for records in (await consumer.getmany(timeout_ms=_POLL_MS)).values():
                found += [
                    record.value
                    for record in records
                    if record.value and not claims_mark(record.headers)
                ]
            read = {place: await consumer.position(place) for place in places}
    finally:
        await stop_consumer(consumer)
    return found[:most]
