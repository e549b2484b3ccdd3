"""Decisions and their alarms, brought together again: two topics, read side by side.

A decision leaves before its alarms, on another topic, so that they arrive in any order. A window is
whole once as many alarms are there as its decision counts. Windows of an alarm come out in the
order of the decisions topic; copies come out as nothing.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from stream.decisions.lifecycle import step

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from stream.decisions.lifecycle import Notice, State
    from stream.decisions.records import AlarmRecord, DecisionRecord
    from stream.model.subscriptions import Subscription

__all__ = ["Pairing", "Window"]

_Key = tuple[str, str, int]
"""Alarm, ledger and number of a decision."""


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
        after: the last decision of its alarm that had come out when its first record was read.
        window: its decision, once that was read.
        alarms: by their id.
    """

    after: DecisionRecord | None
    window: Window | None = None
    alarms: dict[str, AlarmRecord] = field(default_factory=dict)


def _key(record: AlarmRecord | DecisionRecord) -> _Key:
    return record.alarm, record.ledger, record.sequence


def _later(alarm: AlarmRecord, decision: DecisionRecord) -> bool:
    """Tell whether an alarm is of a later decision of the same alarm.

    The start of its window does not show that: an early alarm has that of all its steps, and a late
    alarm of an SVT run that of an earlier window. Numbers do, but each ledger has its own.
    """
    if alarm.ledger == decision.ledger:
        return alarm.sequence > decision.sequence
    return (alarm.step_start or alarm.window_start) > decision.window_start


class Pairing:
    """What was read and has not come out yet.

    No window that comes out looks at all that wait: reading back, they are as many as were read.
    """

    def __init__(self) -> None:
        self._pending: dict[_Key, _Pending] = {}
        self._decided: dict[str, deque[Window]] = defaultdict(deque)
        # By partition, the first offset of each that waits: in order, as they are read in order.
        self._first: dict[Hashable, OrderedDict[_Key, int]] = defaultdict(OrderedDict)
        self._next: dict[Hashable, int] = {}
        self._last: dict[str, DecisionRecord] = {}

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
        last = self._last.get(record.alarm)
        if last is not None and last.ledger == record.ledger and record.sequence <= last.sequence:
            return None
        self._first[partition].setdefault(_key(record), offset)
        return self._pending.setdefault(_key(record), _Pending(last))

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
                decision = queue[0].decision
                alarms = tuple(self._pending[_key(decision)].alarms.values())
                whole = len(alarms) >= decision.alarms
                if not whole and not (give_up and len(queue) > 1):
                    break
                self._last[alarm] = decision
                self._forget(_key(decision))
                window = queue.popleft()
                yield replace(window, alarms=alarms, whole=whole, safe=self._safe())

    def _waits(self, key: _Key) -> bool:
        """Tell whether a window may still come out: no decision after its own has since it came."""
        pending, last = self._pending[key], self._last.get(key[0])
        if last is None or last is pending.after or pending.window:
            return True
        return any(_later(each, last) for each in pending.alarms.values())

    def _forget(self, key: _Key) -> None:
        del self._pending[key]
        for first in self._first.values():
            first.pop(key, None)

    def _safe(self) -> dict[Hashable, int]:
        safe = self._next.copy()
        for partition, first in self._first.items():
            # What waits in vain has alarms, but a decision that is not kept any more.
            while first and not self._waits(key := next(iter(first))):
                self._forget(key)
            safe[partition] = next(iter(first.values()), safe[partition])
        return safe
