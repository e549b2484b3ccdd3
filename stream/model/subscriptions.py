"""All that ``tocsin deliver`` has to know, and nothing that counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from stream.model.lifecycles import EVERY_RING, Lifecycle

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream.logs.settings import LogSettings
    from stream.model.alarms import KafkaSettings
    from stream.model.deliveries import Delivery

__all__ = ["Subscription"]


@dataclass(frozen=True, slots=True)
class Subscription:
    """What alarms are delivered from and to: no feed, no budget, no ledger.

    Args:
        kafka: how the two public topics are reached.
        delivery: where alarms are brought.
        timezone: in which annotations say times.
        lifecycles: by alarm; one that is not named rings as it rings.
        log: how lines are written.
    """

    kafka: KafkaSettings
    delivery: Delivery
    timezone: str
    lifecycles: Mapping[str, Lifecycle]
    log: LogSettings

    def lifecycle(self, query: str) -> Lifecycle:
        """Return the terms of an alarm."""
        return self.lifecycles.get(query, EVERY_RING)
