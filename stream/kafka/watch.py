"""``tocsin watch``: follow the alarms, and the windows that were denied, as an analyst does."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from stream.decisions.records import AlarmRecord, DecisionRecord
from stream.kafka.connectivity import Connectivity
from stream.kafka.public.reader import Position, Reader, run_on
from stream.kafka.tasks import first, told
from stream.logs.lines import Log
from stream.model.alarms import require_kafka
from stream.model.panes import is_panes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from stream.kafka.public.pairing import Window
    from stream.model.alarms import Alarms

__all__ = ["Watched", "shown_of", "watch"]

Watched = AlarmRecord | DecisionRecord


def watch(alarms: Alarms, show: Callable[[Watched], None], position: Position) -> None:
    """Show every alarm and every denial as they are published, until the process is told to end.

    A window that was decided without an alarm is not shown: silence says as much. Nor are panes.

    Args:
        alarms: the checked configuration.
        show: told each of them once; what it returned from is committed.
        position: where to begin. A group goes on where it stopped.

    Raises:
        ConfigError: the configuration has no ``kafka`` section.
        DataError: a record of the topics is not an alarm, or a decision, of this version.
        DependencyError: Kafka cannot be reached.
    """
    kafka = require_kafka(alarms)
    connectivity = Connectivity("kafka", Log(sys.stderr, alarms.settings.log))

    async def follow() -> None:
        async with Reader(kafka, connectivity, position).opened() as reader:
            while True:
                for window in await reader.read():
                    if not window.known:
                        for one in shown_of(window):
                            show(one)
                        await reader.commit(window.safe)

    run_on(kafka, lambda: first(follow(), told()))


def shown_of(window: Window) -> Sequence[Watched]:
    """Return what an analyst is shown of a window: its alarms, or its denial.

    Of panes nothing is shown: every window over one that was denied is denied itself.
    """
    decision = window.decision
    if is_panes(decision.alarm):
        return ()
    return (decision,) if decision.outcome == "denied" else window.alarms
