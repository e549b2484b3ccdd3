"""The wall stands outside the ledger, too: one ledger a feed, and one copy of a ledger.

Guarantee: of two ledgers that read the same log at most one releases anything; of two copies of one
ledger that parted, at most one does from then on; and a ledger that was put back releases nothing
before what left since has been charged. What is lost with a ledger is known to the topic of ledgers
(:mod:`stream.kafka.claims`), which Tocsin alone may write to.

Before anything leaves, a process says the head of its ledger's log on the topic, and reads the
topic up to its own record. Whatever head stands before it is one of the log that it has, or its
ledger is not the one that others release from. Of two copies that parted, the later record sees the
earlier one; where they have decided nothing since, they release the same.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from accountant.errors import FeedClaimedError, LedgerRolledBackError
from stream.kafka.claims import Asked, Claim, Claims, Release, encode, key_of
from stream.kafka.clients import aiokafka_arguments, reaching, stop_consumer
from stream.model.alarms import require_kafka
from stream.model.references import public_feeds
from stream.windows.instants import iso_utc

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from accountant.ledger.ledger import Ledger
    from accountant.records import LogIdentity
    from stream.kafka.clock import HeldClock
    from stream.model.alarms import Alarms

__all__ = ["Witness"]

_SILENT_S: Final = 60.0  # a client goes on asking a broker that is gone
_CLAIM: Final = "run `tocsin ledger FILE take-ownership`"
_NEWEST: Final = (
    "restore the newest copy and use no other, or charge what was published: `tocsin ledger FILE "
    "reconcile`"
)


@dataclass(eq=False)
class Witness:
    """Reads and writes the topic of ledgers for one process, once it is opened.

    Args:
        alarms: the configuration.
        ledger: whose releases it says.
        all_logs: of all feeds; those that only references are counted on need no claim.
        writer: this process's name, which no other one has.
        clock: compared with the brokers' whenever something is written.
    """

    alarms: Alarms
    ledger: Ledger
    all_logs: Mapping[str, LogIdentity]
    writer: str
    clock: HeldClock

    def __post_init__(self) -> None:
        """Begin: nothing has been read yet."""
        self._kafka = require_kafka(self.alarms)
        self._place = TopicPartition(self._kafka.ownership_topic, 0)
        public = public_feeds(self.alarms)
        self._logs = {name: log for name, log in self.all_logs.items() if name not in public}
        self._claims = Claims()
        self._known: set[str] = set()  # heads that the ledger was found to have
        self._consumer: Any = None
        self._producer: Any = None

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Witness]:
        """Yield itself, which has read the whole topic; to be called once.

        Raises:
            DependencyError: the topic cannot be read, or written to.
        """
        arguments = aiokafka_arguments(self._kafka)
        self._consumer = AIOKafkaConsumer(group_id=None, enable_auto_commit=False, **arguments)
        self._producer = AIOKafkaProducer(acks="all", enable_idempotence=True, **arguments)
        try:
            async with _patience():
                await self._consumer.start()
                await self._producer.start()
                self._consumer.assign([self._place])
                await self._consumer.seek_to_beginning(self._place)
                await self._read_on()
            yield self
        finally:
            await self._producer.stop()
            await stop_consumer(self._consumer)

    async def claim(self) -> list[str]:
        """Claim every log that nobody has claimed; return their feeds.

        Raises:
            ClockError: the clock is ahead of the brokers'.
            DependencyError: the topic cannot be read, or written to.
            FeedClaimedError: another ledger holds one of the logs.
            LedgerRolledBackError: something left this ledger that it knows nothing of.
        """
        await self._say([Asked(ledger=self.ledger.ledger_id)])
        self._refuse_others()
        await asyncio.to_thread(self._refuse_copies)
        new = [name for name, log in self._logs.items() if not self._claims.holder(log.topic_id)]
        await self._claim(new)
        return new

    async def transfer(self) -> list[str]:
        """Claim every log that another ledger holds, or nobody; return their feeds.

        What the others spent must have been charged before.

        Raises:
            DependencyError: the topic cannot be read, or written to.
            FeedClaimedError: another ledger was faster.
        """
        await self.settle()
        new = [name for name, log in self._logs.items() if not self._holds(log)]
        await self._claim(new)
        return new

    async def settle(self) -> None:
        """Take what left this ledger as known: it has been charged.

        Raises:
            DependencyError: the topic cannot be read, or written to.
        """
        head = await asyncio.to_thread(self.ledger.heads.now)
        mine = self.ledger.ledger_id
        await self._say([Release(ledger=mine, writer=name, head=head) for name in self._releases])

    def others(self) -> dict[str, Claim]:
        """Return the first claim of every other ledger that ever claimed one of the logs."""
        return {
            ledger_id: claim
            for log in self._logs.values()
            for ledger_id, claim in self._claims.claimants(log.topic_id).items()
            if ledger_id != self.ledger.ledger_id
        }

    async def release(self) -> Mapping[str, int]:
        """Say that something is about to leave; return the last number of each alarm that may.

        Raises:
            ClockError: the clock is ahead of the brokers', or was set forward.
            DependencyError: the topic cannot be read, or written to.
            FeedClaimedError: another ledger holds one of the logs.
            LedgerRolledBackError: another copy of this ledger released something.
        """
        head, numbers = await asyncio.to_thread(self.ledger.heads.release)
        mine = self.ledger.ledger_id
        await self._say([Release(ledger=mine, writer=self.writer, head=head)])
        self._refuse_others()
        await asyncio.to_thread(self._refuse_copies)
        return numbers

    @property
    def _releases(self) -> Mapping[str, Release]:
        return self._claims.releases(self.ledger.ledger_id)

    def _holds(self, log: LogIdentity) -> bool:
        holder = self._claims.holder(log.topic_id)
        return holder is not None and holder.ledger == self.ledger.ledger_id

    async def _claim(self, feeds: list[str]) -> None:
        await self._say([self._next_claim(self._logs[name]) for name in feeds])
        self._refuse_others()

    def _next_claim(self, log: LogIdentity) -> Claim:
        holder = self._claims.holder(log.topic_id)
        return Claim(
            topic_id=log.topic_id,
            topic=log.topic,
            ledger=self.ledger.ledger_id,
            epoch=0 if holder is None else holder.epoch + 1,
            since=iso_utc(self.clock()),
        )

    def _refuse_others(self) -> None:
        for log in self._logs.values():
            holder = self._claims.holder(log.topic_id)
            if holder is not None and holder.ledger != self.ledger.ledger_id:
                raise FeedClaimedError(
                    f"topic {log.topic!r} is already charged to ledger {holder.ledger} since "
                    f"{holder.since}; this is ledger {self.ledger.ledger_id}",
                    hint=f"use that ledger; if it is lost, {_CLAIM}",
                )

    def _refuse_copies(self) -> None:
        said = {one.head for one in self._releases.values()} - self._known
        lacking = self.ledger.heads.problems(said)
        if lacking:
            raise LedgerRolledBackError(
                "the ledger does not have what was published from it: it is an older copy, or a "
                f"second copy is in use ({lacking[0]})",
                hint=_NEWEST,
            )
        self._known = said | self._known & {one.head for one in self._releases.values()}

    async def _say(self, records: Sequence[Claim | Release | Asked]) -> None:
        """Write records, and read the topic up to the last of them."""
        async with _patience():
            asked_ms = self.clock()
            topic = self._place.topic
            sent = [
                await self._producer.send(topic, encode(one), key=key_of(one), partition=0)
                for one in records
            ]
            written = await asyncio.gather(*sent)
            await self._read_on(max((one.offset + 1 for one in written), default=0))
        for one in written:
            self.clock.agrees(asked_ms, one.timestamp)

    async def _read_on(self, until: int | None = None) -> None:
        """Read up to an offset, or to the end."""
        if until is None:
            until = (await self._consumer.end_offsets([self._place]))[self._place]
        while await self._consumer.position(self._place) < until:
            for records in (await self._consumer.getmany(timeout_ms=500)).values():
                for record in records:
                    self._claims.take(record.value)


@asynccontextmanager
async def _patience() -> AsyncIterator[None]:
    """Give up on a broker that does not answer.

    Raises:
        DependencyError: the topic cannot be read, or written to.
    """
    with reaching(
        "the ownership topic cannot be read or written to",
        "check that Kafka is up and that this user may read and write the topic",
    ):
        async with asyncio.timeout(_SILENT_S):
            yield
