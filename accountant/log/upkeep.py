"""What befalls a ledger beside windows: recovery, the custodian's clock, starts, releases.

What a topic or a file shows and the ledger lacks was drawn and released all the same, by another
copy. It is found by comparing, and once the custodian says so, charged beside everything else.

Every process that releases has a name of its own, drawn at random, and a count of releases. It is
raised in the ledger first, then said outside (:mod:`stream.kafka.witness`), and only then does
anything leave. So whatever was said outside, the ledger it left from knows; another copy of it, or
the same one put back, does not, from the first release after they parted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from accountant.errors import ClockError
from accountant.log import admission
from accountant.log.archives import knows
from accountant.log.entries import ClockSet
from accountant.log.private import RUN
from accountant.log.recovery import recovered, released
from accountant.log.transaction import CLOCK

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from accountant.costs.charges import WindowKey
    from accountant.log.door import Door
    from accountant.log.state import State
    from accountant.log.transaction import Transaction
    from accountant.records import SeenDecision

__all__ = ["START", "Happened", "Journal", "Upkeep", "Writers"]

START: Final = "start"
"""A worker started; every further name is the kind of an error that stopped one."""

_CLOCK_SET: Final = "clock_set"
_HAPPENED: Final = "happened/"
_RELEASES: Final = "releases/"


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

    def last_decided_ms(self) -> int | None:
        """Return when the ledger decided last, by its clock; ``None`` where it never did."""
        with self._door.state() as state:
            last = (one.last_ms for query in state.queries.values() for one in query.ended.values())
            return max(last, default=None)

    def set_clock(self) -> tuple[int, int]:
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

    def mark_spent(self, seen: Sequence[SeenDecision]) -> int:
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
            entry = recovered(state, fresh, writing.tick())
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


@dataclass(frozen=True, slots=True)
class Happened:
    """How often something happened, and when last.

    Args:
        times: since the ledger was made.
        last_ms: by the clock as it stood then, right or wrong.
    """

    times: int
    last_ms: int


class Journal:
    """Counts what befell those who work with a ledger, where it outlives them."""

    def __init__(self, door: Door) -> None:
        self._door = door

    def note(self, name: str) -> None:
        """Count something once more.

        Also where the ledger refuses everything else, as when the clock went back: that is what
        there is to note.

        Args:
            name: one word; never anything of an event.

        Raises:
            DependencyError: the database cannot be reached.
        """
        with self._door.write() as writing:
            counters = writing.tx.counters
            try:
                now_ms = self._door.clock_ms()
            except ClockError:  # not to be believed: the last time the ledger saw
                now_ms = counters.of(CLOCK)[0]
            counters.count(_HAPPENED + name, now_ms)

    def entries(self) -> dict[str, Happened]:
        """Return everything that happened, by name."""
        with self._door.read() as (tx, state):
            found = {name: Happened(*one) for name, one in tx.counters.named(_HAPPENED).items()}
            if state.clock_set_ms is not None:
                found[_CLOCK_SET] = Happened(state.clock_sets, state.clock_set_ms)
            return found


class Writers:
    """Counts releases. Nothing is charged here."""

    def __init__(self, door: Door) -> None:
        self._door = door

    def release(self, writer: str) -> tuple[int, dict[str, int]]:
        """Count one release more of a process.

        Args:
            writer: its name, which no other process has.

        Returns:
            How many there were, and the number of the last decision of every query: whoever knows
            of the release knows of these, and it may take no later ones along.

        Raises:
            ClockError: the clock went back.
        """
        with self._door.write() as writing:
            releases = writing.tx.counters.count(_RELEASES + writer, writing.tick())
            queries, numbers = writing.state.queries.values(), dict(writing.state.numbers)
            numbers |= {one.query: one.sequence for one in queries if one.sequence}
            return releases, numbers

    def unknown(self, said: Mapping[str, int]) -> list[str]:
        """Return the processes that released more than this ledger knows of, sorted.

        Args:
            said: releases by process, as they were said outside.
        """
        with self._door.store.read() as tx:
            known = tx.counters.named(_RELEASES)
        return sorted(name for name, many in said.items() if many > known.get(name, (0, 0))[0])

    def take_over(self, said: Mapping[str, int]) -> None:
        """Take releases as known: what they released has been charged.

        Args:
            said: releases by process.
        """
        with self._door.write() as writing:
            now_ms, counters = writing.tick(), writing.tx.counters
            for name, releases in sorted(said.items()):
                if releases > counters.of(_RELEASES + name)[0]:
                    counters.put(_RELEASES + name, releases, now_ms)


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
        ours = {released(one.decision(state.ledger_id, published=True)) for one in ended}
        for one in mine:
            if released(one) not in ours and not (
                one.ledger_id == state.ledger_id and knows(tx, one)
            ):
                yield one
