"""Decisions and their alarms, brought together again: two topics, read side by side.

A decision leaves before its alarms, on another topic, so that they arrive in any order. A window is
whole once as many alarms are there as its decision counts. Windows of an alarm come out in the
order of the decisions topic; copies come out as nothing.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

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
        place: of the decision: partition and offset.
        alarms: each once.
        whole: whether these are all that the decision counts.
        safe: by partition, the offset below which everything came out with this window or before.
    """

    decision: DecisionRecord
    published_ms: int
    place: tuple[Hashable, int]
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


class _Key(NamedTuple):
    """What a decision and its alarms have in common."""

    alarm: str
    ledger: str
    sequence: int

    @classmethod
    def of(cls, record: AlarmRecord | DecisionRecord) -> _Key:
        return cls(record.alarm, record.ledger, record.sequence)


class Pairing:
    """What was read and has not come out yet."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[Window]] = defaultdict(deque)
        self._alarms: dict[str, dict[_Key, dict[str, AlarmRecord]]] = defaultdict(dict)
        self._held: dict[Hashable, dict[int, _Key]] = defaultdict(dict)
        self._next: dict[Hashable, int] = {}
        self._last: dict[str, _Key] = {}

    def decision(
        self, partition: Hashable, offset: int, published_ms: int, record: DecisionRecord
    ) -> None:
        """Take a record of the decisions topic, in the order of its partition."""
        queue = self._waiting[record.alarm]
        known = any(_Key.of(each.decision) == _Key.of(record) for each in queue)
        if self._is_new(partition, offset, record) and not known:
            queue.append(Window(record, published_ms, (partition, offset)))

    def alarm(self, partition: Hashable, offset: int, record: AlarmRecord) -> None:
        """Take a record of the alarms topic, in the order of its partition."""
        if self._is_new(partition, offset, record):
            alarms = self._alarms[record.alarm].setdefault(_Key.of(record), {})
            alarms[record.alarm_id] = record

    def _is_new(
        self, partition: Hashable, offset: int, record: AlarmRecord | DecisionRecord
    ) -> bool:
        """Pass a record; one whose window has not come out yet is held."""
        self._next[partition] = offset + 1
        key, last = _Key.of(record), self._last.get(record.alarm)
        if last is not None and last.ledger == key.ledger and key.sequence <= last.sequence:
            return False
        self._held[partition][offset] = key
        return True

    @property
    def blocked(self) -> bool:
        """Whether a decision waits for its alarms though a later one of its alarm is there."""
        return any(len(queue) > 1 for queue in self._waiting.values())

    def windows(self, *, give_up: bool = False) -> Iterator[Window]:
        """Yield what is whole.

        Args:
            give_up: both topics were read to where they ended after the last decision was read:
                what is missing of a decision that has a later one behind it will not come.
        """
        for alarm, queue in self._waiting.items():
            while queue:
                decision = queue[0].decision
                alarms = self._alarms[alarm].get(_Key.of(decision), {})
                whole = len(alarms) >= decision.alarms
                if not whole and not (give_up and len(queue) > 1):
                    break
                window = queue.popleft()
                self._let_go(decision)
                found = tuple(alarms.values())
                yield replace(window, alarms=found, whole=whole, safe=self._safe())

    def _let_go(self, decision: DecisionRecord) -> None:
        """Forget what has come out, and alarms before it whose decision is not kept any more."""
        key, kept = _Key.of(decision), self._alarms[decision.alarm]
        self._last[decision.alarm] = key
        waiting = {_Key.of(each.decision) for each in self._waiting[decision.alarm]}
        gone = {key}
        for other, alarms in kept.items():
            first = next(iter(alarms.values()))
            if other not in waiting and first.window_start <= decision.window_start:
                gone.add(other)
        for other in gone:
            kept.pop(other, None)
        for held in self._held.values():
            for offset in [at for at, owner in held.items() if owner in gone]:
                del held[offset]

    def _safe(self) -> dict[Hashable, int]:
        return {place: min(self._held[place], default=end) for place, end in self._next.items()}
