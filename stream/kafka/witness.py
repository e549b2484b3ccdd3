"""The wall stands outside the ledger, too: one ledger a feed, and one copy of a ledger.

Guarantee: of two ledgers that read the same log at most one releases anything; of two copies of one
ledger that parted, at most one does from then on; and a ledger that was put back releases nothing
before what left since has been charged. What is lost with a ledger is known to the topic of ledgers
(:mod:`stream.kafka.claims`), which Tocsin alone may write to.

Before anything leaves, a process says the head of its ledger's log on the topic, and reads the
topic up to its own record. Whatever head stands before it is one of the log that it has, or its
ledger is not the one that others release from. Of two copies that parted, the later record sees the
earlier one; where they have decided nothing since, they release the same.

No topic that a ledger ever claimed is counted as a public reference, which nobody would charge.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from aiokafka import AIOKafkaProducer

from accountant.errors import FeedClaimedError, LedgerRolledBackError
from stream.kafka.claims import Claim, Claims, Release, encode, key_of
from stream.kafka.clients import aiokafka_arguments, reaching
from stream.kafka.whole import opened
from stream.model.alarms import require_kafka
from stream.model.references import public_feeds
from stream.windows.instants import iso_utc

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping

    from accountant.ledger.ledger import Ledger
    from accountant.records import LogIdentity
    from stream.kafka.clock import HeldClock
    from stream.model.alarms import Alarms

__all__ = ["Witness"]

_SILENT_S: Final = 60.0  # a client goes on asking a broker that is gone

T = TypeVar("T")


@dataclass(eq=False)
class Witness:
    """Reads and writes the topic of ledgers for one process, once it is opened.

    Args:
        alarms: the configuration.
        ledger: whose releases it says.
        all_logs: of all feeds; those that no alarm watches need no claim.
        writer: this process's name, which no other one has.
        clock: compared with the brokers' whenever something is written.
    """

    alarms: Alarms
    ledger: Ledger
    all_logs: Mapping[str, LogIdentity]
    writer: str
    clock: HeldClock

    def __post_init__(self) -> None:
        """Choose the logs that need a claim; no reference may be counted on a claimed one."""
        watched = [alarm.feed.name for alarm in self.alarms.by_name.values()]
        self._logs = {name: self.all_logs[name] for name in watched}

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Witness]:
        """Yield itself, which has read the whole topic.

        Raises:
            DependencyError: the topic cannot be read, or written to.
        """
        self._claims = Claims()
        # Heads that the ledger was found to have: asked anew, should it be another copy since.
        self._known: set[str] = set()
        kafka = require_kafka(self.alarms)
        self._producer = AIOKafkaProducer(
            acks="all", enable_idempotence=True, **aiokafka_arguments(kafka)
        )
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self._producer.stop)
            async with _patience():
                self._topic = await stack.enter_async_context(opened(kafka, kafka.ownership_topic))
                await self._producer.start()
                await self._read_on()
            yield self

    def once(self, ask: Callable[[Witness], Awaitable[T]]) -> T:
        """Return what somebody asks of it, opened for this alone.

        Raises:
            TocsinError: as what is asked.
        """

        async def asking() -> T:
            async with self.opened():
                return await ask(self)

        return asyncio.run(asking())

    async def claim(self) -> list[str]:
        """Claim every log that nobody has claimed; return their feeds.

        Raises:
            ClockError: the clock is ahead of the brokers'.
            DependencyError: the topic cannot be read, or written to.
            FeedClaimedError: another ledger holds one of the logs, or any a public feed's.
            LedgerRolledBackError: something left this ledger that it knows nothing of.
        """
        # A record that says nothing: when the broker appends it tells the time.
        await self._say({f"asked/{self.ledger.ledger_id}".encode(): None})
        await self._refuse()
        return await self._claim_others()

    async def transfer(self) -> list[str]:
        """Claim every log that another ledger holds, or nobody; return their feeds.

        What the others spent must have been charged before.

        Raises:
            DependencyError: the topic cannot be read, or written to.
            FeedClaimedError: another ledger was faster.
        """
        await self.settle()
        return await self._claim_others()

    async def settle(self) -> None:
        """Take what left this ledger as known: it has been charged.

        Raises:
            DependencyError: the topic cannot be read, or written to.
        """
        head = await asyncio.to_thread(self.ledger.heads.now)
        await self._say_released(head, self._claims.releases[self.ledger.ledger_id])

    def others(self) -> list[Claim]:
        """Return the first claim of every other ledger on each of the logs that it ever claimed."""
        return [
            claim
            for log in self._logs.values()
            for claim in self._claims.claimants[log.topic_id].values()
            if claim.ledger != self.ledger.ledger_id
        ]

    def names(self) -> list[tuple[str, str]]:
        """Return every feed that is watched, with what a ledger calls it that ever claimed it."""
        return [
            (name, claim.feed)
            for name, log in self._logs.items()
            for claim in self._claims.claimants[log.topic_id].values()
        ]

    async def release(self) -> Mapping[str, int]:
        """Say that something is about to leave; return the last number of each alarm that may.

        Raises:
            ClockError: the clock is ahead of the brokers', or was set forward.
            DependencyError: the topic cannot be read, or written to.
            FeedClaimedError: another ledger holds one of the logs, or any a public feed's.
            LedgerRolledBackError: another copy of this ledger released something.
        """
        head, numbers = await asyncio.to_thread(self.ledger.heads.release)
        await self._say_released(head, [self.writer])
        await self._refuse()
        return numbers

    async def _claim_others(self) -> list[str]:
        """Claim every log that this ledger does not hold; return their feeds."""
        mine, since = self.ledger.ledger_id, iso_utc(self.clock())
        claims = {}
        for name, log in self._logs.items():
            holder = self._claims.holders.get(log.topic_id)
            if holder is None or holder.ledger != mine:
                epoch = 0 if holder is None else holder.epoch + 1
                claims[name] = Claim(
                    topic_id=log.topic_id,
                    topic=log.topic,
                    ledger=mine,
                    epoch=epoch,
                    since=since,
                    feed=name,
                )
        await self._say({key_of(one): encode(one) for one in claims.values()})
        self._refuse_others()
        return list(claims)

    async def _refuse(self) -> None:
        self._refuse_others()
        self._refuse_protected()
        await asyncio.to_thread(self._refuse_copies)

    def _refuse_others(self) -> None:
        for log in self._logs.values():
            holder = self._claims.holders.get(log.topic_id)
            if holder is not None and holder.ledger != self.ledger.ledger_id:
                raise FeedClaimedError(
                    f"topic {log.topic!r} is already charged to ledger {holder.ledger} since "
                    f"{holder.since}; this is ledger {self.ledger.ledger_id}",
                    hint="use that ledger; if it is lost or given up, run `tocsin ledger FILE "
                    "take-ownership`",
                )

    def _refuse_protected(self) -> None:
        """Refuse a public feed whose log is held, by this ledger too: it may have taken it over."""
        for name in public_feeds(self.alarms):
            holder = self._claims.holders.get(self.all_logs[name].topic_id)
            if holder is not None:
                raise FeedClaimedError(
                    f"feed {name!r} cannot be a public reference: topic {holder.topic!r} is "
                    f"charged to ledger {holder.ledger} since {holder.since}",
                    hint="use a feed without personal data as the reference",
                )

    def _refuse_copies(self) -> None:
        heads = {one.head for one in self._claims.releases[self.ledger.ledger_id].values()}
        lacking = self.ledger.heads.problems(heads - self._known)
        if lacking:
            raise LedgerRolledBackError(
                "the ledger does not have what was published from it: it is an older copy, or a "
                f"second copy is in use ({lacking[0]})",
                hint="restore the newest copy and use no other, or charge what was published: "
                "`tocsin ledger FILE reconcile`",
            )
        self._known = heads

    async def _say_released(self, head: str, writers: Iterable[str]) -> None:
        """Say for processes that all up to a head may leave, or has left."""
        mine = self.ledger.ledger_id
        releases = [Release(ledger=mine, writer=name, head=head) for name in writers]
        await self._say({key_of(one): encode(one) for one in releases})

    async def _say(self, records: Mapping[bytes, bytes | None]) -> None:
        """Write records, by their keys, and read the topic up to the last of them."""
        async with _patience():
            asked_ms = self.clock()
            (place,) = self._topic.ends
            sent = [
                await self._producer.send(place.topic, value, key=key, partition=0)
                for key, value in records.items()
            ]
            written = await asyncio.gather(*sent)
            self._topic.ends[place] = max((one.offset + 1 for one in written), default=0)
            await self._read_on()
        for one in written:
            self.clock.agrees(asked_ms, one.timestamp)

    async def _read_on(self) -> None:
        async for _, records in self._topic.records():
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
