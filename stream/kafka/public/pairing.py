"""Decisions and their alarms, brought together again: two topics, read side by side.

A decision leaves before its alarms, on another topic, so that they arrive in any order. A window is
whole once as many alarms are there as its decision counts. Windows of an alarm come out in the
order of the decisions topic; copies come out as nothing.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from stream.decisions.lifecycle import step

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from stream.decisions.lifecycle import Notice, State
    from stream.decisions.records import AlarmRecord, DecisionRecord
    from stream.model.subscriptions import Subscription

__all__ = ["Pairing", "Window"]


@dataclass(frozen=True, slots=True)
class Window:
    """One decision with its alarms.

    Args:
        decision: the first copy that was read.
        published_ms: when it left.
        known: whether it was delivered before.
        alarms: each once.
        whole: whether these are all that the decision counts.
        safe: by partition, the offset below which everything came out with this window or before.
    """

    decision: DecisionRecord
    published_ms: int
    known: bool = False
    alarms: tuple[AlarmRecord, ...] = ()
    whole: bool = True
    safe: dict[Hashable, int] = field(default_factory=dict)

    def after(self, state: State, subscription: Subscription) -> tuple[State, tuple[Notice, ...]]:
        """Return the state of its alarm after it, and what is to be told of it.

        Args:
            state: after the window before.
            subscription: lifecycles and time zone.
        """
        return step(
            state,
            self.decision,
            self.alarms,
            subscription.lifecycle(self.decision.alarm),
            whole=self.whole,
            timezone=subscription.timezone,
        )


@dataclass(eq=False)
class _Pending:
    """What was read of a window that has not come out yet.

    Args:
        window: its decision, once that was read.
        alarms: by their id.
        first: by partition, the offset of the first of its records there.
    """

    window: Window | None = None
    alarms: dict[str, AlarmRecord] = field(default_factory=dict)
    first: dict[Hashable, int] = field(default_factory=dict)


def _later(alarm: AlarmRecord, decision: DecisionRecord) -> bool:
    """Tell whether an alarm is of a later decision of the same alarm.

    The start of its window does not show that: an early alarm has that of all its steps, and a late
    alarm of an SVT run that of an earlier window. Numbers do, but each ledger has its own.
    """
    if alarm.ledger == decision.ledger:
        return alarm.sequence > decision.sequence
    return (alarm.step_start or alarm.window_start) > decision.window_start


class Pairing:
    """What was read and has not come out yet."""

    def __init__(self) -> None:
        self._pending: dict[str, dict[tuple[str, int], _Pending]] = defaultdict(dict)
        self._decided: dict[str, deque[Window]] = defaultdict(deque)
        self._next: dict[Hashable, int] = {}
        self._last: dict[str, tuple[str, int]] = {}

    def decision(self, partition: Hashable, offset: int, read: Window) -> None:
        """Take a record of the decisions topic, in the order of its partition."""
        pending = self._passed(partition, offset, read.decision)
        if pending is not None and pending.window is None:
            pending.window = read
            self._decided[read.decision.alarm].append(read)

    def alarm(self, partition: Hashable, offset: int, record: AlarmRecord) -> None:
        """Take a record of the alarms topic, in the order of its partition."""
        pending = self._passed(partition, offset, record)
        if pending is not None:
            pending.alarms[record.alarm_id] = record

    def _passed(
        self, partition: Hashable, offset: int, record: AlarmRecord | DecisionRecord
    ) -> _Pending | None:
        """Pass a record; return its window, ``None`` where that has come out."""
        self._next[partition] = offset + 1
        key, last = (record.ledger, record.sequence), self._last.get(record.alarm)
        if last is not None and last[0] == key[0] and key <= last:
            return None
        pending = self._pending[record.alarm].setdefault(key, _Pending())
        pending.first.setdefault(partition, offset)
        return pending

    @property
    def blocked(self) -> bool:
        """Whether a decision waits for its alarms though a later one of its alarm is there."""
        return any(len(queue) > 1 for queue in self._decided.values())

    def windows(self, *, give_up: bool = False) -> Iterator[Window]:
        """Yield what is whole.

        Args:
            give_up: both topics were read to where they ended after the last decision was read:
                what is missing of a decision that has a later one behind it will not come.
        """
        for alarm, queue in self._decided.items():
            while queue:
                decision, pending = queue[0].decision, self._pending[alarm]
                key = decision.ledger, decision.sequence
                alarms = tuple(pending[key].alarms.values())
                whole = len(alarms) >= decision.alarms
                if not whole and not (give_up and len(queue) > 1):
                    break
                self._last[alarm] = key
                # With it go alarms before it whose decision is not kept any more.
                self._pending[alarm] = {
                    other: each
                    for other, each in pending.items()
                    if other != key
                    and (each.window or any(_later(one, decision) for one in each.alarms.values()))
                }
                window = queue.popleft()
                yield replace(window, alarms=alarms, whole=whole, safe=self._safe())

    def _safe(self) -> dict[Hashable, int]:
        safe = self._next.copy()
        for windows in self._pending.values():
            for pending in windows.values():
                for partition, offset in pending.first.items():
                    safe[partition] = min(safe[partition], offset)
        return safe
