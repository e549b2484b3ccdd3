"""The Kafka broker of the integration tests: a real one, from ``deploy/kafka/broker.py``.

Use the fixtures of :mod:`tests.support.fixtures`::

    def test_something(broker: Broker) -> None:           # one broker for the whole session
        topic = broker_topic(broker, name="events", partitions=4)  # a name of its own per test
        ...

    def test_outage(own_broker: Broker) -> None:          # a broker this test may kill
        own_broker.kill()
        own_broker.restart()                              # same log, same address, ~6 s

``Broker`` : ``start() stop() kill() restart() pause() resume() create_topic(name, partitions,
config) delete_topic(name) admin() bootstrap cluster_id pid version log_file directory``.
``TOCSIN_KAFKA_VERSION=4.3.1`` runs the same tests on another version.
"""

from __future__ import annotations

import itertools
import os
from contextlib import closing
from typing import Any

from kafka import KafkaConsumer, TopicPartition

from deploy.kafka.broker import Broker, BrokerError
from tests.support.waiting import wait_until

__all__ = ["Broker", "BrokerError", "broker_topic", "read_all", "start_again"]

_numbers = itertools.count(1)


def broker_topic(broker: Broker, *, name: str, partitions: int) -> str:
    """Create a topic under a name that no other test of this session has, and return the name.

    Args:
        broker: where.
        name: how the topic's name begins.
        partitions: how many.
    """
    topic = f"{name}-{os.getpid()}-{next(_numbers)}"
    broker.create_topic(topic, partitions)
    return topic


def read_all(bootstrap: str, topic: str, isolation_level: str = "read_uncommitted") -> list[Any]:
    """Return every record of a topic up to its end, by partition, then offset."""
    records: list[Any] = []
    with closing(
        KafkaConsumer(
            bootstrap_servers=bootstrap,
            enable_auto_commit=False,
            isolation_level=isolation_level,
        )
    ) as consumer:
        numbers = consumer.partitions_for_topic(topic) or ()
        partitions = [TopicPartition(topic, number) for number in numbers]
        consumer.assign(partitions)
        consumer.seek_to_beginning(*partitions)
        ends = consumer.end_offsets(partitions)
        while any(consumer.position(place) < ends[place] for place in partitions):
            for fetched in consumer.poll(timeout_ms=500).values():
                records += fetched
    return sorted(records, key=lambda one: (one.partition, one.offset))


def start_again(broker: Broker) -> None:
    """Start a killed broker; on a busy machine the first attempt may not be quick enough."""

    def answers() -> bool:
        try:
            broker.restart()
        except BrokerError:
            return False
        return True

    wait_until("the broker answers again", answers)
