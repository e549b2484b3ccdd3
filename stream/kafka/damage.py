"""Partitions whose next batch cannot be read: they stand still, are named, and are tried again."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from aiokafka.errors import IllegalStateError

if TYPE_CHECKING:
    from aiokafka import TopicPartition

__all__ = ["Stopped"]

_AGAIN_S = 5.0  # another replica may hold the batch as it was written


class Stopped:
    """The stopped partitions of one assignment.

    Args:
        consumer: aiokafka's.
    """

    def __init__(self, consumer: Any) -> None:
        self._consumer = consumer
        self._damage: set[TopicPartition] = set()
        self._again_s: dict[TopicPartition, float] = {}

    def __contains__(self, partition: TopicPartition) -> bool:
        """Tell whether a partition stood at a damaged batch when it was last tried."""
        return partition in self._damage

    def stop(self, partition: TopicPartition) -> None:
        """Read nothing more of a partition for a while; the others go on."""
        self._damage.add(partition)
        self._again_s[partition] = time.monotonic() + _AGAIN_S
        with suppress(IllegalStateError):  # it has left, and nobody was told so far
            self._consumer.pause(partition)

    def read_on(self, partition: TopicPartition) -> None:
        """Take note that something of a partition was read."""
        self._damage.discard(partition)

    def try_again(self) -> None:
        """Read those again whose time has come."""
        now_s = time.monotonic()
        for partition in [one for one, at_s in self._again_s.items() if at_s <= now_s]:
            del self._again_s[partition]
            with suppress(IllegalStateError):
                self._consumer.resume(partition)
