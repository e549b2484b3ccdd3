"""Where the log's partitions end, how far they can be read, which are blocked and which stopped.

A partition without a leader keeps its own answer waiting, and no other's: nothing here may hold up
counting.
"""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from aiokafka.errors import KafkaError

from accountant.records import Stand
from stream.logs.lines import Line

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from aiokafka import TopicPartition

    from stream.logs.lines import Log

__all__ = ["Blocked", "Bounds", "Lookout", "Reports"]

_EVERY_S = 0.5
_PATIENCE_S = 5.0
_REPORT_S: Final = 2.0  # far below UNSEEN_MS, and below what an alarm may wait for
_HELD_AFTER_S: Final = 10.0  # transactions commit, leaders are elected
_HELD_EVERY_S: Final = 60.0
_HELD: Final = frozenset({Stand.TRANSACTION, Stand.CORRUPT, Stand.UNREACHABLE})


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a broker said of a partition.

    Args:
        asked_ms: wall clock before it was asked.
        end: offset behind the last record.
        stable: offset up to which no transaction is open.
    """

    asked_ms: int
    end: int
    stable: int

    def stand(self, position: int) -> Stand:
        """Return how a reader stands whose next record is at ``position``."""
        if position >= self.end:
            return Stand.END
        return Stand.TRANSACTION if position >= self.stable else Stand.READING


@dataclass(eq=False)
class Lookout:
    """Asks for the bounds of partitions, twice a second.

    Args:
        committed: a consumer that reads what is committed.
        uncommitted: one that reads everything.
        partitions: which ones to ask for, by now.
        clock_ms: wall clock.
    """

    committed: Any
    uncommitted: Any
    partitions: Callable[[], Collection[TopicPartition]]
    clock_ms: Callable[[], int]

    def __post_init__(self) -> None:
        """Begin: nothing has come yet."""
        self.bounds: dict[TopicPartition, Bounds] = {}
        """The newest answers; a partition that did not answer in time has none."""

    async def run(self) -> None:
        """Ask until cancelled."""
        while True:
            partitions = list(self.partitions())
            if not await self._ask(partitions):
                await asyncio.gather(*(self._ask([each]) for each in partitions))
            await asyncio.sleep(_EVERY_S)

    async def _ask(self, partitions: list[TopicPartition]) -> bool:
        """Ask for partitions at once; say whether all of them were answered for."""
        asked_ms = self.clock_ms()
        try:
            async with asyncio.timeout(_PATIENCE_S):
                stable = await self.committed.end_offsets(partitions)
                end = await self.uncommitted.end_offsets(partitions)
        except (KafkaError, TimeoutError):
            for each in partitions:
                self.bounds.pop(each, None)
            return False
        for each in partitions:
            self.bounds[each] = Bounds(asked_ms, end[each], stable[each])
        return True


class Reports:
    """When the ledger is told how partitions stand: a transaction for all of them, now and then.

    Every two seconds; at once where the partitions are others than before, where one begins to be
    blocked, and where it goes on.

    Args:
        monotonic_s: clock.
    """

    def __init__(self, monotonic_s: Callable[[], float]) -> None:
        self._monotonic_s = monotonic_s
        self._due_s = -math.inf
        self._told: dict[tuple[str, int], Stand] = {}

    def due(self, seen: Mapping[str, Mapping[int, tuple[int, Stand]]]) -> bool:
        """Say whether the ledger is to be told now; it is not asked again of what it was told.

        Args:
            seen: by feed and partition, the offset of the next record and how the partition stands.
        """
        now_s = self._monotonic_s()
        stands: dict[tuple[str, int], Stand] = {
            (feed, partition): Stand.READING if stand is Stand.END else stand
            for feed, partitions in seen.items()
            for partition, (_, stand) in partitions.items()
        }
        if stands == self._told and now_s < self._due_s:
            return False
        self._told, self._due_s = stands, now_s + _REPORT_S
        return bool(stands)


@dataclass(eq=False)
class Blocked:
    """Names partitions that are blocked in the log, once it is no passing matter, and again.

    Where they are blocked is not said: an offset counts records, and counts are the custodian's.

    Args:
        log: where.
        monotonic_s: a clock that never goes back.
    """

    log: Log
    monotonic_s: Callable[[], float]

    def __post_init__(self) -> None:
        """Begin: nothing has come yet."""
        self._since_s: dict[TopicPartition, float] = {}
        self._again_s: dict[TopicPartition, float] = {}

    def see(self, partition: TopicPartition, stand: Stand) -> None:
        """Take note of how a partition stands, every second or so.

        Args:
            partition: of a feed's topic.
            stand: how it stands.
        """
        now_s = self.monotonic_s()
        place = {"topic": partition.topic, "partition": partition.partition}
        if stand not in _HELD:
            self._since_s.pop(partition, None)
            if self._again_s.pop(partition, None) is not None:
                self.log.info(Line.READ_ON, **place)
            return
        since_s = self._since_s.setdefault(partition, now_s)
        if now_s >= self._again_s.get(partition, since_s + _HELD_AFTER_S):
            self._again_s[partition] = now_s + _HELD_EVERY_S
            self.log.warning(Line.BLOCKED, **place, state=stand.value)
