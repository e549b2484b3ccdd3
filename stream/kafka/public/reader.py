"""The public topics, from where states can be found again, and how far they were delivered.

::

        read back, in silence            delivered by this process
    ────┬───────────────────────────────┬──────────────────────────▶ decisions
        └ lookback before it, or now   └ committed: all before it was delivered

Reading back finds what fires without keeping a file: the lifecycle is a function of the topics. A
process that is killed reads on from what it committed, and delivers copies of what it had not.
"""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import asynccontextmanager
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from aiokafka import AIOKafkaConsumer, TopicPartition

from accountant.errors import DependencyError
from stream.decisions.records import decode_alarm, decode_decision
from stream.kafka.clients import FETCH, KAFKA_AWAY, aiokafka_arguments, reaching, stop_consumer
from stream.kafka.headers import tolerate_headers
from stream.kafka.public.pairing import Pairing, Window
from stream.kafka.tasks import now_ms
from stream.kafka.topics import admin_client

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Mapping

    from stream.kafka.connectivity import Connectivity
    from stream.model.alarms import KafkaSettings

__all__ = ["Position", "Reader", "delivered_to", "run_on"]

_POLL_MS = 500
_LOOK_S = 5.0
_FIRST_S = 60.0  # one record, which is there
_MOST_RECORDS = 5_000


def run_on(kafka: KafkaSettings, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run what reads the public topics to its end.

    Raises:
        DependencyError: Kafka cannot be reached, or refuses.
    """
    with admin_client(kafka):
        pass  # it waits for a broker that starts, and a consumer does not
    with reaching(
        f"the public topics at {kafka.bootstrap} cannot be read",
        "check that Kafka is up, and the user's ACLs on both topics and its group",
    ):
        asyncio.run(work())


def delivered_to(known: int | None, first: int, end: int, *, from_beginning: bool) -> int:
    """Return the offset below which all of a partition was delivered, or is not to be.

    Args:
        known: that was committed; ``None`` where nothing was.
        first: the oldest that is kept.
        end: the next one.
        from_beginning: whether a group that has delivered nothing begins with the oldest.
    """
    if known is None:
        return first if from_beginning else end
    if known > end:  # the topic was made anew: none of it was delivered
        return first
    return max(known, first)


@dataclass(frozen=True, slots=True)
class Position:
    """Where a process begins to read.

    Args:
        group: whose offsets say how far was delivered; ``None`` for who delivers nothing: none is
            read or committed, and no right to a group is needed.
        lookback_ms: states are found from so long before now on, or before the first record that
            was not delivered.
        from_beginning: who has delivered nothing begins with the oldest records, not the next ones.
    """

    group: str | None = None
    _: KW_ONLY
    lookback_ms: int = 0
    from_beginning: bool = False


@dataclass(eq=False)
class Reader:
    """Reads the topics as one process, once it is opened.

    Args:
        kafka: how the topics are reached.
        connectivity: told whether Kafka answers.
        position: where it begins.
    """

    kafka: KafkaSettings
    connectivity: Connectivity
    position: Position

    def __post_init__(self) -> None:
        """Begin: nothing has come yet."""
        self._pairing = Pairing()
        self._committed: dict[TopicPartition, int] = {}
        self._alarms: list[TopicPartition] = []
        self._look_at_s = 0.0
        tolerate_headers()
        self._consumer = AIOKafkaConsumer(
            group_id=self.position.group,
            enable_auto_commit=False,
            auto_offset_reset="earliest",  # what retention took is gone; what follows it is not
            isolation_level="read_committed",
            **FETCH,
            **aiokafka_arguments(self.kafka),
        )

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Reader]:
        """Yield itself, which has begun to read.

        Raises:
            DependencyError: a topic is not there, or may not be read.
        """
        try:
            await self._start()
            yield self
        finally:
            await stop_consumer(self._consumer)

    async def _start(self) -> None:
        consumer, position = self._consumer, self.position
        await consumer.start()
        client = consumer._client  # noqa: SLF001  # the consumer would ask for all topics, or none
        topics = [self.kafka.decisions_topic, self.kafka.alarms_topic]
        await client.set_topics(topics)
        decisions, self._alarms = map(self._partitions, topics)
        places = [*decisions, *self._alarms]
        consumer.assign(places)
        first = await consumer.beginning_offsets(places)
        ends = await consumer.end_offsets(places)
        for place in places:
            known = await consumer.committed(place) if position.group else None
            self._committed[place] = delivered_to(
                known, first[place], ends[place], from_beginning=position.from_beginning
            )
        since_ms = min([now_ms(), *[await self._left_ms(each, ends[each]) for each in places]])
        dated = await consumer.offsets_for_times(
            dict.fromkeys(places, max(0, since_ms - position.lookback_ms))
        )
        for place in places:
            found = dated[place].offset if dated.get(place) else ends[place]
            consumer.seek(place, min(self._committed[place], found))
        # Said at once: who is killed before the first window goes on from here, not from later.
        await self.commit(self._committed)

    async def read(self) -> list[Window]:
        """Return the windows that are whole now.

        Raises:
            DataError: a record is not an alarm, or a decision, of this version.
        """
        batches = await self._consumer.getmany(timeout_ms=_POLL_MS, max_records=_MOST_RECORDS)
        for place, records in batches.items():
            for record in records:
                value, offset = record.value or b"", record.offset
                if place in self._alarms:
                    self._pairing.alarm(place, offset, decode_alarm(value))
                else:
                    known = offset < self._committed[place]
                    read = Window(decode_decision(value), record.timestamp, known)
                    self._pairing.decision(place, offset, read)
        give_up = False
        # Asked though records come, too: there may never be a pause in them.
        if time.monotonic() >= self._look_at_s or (self._pairing.blocked and not batches):
            give_up = await self._at_ends()
        return list(self._pairing.windows(give_up=give_up))

    async def commit(self, offsets: Mapping[Any, int]) -> bool:
        """Say how far was delivered, and tell whether Kafka heard; who has no group says nothing.

        What was committed before stands: a partition may still be read back.
        """
        if self.position.group is None:
            return True
        further = {place: max(at, self._committed[place]) for place, at in offsets.items()}
        try:
            await self._consumer.commit(further)
        except KAFKA_AWAY as error:
            self.connectivity.missed(error)
            return False
        self.connectivity.found()
        return True

    async def caught_up(self) -> bool:
        """Tell whether all that was delivered was read and has come out; with no group, all."""
        return not self._pairing.blocked and await self._is_at(self._committed)

    def _partitions(self, topic: str) -> list[TopicPartition]:
        found = self._consumer.partitions_for_topic(topic)
        if not found:
            raise DependencyError(
                f"topic {topic!r} does not exist, or this user may not read it",
                hint="check the topics in `kafka`, and this user's ACLs",
            )
        return [TopicPartition(topic, number) for number in sorted(found)]

    async def _left_ms(self, place: TopicPartition, end: int) -> int:
        """Return when the first record that was not delivered left; a far time where none was."""
        at = self._committed[place]
        if at >= end:
            return sys.maxsize
        self._consumer.seek(place, at)
        try:
            async with asyncio.timeout(_FIRST_S):
                record = await self._consumer.getone(place)
        except TimeoutError as error:
            raise DependencyError(
                f"topic {place.topic!r} cannot be read from offset {at} on",
                hint="check the brokers, and whether a transaction is open on the topic",
            ) from error
        return int(record.timestamp)

    async def _at_ends(self) -> bool:
        """Tell whether all alarms were read that are there now.

        Asked every few seconds at least: a client that waits does not say for what.
        """
        self._look_at_s = time.monotonic() + _LOOK_S
        try:
            async with asyncio.timeout(_LOOK_S):
                ends = await self._consumer.end_offsets(self._alarms)
            self.connectivity.found()
            return await self._is_at(ends)
        except KAFKA_AWAY as error:
            self.connectivity.missed(error)
            return False

    async def _is_at(self, ends: Mapping[TopicPartition, int]) -> bool:
        """Tell whether these partitions were read to these offsets."""
        return all([await self._consumer.position(place) >= ends[place] for place in ends])
