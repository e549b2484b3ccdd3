"""What a custodian does to a ledger beside windows: recovery, and setting the clock.

What a topic or a file shows and the ledger lacks was drawn and released all the same, by another
copy. It is found by comparing, and once the custodian says so, charged beside everything else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accountant.ledger.archives import knows
from accountant.log.entries import ClockSet
from accountant.rules import admission
from accountant.rules.recovery import recovered, released
from accountant.store.private import RUN
from accountant.store.transaction import CLOCK

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from accountant.costs.charges import WindowKey
    from accountant.ledger.door import Door
    from accountant.log.state import State
    from accountant.records import SeenDecision
    from accountant.store.transaction import Transaction

__all__ = ["Upkeep"]


class Upkeep:
    """Recovers, and sets the clock."""

    def __init__(self, door: Door) -> None:
        self._door = door

    def unknown_decisions(self, seen: Sequence[SeenDecision]) -> list[SeenDecision]:
        """Return released decisions that this ledger lacks or holds differently.

        Any of them means that this ledger was restored from an older copy, that two copies run, or
        that another ledger wrote to the topic.
        """
        with self._door.read() as (tx, state):
            return _unknown(tx, state, seen)

    def adopted(self, key: WindowKey) -> bool:
        """Tell whether another copy's decision of a window was taken over as spent."""
        with self._door.state() as state:
            return key in state.recovered

    def taken_over(self) -> set[str]:
        """Return the ledgers of which decisions were taken over as spent."""
        with self._door.state() as state:
            return {one.ledger_id for one in state.recovered_all()}

    def last_decided_ms(self) -> int | None:
        """Return when the ledger decided last, by its clock; ``None`` where it never did."""
        with self._door.state() as state:
            last = (one.last_ms for query in state.queries.values() for one in query.ended.values())
            return max(last, default=None)

    def reset_clock(self) -> tuple[int, int]:
        """Put the mark of time at the clock's, where a clock that ran ahead had taken it along.

        Nothing is drawn again: what was decided stays decided, and cursors stay. The log keeps
        when that was done.

        Returns:
            Where the mark stood, and where it stands, in milliseconds.
        """
        with self._door.write() as writing:
            counters, now_ms = writing.tx.counters, self._door.clock_ms()
            before_ms = counters.of(CLOCK)[0]
            writing.append(ClockSet(before_ms, now_ms))
            counters.put(CLOCK, now_ms, now_ms)
            return before_ms, now_ms

    def reconcile(self, seen: Sequence[SeenDecision]) -> int:
        """Take released decisions over as spent, and return how many were new.

        Their cost is charged beside anything this ledger charged itself, their windows are never
        drawn again, and the numbers of their queries go on behind them. Reservations of older
        windows of the same queries count as spent too: nobody knows what became of them.
        """
        with self._door.write() as writing:
            state, tx = writing.state, writing.tx
            fresh = _unknown(tx, state, seen)
            if not fresh:
                return 0
            beside = [
                own.window
                for one in fresh
                for own in tx.log.ended(one.query, one.start_ms, one.start_ms)
                if own.window == one.key
            ]
            entry = recovered(state, fresh, writing.tick(), beside)
            scopes = sorted({one.scope for one in fresh})
            since_ms = min(one.start_ms for one in fresh)
            for scope in scopes:
                budget = state.budgets[scope]
                starts = (one.cursor_ms for one in budget.queries.values())
                since_ms = min([since_ms, *starts])
                writing.recall(budget, since_ms)
            writing.append(entry)
            for scope in scopes:
                budget = state.budgets[scope]
                for name, query in budget.queries.items():
                    tx.private.drop(kind=RUN, query=name)
                    tx.drop_behind(name, query.cursor_ms)
                writing.append(admission.worst(budget, None, "", since_ms))
                writing.append(admission.answers(budget))
            return len(fresh)


def _unknown(tx: Transaction, state: State, seen: Sequence[SeenDecision]) -> list[SeenDecision]:
    """Return what the ledger lacks or holds differently, by ledger and window, once each."""
    found = {one.digest: one for one in _missing(tx, state, seen)}
    return sorted(found.values(), key=lambda one: (one.ledger_id, one.key, one.sequence))


def _missing(tx: Transaction, state: State, seen: Sequence[SeenDecision]) -> Iterator[SeenDecision]:
    known = {one.digest for one in state.recovered_all()}
    for query in sorted({one.query for one in seen}):
        mine = [one for one in seen if one.query == query and one.digest not in known]
        if not mine:
            continue
        starts = [one.start_ms for one in mine]
        ended = tx.log.ended(query, min(starts), max(starts))
        ours = {released(one, state.ledger_id) for one in ended}
        for one in mine:
            if released(one, one.ledger_id) not in ours and not (
                one.ledger_id == state.ledger_id and knows(tx, one)
            ):
                yield one
