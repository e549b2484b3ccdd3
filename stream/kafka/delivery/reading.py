"""The public topics, from where states can be found again, and how far they were delivered.

::

        read back, in silence            delivered by this process
    ────┬───────────────────────────────┬──────────────────────────▶ decisions
        └ read_back before it, or now   └ committed: all before it was delivered

Reading back finds what fires without keeping a file: the lifecycle is a function of the topics. A
process that is killed reads on from what it committed, and delivers copies of what it had not.
Noisy counts are read only by who shows them.
"""

from __future__ import annotations

import asyncio
import sys
import time
from typing import TYPE_CHECKING, Any, Final

from aiokafka import AIOKafkaConsumer, TopicPartition

from accountant.errors import DependencyError
from stream.decisions.records import decode_alarm, decode_count, decode_decision
from stream.kafka.clients import FETCH, KAFKA_AWAY, aiokafka_arguments, reaching, stop_consumer
from stream.kafka.delivery.pairing import Pairing
from stream.kafka.headers import tolerate_headers
from stream.kafka.tasks import now_ms

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from stream.decisions.records import CountRecord
    from stream.kafka.delivery.pairing import Window
    from stream.kafka.presence import Presence
    from stream.model.alarms import KafkaSettings

__all__ = ["Reading", "delivered_to", "readable"]

_POLL_MS: Final = 500
_LOOK_S: Final = 5.0
_FIRST_S: Final = 60.0  # one record, which is there
_MOST_RECORDS: Final = 5_000


def readable(kafka: KafkaSettings, rights: str) -> AbstractContextManager[None]:
    """Say of Kafka's errors that its topics cannot be read.

    Args:
        kafka: how it is reached.
        rights: what the user's ACLs must be on.

    Raises:
        DependencyError: Kafka cannot be reached, or refuses.
    """
    return reaching(
        f"the public topics at {kafka.bootstrap} cannot be read",
        f"check that Kafka is up, and the user's ACLs on {rights}",
    )


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


class Reading:
    """Reads the topics as one process.

    Args:
        kafka: how they are reached.
        group: whose offsets say how far was delivered; ``None`` for who delivers nothing: none is
            read or committed, and no right to a group is needed.
        presence: told whether Kafka answers.
        counted: whether the topic of noisy counts is read, too.
    """

    def __init__(
        self, kafka: KafkaSettings, group: str | None, presence: Presence, *, counted: bool = False
    ) -> None:
        self._kafka = kafka
        self._topics = [kafka.decisions_topic, kafka.alarms_topic]
        self._topics += [kafka.counts_topic] if counted else []
        self._counts: list[CountRecord] = []
        self._presence = presence
        self._group = group
        self._pairing = Pairing()
        self._committed: dict[TopicPartition, int] = {}
        self._alarms: list[TopicPartition] = []
        self._first_ends: dict[TopicPartition, int] = {}
        self._look_at_s = 0.0
        self._consumer = AIOKafkaConsumer(
            group_id=group,
            enable_auto_commit=False,
            auto_offset_reset="earliest",  # what retention took is gone; what follows it is not
            isolation_level="read_committed",
            **FETCH,
            **aiokafka_arguments(kafka),
        )

    async def start(self, read_back_ms: int, *, from_beginning: bool) -> None:
        """Begin to read.

        Args:
            read_back_ms: states are found from so long before now on, or before the first record
                that was not delivered.
            from_beginning: a group that has delivered nothing begins with the oldest records, not
                with the next ones.

        Raises:
            DependencyError: a topic is not there, or may not be read.
        """
        tolerate_headers()
        consumer = self._consumer
        await consumer.start()
        client = consumer._client  # noqa: SLF001  # the consumer would ask for all topics, or none
        await client.set_topics(self._topics)
        places = []
        for topic in self._topics:
            places += [TopicPartition(topic, number) for number in self._partitions(topic)]
        self._alarms = [place for place in places if place.topic == self._kafka.alarms_topic]
        consumer.assign(places)
        first = await consumer.beginning_offsets(places)
        ends = await consumer.end_offsets(places)
        for place in places:
            known = await consumer.committed(place) if self._group else None
            self._committed[place] = delivered_to(
                known, first[place], ends[place], from_beginning=from_beginning
            )
        since_ms = min([now_ms(), *[await self._left_ms(each, ends[each]) for each in places]])
        dated = await consumer.offsets_for_times(
            dict.fromkeys(places, max(0, since_ms - read_back_ms))
        )
        for place in places:
            found = dated[place].offset if dated.get(place) else ends[place]
            consumer.seek(place, min(self._committed[place], found))
        self._first_ends = ends
        if self._group:
            # Said at once: who is killed before the first window goes on from here, not from later.
            await self.commit(self._committed)

    async def read(self) -> list[tuple[Window, bool]]:
        """Return the windows that are whole now, and of each whether it was delivered before."""
        batches = await self._consumer.getmany(timeout_ms=_POLL_MS, max_records=_MOST_RECORDS)
        for place, records in batches.items():
            for record in records:
                self._take(place, record)
        if not batches:
            await self._look()
        give_up = not batches and self._pairing.blocked and await self._at_ends()
        found = []
        for window in self._pairing.windows(give_up=give_up):
            place, offset = window.place
            found.append((window, offset < self._committed.get(place, 0)))
        return found

    def counts(self) -> list[CountRecord]:
        """Return the noisy counts that were read since they were asked for last."""
        found, self._counts = self._counts, []
        return found

    async def commit(self, offsets: Mapping[Any, int]) -> bool:
        """Say how far was delivered, and tell whether Kafka heard.

        What was committed before stands: a partition may still be read back.
        """
        further = {place: max(at, self._committed[place]) for place, at in offsets.items()}
        try:
            await self._consumer.commit(further)
        except KAFKA_AWAY as error:
            self._presence.missed(error)
            return False
        self._presence.found()
        return True

    async def caught_up(self) -> bool:
        """Tell whether all was read that was there when reading began."""
        return await self._is_at(self._first_ends)

    async def stop(self) -> None:
        """Part from Kafka."""
        await stop_consumer(self._consumer)

    def _partitions(self, topic: str) -> list[int]:
        found = self._consumer.partitions_for_topic(topic)
        if not found:
            raise DependencyError(
                f"topic {topic!r} is not there, or may not be read",
                hint="check the topics' names under kafka, and this user's ACLs",
            )
        return sorted(found)

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
                f"topic {place.topic!r} is not read on from offset {at}",
                hint="check that Kafka is up, and that no transaction is open on the topic",
            ) from error
        return int(record.timestamp)

    def _take(self, place: TopicPartition, record: Any) -> None:
        value = record.value or b""
        if place.topic == self._kafka.alarms_topic:
            self._pairing.alarm(place, record.offset, decode_alarm(value))
        elif place.topic == self._kafka.counts_topic:
            self._counts.append(decode_count(value))
        else:
            decision = decode_decision(value)
            self._pairing.decision(place, record.offset, record.timestamp, decision)

    async def _look(self) -> None:
        """Ask Kafka something every few seconds: a client that waits does not say for what."""
        if time.monotonic() < self._look_at_s:
            return
        try:
            async with asyncio.timeout(_LOOK_S):
                await self._consumer.end_offsets(self._alarms)
        except KAFKA_AWAY as error:
            self._presence.missed(error)
        else:
            self._presence.found()
        self._look_at_s = time.monotonic() + _LOOK_S

    async def _at_ends(self) -> bool:
        """Tell whether all alarms were read that are there now."""
        try:
            return await self._is_at(await self._consumer.end_offsets(self._alarms))
        except KAFKA_AWAY:
            return False

    async def _is_at(self, ends: Mapping[TopicPartition, int]) -> bool:
        """Tell whether these partitions were read to these offsets."""
        return all([await self._consumer.position(place) >= ends[place] for place in ends])
