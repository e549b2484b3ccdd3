"""Publishing on fixed ticks: what was decided leaves when the clock says so, in order.

At least once: a crash between sending and marking sends the same records again, with the same
``alarm_id`` and sequence. The decision record goes first, so that whatever the analysts may have
seen is known to the decisions topic, where a rolled-back ledger is found out.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from aiokafka import AIOKafkaProducer

from stream.decisions.records import encode
from stream.decisions.release import (
    alarm_records,
    count_records,
    decision_record,
    released_alarms,
    released_counts,
)
from stream.decisions.steps import Step
from stream.kafka.clients import aiokafka_arguments
from stream.kafka.tasks import in_thread
from stream.model.alarms import require_kafka

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor
    from contextlib import AbstractAsyncContextManager

    from accountant.records import StoredDecision
    from stream.build import Runtime
    from stream.decisions.records import Record
    from stream.kafka.witness import Witness

__all__ = ["Publisher"]


_ANY_TIME_MS = 1 << 62
_BATCH_BYTES = 1 << 18  # a batch waits for its acknowledgement: thousands of alarms fill a few


class Publisher:
    """Sends released decisions and their alarms until it is cancelled.

    Args:
        runtime: configuration, ledger, metrics, clock.
        executor: where the ledger is called.
        witness: opens that of this process (:meth:`stream.kafka.witness.Witness.opened`).
        released: told every record once the brokers have it.
    """

    def __init__(
        self,
        runtime: Runtime,
        executor: Executor,
        witness: Callable[[], AbstractAsyncContextManager[Witness]],
        released: Callable[[Record], None] | None,
    ) -> None:
        self._runtime = runtime
        self._released = released
        self._in_thread = partial(in_thread, executor)
        self._witness = witness
        self._kafka = require_kafka(runtime.alarms)

    async def run(self) -> None:
        """Publish at multiples of ``publish_interval_ms`` of the wall clock until cancelled.

        Raises:
            ClockError: the clock is ahead of the brokers', or was set forward.
            DependencyError: the ledger or the topic of ledgers cannot be reached.
            FeedClaimedError: another ledger holds a feed.
            LedgerRolledBackError: another copy of this ledger released something.
        """
        producer = AIOKafkaProducer(
            acks="all",
            enable_idempotence=True,
            max_batch_size=_BATCH_BYTES,
            **aiokafka_arguments(self._kafka),
        )
        try:
            await producer.start()
            alarms, ledger = self._runtime.alarms, self._runtime.ledger
            async with self._witness() as witness:
                while True:
                    publish_interval_ms = await self._next_tick()
                    due = await self._in_thread(
                        partial(ledger.progress.unpublished, publish_interval_ms)
                    )
                    running = sorted(alarms.running.values(), key=lambda alarm: bool(alarm.panes))
                    mine = [alarm.id for alarm in running if alarm.id in due]
                    known = await witness.release() if mine else {}
                    for alarm_id in mine:
                        await self._publish(
                            producer, alarm_id, publish_interval_ms, known[alarm_id]
                        )
        finally:
            await producer.stop()

    async def _next_tick(self) -> int:
        every_ms = self._runtime.alarms.settings.publish_interval_ms
        now_ms = self._runtime.clock_ms()
        publish_interval_ms = (now_ms // every_ms + 1) * every_ms
        await asyncio.sleep((publish_interval_ms - now_ms) / 1000)
        return publish_interval_ms

    async def _publish(
        self, producer: Any, alarm_id: str, publish_interval_ms: int, last: int
    ) -> None:
        """Publish an alarm's decisions up to a number, if no other worker does."""
        ledger = self._runtime.ledger
        turn = ledger.exclusive(f"publish:{alarm_id}")
        mine = await self._in_thread(turn.__enter__)
        try:
            if not mine:
                return
            for decision in await self._in_thread(
                lambda: ledger.unpublished(alarm_id, publish_interval_ms)
            ):
                if decision.sequence > last or await self._panes_wait(decision):
                    return
                await self._send(producer, decision, publish_interval_ms)
                self._runtime.step(Step.AFTER_PUBLISH, decision.key)
                await self._in_thread(partial(ledger.mark_published, decision.key))
                self._runtime.metrics.published(
                    decision,
                    self._delay_s(decision),
                    released_alarms(decision),
                    released_counts(decision),
                )
        finally:
            await self._in_thread(lambda: turn.__exit__(None, None, None))

    async def _panes_wait(self, decision: StoredDecision) -> bool:
        """Tell whether a pane of a window has not left: what its draw says never leaves before it.

        A ledger that lost both takes the pane over as spent from its record, and never draws again.
        """
        panes = self._runtime.alarms.running[decision.key.query].panes
        if not panes:
            return False
        ledger = self._runtime.ledger
        left = await self._in_thread(lambda: ledger.unpublished(panes, _ANY_TIME_MS, limit=1))
        return any(one.key.end_ms <= decision.key.end_ms for one in left)

    async def _send(
        self, producer: Any, decision: StoredDecision, publish_interval_ms: int
    ) -> None:
        """Send a decision, then what leaves with it, dated by the tick, not by what it took."""
        alarm = self._runtime.alarms.running[decision.key.query]
        key = alarm.id.encode()
        ending = decision_record(alarm, self._runtime.alarms, decision)
        await producer.send_and_wait(
            self._kafka.decisions_topic, encode(ending), key=key, timestamp_ms=publish_interval_ms
        )
        rest: list[tuple[str, Record]] = [
            *((self._kafka.alarms_topic, one) for one in alarm_records(alarm, decision)),
            *((self._kafka.counts_topic, one) for one in count_records(decision)),
        ]
        sent = [
            await producer.send(topic, encode(one), key=key, timestamp_ms=publish_interval_ms)
            for topic, one in rest
        ]
        await asyncio.gather(*sent)
        if self._released is not None:
            for one in (ending, *(one for _, one in rest)):
                self._released(one)

    def _delay_s(self, decision: StoredDecision) -> float | None:
        if not decision.release_ms:
            return None
        alarm = self._runtime.alarms.running[decision.key.query]
        return (self._runtime.clock_ms() - decision.key.end_ms - alarm.grace_ms) / 1000
