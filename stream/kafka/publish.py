"""Publishing on fixed ticks: what was decided leaves when the clock says so, in order.

At least once: a crash between sending and marking sends the same records again, with the same
``alarm_id`` and sequence. The decision record goes first, so that whatever the analysts may have
seen is known to the decisions topic, where a rolled-back ledger is found out.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
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
from stream.model.alarms import require_kafka

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from accountant.records import StoredDecision
    from stream.build import Runtime
    from stream.decisions.records import Record
    from stream.kafka.witness import Witness

__all__ = ["Publisher"]

_ANY_TIME_MS = 1 << 62
_BATCH_BYTES = 1 << 18  # a batch waits for its acknowledgement: thousands of alarms fill a few


@dataclass(eq=False)
class Publisher:
    """Sends released decisions and their alarms until it is cancelled.

    Args:
        runtime: configuration, ledger, metrics, clock.
        witness: opens that of this process (:meth:`stream.kafka.witness.Witness.opened`).
        released: told every record once the brokers have it.
    """

    runtime: Runtime
    witness: Callable[[], AbstractAsyncContextManager[Witness]]
    released: Callable[[Record], None] | None

    async def run(self) -> None:
        """Publish at multiples of ``publish_interval_ms`` of the wall clock until cancelled.

        Raises:
            ClockError: the clock is ahead of the brokers', or was set forward.
            DependencyError: the ledger or the topic of ledgers cannot be reached.
            FeedClaimedError: another ledger holds a feed.
            LedgerRolledBackError: another copy of this ledger released something.
        """
        alarms, progress = self.runtime.alarms, self.runtime.ledger.progress
        running = sorted(alarms.running.values(), key=lambda alarm: bool(alarm.panes))
        producer = AIOKafkaProducer(
            acks="all",
            enable_idempotence=True,
            max_batch_size=_BATCH_BYTES,
            **aiokafka_arguments(require_kafka(alarms)),
        )
        try:
            await producer.start()
            async with self.witness() as witness:
                while True:
                    tick_ms = await self._next_tick()
                    due = await asyncio.to_thread(progress.unpublished, tick_ms)
                    mine = [alarm.id for alarm in running if alarm.id in due]
                    known = await witness.release() if mine else {}
                    for alarm_id in mine:
                        await self._publish(producer, alarm_id, tick_ms, known[alarm_id])
        finally:
            await producer.stop()

    async def _next_tick(self) -> int:
        every_ms = self.runtime.alarms.settings.publish_interval_ms
        now_ms = self.runtime.clock_ms()
        tick_ms = (now_ms // every_ms + 1) * every_ms
        await asyncio.sleep((tick_ms - now_ms) / 1000)
        return tick_ms

    async def _publish(self, producer: Any, alarm_id: str, tick_ms: int, last: int) -> None:
        """Publish an alarm's decisions up to a number, if no other worker does."""
        ledger = self.runtime.ledger
        turn = ledger.exclusive(f"publish:{alarm_id}")
        mine = await asyncio.to_thread(turn.__enter__)
        try:
            if not mine:
                return
            for decision in await asyncio.to_thread(ledger.unpublished, alarm_id, tick_ms):
                if decision.sequence > last or await self._panes_wait(decision):
                    return
                await self._send(producer, decision, tick_ms)
                self.runtime.step(Step.AFTER_PUBLISH, decision.key)
                await asyncio.to_thread(ledger.mark_published, decision.key)
                self.runtime.metrics.published(
                    decision,
                    self._delay_s(decision),
                    released_alarms(decision),
                    released_counts(decision),
                )
        finally:
            await asyncio.to_thread(turn.__exit__, None, None, None)

    async def _panes_wait(self, decision: StoredDecision) -> bool:
        """Tell whether a pane of a window has not left: what its draw says never leaves before it.

        A ledger that lost both takes the pane over as spent from its record, and never draws again.
        """
        ledger, panes = self.runtime.ledger, self.runtime.alarms.running[decision.key.query].panes
        if not panes:
            return False
        left = await asyncio.to_thread(ledger.unpublished, panes, _ANY_TIME_MS, limit=1)
        return any(one.key.end_ms <= decision.key.end_ms for one in left)

    async def _send(self, producer: Any, decision: StoredDecision, tick_ms: int) -> None:
        """Send a decision, then what leaves with it, dated by the tick, not by what it took."""
        alarms = self.runtime.alarms
        kafka, alarm = require_kafka(alarms), alarms.running[decision.key.query]
        how: dict[str, Any] = {"key": alarm.id.encode(), "timestamp_ms": tick_ms}
        ending = decision_record(alarm, alarms, decision)
        await producer.send_and_wait(kafka.decisions_topic, encode(ending), **how)
        rest: list[tuple[str, Record]] = [
            *((kafka.alarms_topic, one) for one in alarm_records(alarm, decision)),
            *((kafka.counts_topic, one) for one in count_records(decision)),
        ]
        await asyncio.gather(
            *[await producer.send(topic, encode(one), **how) for topic, one in rest]
        )
        if self.released is not None:
            for one in (ending, *(one for _, one in rest)):
                self.released(one)

    def _delay_s(self, decision: StoredDecision) -> float | None:
        if not decision.release_ms:
            return None
        alarm = self.runtime.alarms.running[decision.key.query]
        return (self.runtime.clock_ms() - decision.key.end_ms - alarm.grace_ms) / 1000
