"""Decisions and their alarms, brought together again: two topics, read side by side.

A decision leaves before its alarms, on another topic, so that they arrive in any order. A window is
whole once as many alarms are there as its decision counts. Windows of a query come out in the order
of the decisions topic; copies come out as nothing.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stream.decisions.lifecycle import step

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from stream.decisions.lifecycle import Notice, State
    from stream.decisions.records import Alarm, DecisionRecord
    from stream.model.subscriptions import Subscription

__all__ = ["Pairing", "Window"]

_Run = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Window:
    """One decision with its alarms.

    Args:
        decision: the first copy that was read.
        alarms: each once.
        whole: whether these are all that the decision counts.
        published_ms: when it left.
        place: of the decision: partition and offset.
        safe: by partition, the offset below which everything came out with this window or before.
    """

    decision: DecisionRecord
    alarms: tuple[Alarm, ...]
    whole: bool
    published_ms: int
    place: tuple[Hashable, int]
    safe: dict[Hashable, int]

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
            subscription.lifecycle(self.decision.query),
            whole=self.whole,
            timezone=subscription.timezone,
        )


@dataclass(frozen=True, slots=True)
class _Read:
    decision: DecisionRecord
    published_ms: int
    place: tuple[Hashable, int]


class Pairing:
    """What was read and has not come out yet."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[_Read]] = defaultdict(deque)
        self._alarms: dict[str, dict[_Run, dict[str, Alarm]]] = defaultdict(dict)
        self._held: dict[Hashable, dict[int, tuple[str, _Run]]] = defaultdict(dict)
        self._next: dict[Hashable, int] = {}
        self._last: dict[str, tuple[_Run, str]] = {}

    def decision(
        self, partition: Hashable, offset: int, published_ms: int, record: DecisionRecord
    ) -> None:
        """Take a record of the decisions topic, in the order of its partition."""
        run = _run(record)
        self._next[partition] = offset + 1
        queue = self._waiting[record.query]
        if self._is_old(record.query, run) or any(_run(each.decision) == run for each in queue):
            return
        queue.append(_Read(record, published_ms, (partition, offset)))
        self._held[partition][offset] = (record.query, run)

    def alarm(self, partition: Hashable, offset: int, record: Alarm) -> None:
        """Take a record of the alarms topic, in the order of its partition."""
        run = _run(record)
        self._next[partition] = offset + 1
        if self._is_old(record.query, run):
            return
        self._alarms[record.query].setdefault(run, {})[record.alarm_id] = record
        self._held[partition][offset] = (record.query, run)

    @property
    def blocked(self) -> bool:
        """Whether a decision waits for its alarms though a later one of its query is there."""
        return any(len(queue) > 1 for queue in self._waiting.values())

    def windows(self, *, give_up: bool = False) -> Iterator[Window]:
        """Yield what is whole.

        Args:
            give_up: both topics were read to where they ended after the last decision was read:
                what is missing of a decision that has a later one behind it will not come.
        """
        for query, queue in self._waiting.items():
            while queue:
                read = queue[0]
                run = _run(read.decision)
                alarms = self._alarms[query].get(run, {})
                whole = len(alarms) >= read.decision.alarms
                if not whole and not (give_up and len(queue) > 1):
                    break
                queue.popleft()
                self._let_go(query, run, read.decision.window_start)
                yield Window(
                    read.decision,
                    tuple(alarms.values()),
                    whole,
                    read.published_ms,
                    read.place,
                    self._safe(),
                )

    def _is_old(self, query: str, run: _Run) -> bool:
        last = self._last.get(query)
        return last is not None and last[0][0] == run[0] and run[1] <= last[0][1]

    def _let_go(self, query: str, run: _Run, start: str) -> None:
        """Forget what has come out, and alarms before it whose decision is not kept any more."""
        self._last[query] = (run, start)
        waiting = {_run(each.decision) for each in self._waiting[query]}
        kept = self._alarms[query]
        gone = {run}
        for other, alarms in kept.items():
            first = next(iter(alarms.values()))
            if other not in waiting and first.window_start <= start:
                gone.add(other)
        for other in gone:
            kept.pop(other, None)
        for held in self._held.values():
            for offset in [at for at, owner in held.items() if owner in {(query, g) for g in gone}]:
                del held[offset]

    def _safe(self) -> dict[Hashable, int]:
        return {place: min(self._held[place], default=end) for place, end in self._next.items()}


def _run(record: Alarm | DecisionRecord) -> _Run:
    return record.ledger, record.sequence
