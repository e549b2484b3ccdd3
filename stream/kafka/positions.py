"""How partitions stand, by where they end, and which are blocked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from accountant.records import Stand
from stream.logs.lines import Line

if TYPE_CHECKING:
    from collections.abc import Callable

    from aiokafka import TopicPartition

    from stream.logs.lines import Log

__all__ = ["Blocked", "Bounds"]

_HELD_AFTER_S: Final = 10.0  # transactions commit, leaders are elected
_HELD: Final = frozenset({Stand.TRANSACTION, Stand.CORRUPT, Stand.UNREACHABLE})


class Bounds(NamedTuple):
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
class Blocked:
    """Names partitions that are blocked in the log, once it is no passing matter.

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
        self._named: set[TopicPartition] = set()

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
            if partition in self._named:
                self._named.remove(partition)
                self.log.info(Line.READ_ON, **place)
            return
        since_s = self._since_s.setdefault(partition, now_s)
        if partition not in self._named and now_s >= since_s + _HELD_AFTER_S:
            self._named.add(partition)
            self.log.warning(Line.BLOCKED, **place, state=stand.value)
