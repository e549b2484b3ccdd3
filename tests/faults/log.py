"""Kafka in memory, with clients of aiokafka's shape.

What is kept of Kafka: offsets and append times of a leader's clock that may step back a little,
transactions that hold readers back until they end, compaction, a producer's order, a group whose
members learn late of what was assigned, and requests of the dead that arrive all the same.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from zlib import crc32

from aiokafka import TopicPartition
from aiokafka.errors import (
    KafkaConnectionError,
)

from stream.kafka.topics import TopicFacts, plan
from tests.faults.recount import PARTITIONS

if TYPE_CHECKING:
    from tests.faults.schedule import Process

_REQUEST_S = 10


class _Place(TopicPartition):  # type: ignore[misc]  # aiokafka ships no stubs
    """A partition whose place in a set does not depend on how the process hashes strings."""

    def __hash__(self):
        return hash((crc32(self.topic.encode()), self.partition))


@dataclass(slots=True, eq=False)
class Transaction:
    """Open until it ends; ``None`` for what is still open."""

    committed: bool | None = None


_NONE = Transaction(committed=True)
"""That of a record which was sent in none."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A record of a partition, and the process that sent it.

    Args:
        order: among the records of all topics.
    """

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    order: int
    sender: Process | None = None
    transaction: Transaction = _NONE


@dataclass(slots=True)
class _Partition:
    entries: list[Entry] = field(default_factory=list)
    end: int = 0
    leader_ahead_ms: int = 0

    def stable(self):
        """Return the offset up to which no transaction is open."""
        opened = (e.offset for e in self.entries if e.transaction.committed is None)
        return next(opened, self.end)

    def reading(self, position, until):
        """Yield the entries of ``[position, until)``."""
        for entry in self.entries[bisect_left(self.entries, position, key=lambda e: e.offset) :]:
            if entry.offset >= until:
                return
            yield entry


class Broker:
    """All brokers, as one.

    Args:
        schedule: of the world.
        alarms: which topics there are.
    """

    def __init__(self, schedule, alarms):
        self.schedule = schedule
        self.on_send = []
        self.on_append = []
        self.facts = {}
        self._logs = {}
        self._dated = set()
        self.order = 0
        """How many records were appended to all topics."""
        for topic in plan(alarms, partitions=PARTITIONS):
            name = topic.name
            self.facts[name] = TopicFacts(name, "c", f"id-{name}", topic.partitions, topic.config)
            if topic.config.get("message.timestamp.type") == "LogAppendTime":
                self._dated.add(name)
            for number in range(topic.partitions):
                self._logs[name, number] = _Partition()

    # --- the world's side

    def append(
        self,
        place: TopicPartition,
        value: bytes | None,
        *,
        key: bytes | None = None,
        timestamp_ms: int = 0,
        sender: Process | None = None,
        transaction: Transaction = _NONE,
    ) -> Entry:
        """Append a record, dated by the leader's clock where the topic says so."""
        log = self.log(place)
        if place.topic in self._dated:
            timestamp_ms = self.schedule.now_ms() + log.leader_ahead_ms
        self.order += 1
        entry = Entry(log.end, timestamp_ms, key, value, self.order, sender, transaction)
        log.entries.append(entry)
        log.end += 1
        for told in self.on_append:
            told(place.topic, entry)
        return entry

    def entries(self, topic: str) -> list[tuple[int, Entry]]:
        """Return what can be read of a topic: ``(partition, entry)``, by partition and offset."""
        return [
            (partition, entry)
            for (name, partition), log in self._logs.items()
            if name == topic
            for entry in log.entries
            if entry.transaction.committed
        ]

    def compact(self, topic: str) -> None:
        """Keep of each key the newest record, and the end of the log as it is."""
        for (name, _), log in self._logs.items():
            if name == topic:
                newest = {entry.key: entry.offset for entry in log.entries}
                log.entries = [e for e in log.entries if newest[e.key] == e.offset]

    def elect(self, place: TopicPartition, ahead_ms: int) -> None:
        """Make another broker the leader, whose clock stands differently."""
        self.log(place).leader_ahead_ms = ahead_ms

    def places(self, topic: str) -> list[TopicPartition]:
        """Return a topic's partitions."""
        return [_Place(*place) for place in self._logs if place[0] == topic]

    # --- what clients ask

    def log(self, place: TopicPartition) -> _Partition:
        """Return a partition's log."""
        return self._logs[place.topic, place.partition]

    async def request(self, name: str) -> None:
        """Ask the brokers something.

        Raises:
            KafkaConnectionError: they do not answer.
        """
        schedule = self.schedule
        await schedule.network(name)
        waited_s = 0
        while schedule.weather.away and waited_s < _REQUEST_S:
            await asyncio.sleep(1.0)
            waited_s += 1
            schedule.point(name)
        if schedule.weather.away or schedule.happens(schedule.weather.refused, "request refused"):
            raise KafkaConnectionError(name)
