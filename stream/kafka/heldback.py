"""Names the partitions that are held back in the log, once it is no passing matter, and again.

Where they are held back is not said: an offset counts records, and counts are the custodian's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from accountant.records import Stand
from stream.logs.lines import Line

if TYPE_CHECKING:
    from collections.abc import Callable

    from aiokafka import TopicPartition

    from stream.logs.lines import Log

__all__ = ["HeldBack"]

_AFTER_S: Final = 10.0  # transactions commit, leaders are elected
_EVERY_S: Final = 60.0
_HELD: Final = frozenset({Stand.TRANSACTION, Stand.CORRUPT, Stand.UNREACHABLE})


class HeldBack:
    """What is said of partitions that are held back.

    Args:
        log: where.
        monotonic_s: a clock that never goes back.
    """

    def __init__(self, log: Log, monotonic_s: Callable[[], float]) -> None:
        self._log = log
        self._monotonic_s = monotonic_s
        self._since_s: dict[TopicPartition, float] = {}
        self._again_s: dict[TopicPartition, float] = {}

    def see(self, partition: TopicPartition, stand: Stand) -> None:
        """Take note of how a partition stands, every second or so.

        Args:
            partition: of a feed's topic.
            stand: how it stands.
        """
        now_s = self._monotonic_s()
        place = {"topic": partition.topic, "partition": partition.partition}
        if stand not in _HELD:
            self._since_s.pop(partition, None)
            if self._again_s.pop(partition, None) is not None:
                self._log.info(Line.READ_ON, **place)
            return
        since_s = self._since_s.setdefault(partition, now_s)
        if now_s >= self._again_s.get(partition, since_s + _AFTER_S):
            self._again_s[partition] = now_s + _EVERY_S
            self._log.warning(Line.HELD_BACK, **place, stand=stand.value)
