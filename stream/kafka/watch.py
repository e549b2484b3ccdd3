"""``tocsin watch``: follow the alarms as an analyst does."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec
from aiokafka import AIOKafkaConsumer
from aiokafka.errors import KafkaError

from accountant.errors import DependencyError
from stream.decisions.records import decode_alarm
from stream.kafka.clients import aiokafka_arguments
from stream.model.alarms import require_kafka

if TYPE_CHECKING:
    from collections.abc import Generator

    from stream.model.alarms import Alarms

__all__ = ["watch"]


def watch(alarms: Alarms, *, from_beginning: bool = False) -> Generator[dict[str, Any], None, None]:
    """Yield every alarm as it is published, until the caller stops.

    Args:
        alarms: the checked configuration.
        from_beginning: start with the oldest retained alarm instead of the next one.

    Raises:
        ConfigError: the configuration has no ``kafka`` section.
        DataError: a record of the topic is not an alarm of this version.
        DependencyError: Kafka cannot be reached.
    """
    kafka = require_kafka(alarms)
    try:
        with asyncio.Runner() as runner:  # which ends what it waits for when it is interrupted
            consumer = runner.run(_start(alarms, from_beginning=from_beginning))
            try:
                while True:
                    record = runner.run(consumer.getone())
                    yield msgspec.to_builtins(decode_alarm(record.value or b""))
            finally:
                runner.run(consumer.stop())
    except (KafkaError, OSError) as error:
        raise DependencyError(
            f"the alarms topic at {kafka.bootstrap} cannot be read ({type(error).__name__})",
            hint="check that Kafka is up, that `tocsin topics FILE` is content and the user's ACLs",
        ) from error


async def _start(alarms: Alarms, *, from_beginning: bool) -> AIOKafkaConsumer:
    kafka = require_kafka(alarms)
    consumer = AIOKafkaConsumer(
        kafka.alarms_topic,
        group_id=None,
        enable_auto_commit=False,
        auto_offset_reset="earliest" if from_beginning else "latest",
        isolation_level="read_committed",
        **aiokafka_arguments(kafka),
    )
    try:
        await consumer.start()
    except BaseException:
        await consumer.stop()
        raise
    return consumer
