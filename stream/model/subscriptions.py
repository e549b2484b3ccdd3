"""All that a process with an analyst's rights has to know, and nothing that counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from stream.model.lifecycles import EVERY_WINDOW, Lifecycle

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream.logs.settings import LogSettings
    from stream.model.alarms import Budget, KafkaSettings
    from stream.model.boards import Board
    from stream.model.feeds import Domain
    from stream.model.notifications import NotifySettings

__all__ = ["BoardSetup", "NotifySetup", "Subscription"]


@dataclass(frozen=True, slots=True)
class Subscription:
    """What is read, and how it is understood: no feed and no ledger.

    Args:
        kafka: how the public topics are reached.
        timezone: in which people are told times.
        lifecycles: by alarm; one that is not named rings as it rings.
        log: how lines are written.
    """

    kafka: KafkaSettings
    timezone: str
    lifecycles: Mapping[str, Lifecycle]
    log: LogSettings

    def lifecycle(self, alarm: str) -> Lifecycle:
        """Return the terms of an alarm."""
        return self.lifecycles.get(alarm, EVERY_WINDOW)


@dataclass(frozen=True, slots=True)
class NotifySetup:
    """What ``tocsin notify`` runs on.

    Args:
        subscription: what is read.
        notify: where alarms are brought.
    """

    subscription: Subscription
    notify: NotifySettings


@dataclass(frozen=True, slots=True)
class BoardSetup:
    """What ``tocsin board`` runs on.

    Args:
        subscription: what is read.
        board: where it is shown, and how much of it.
        budget: what is promised, as configured; ``None`` where the file does not say.
        groups: by alarm, its public groups, as configured; alarms may be left out.
    """

    subscription: Subscription
    board: Board
    budget: Budget | None
    groups: Mapping[str, Domain]
