"""What each kind of entry does to the state: one function, no database, no clock, no rule.

An entry says what was decided; whether it may be is asked before it is appended
(:mod:`accountant.rules.admission`). So folding is only adding up, the same in every process, and
``verify`` can do it again from the beginning.
"""

from __future__ import annotations

from functools import cache, singledispatch
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from accountant.costs.runs import StoredRun
from accountant.log import entries
from accountant.log.state import OPEN, STATES, Budget, ChargeState, Query, Reservation, State, Tally
from accountant.records import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from accountant.log.entries import Entry, Head
    from accountant.records import SeenDecision

__all__ = ["apply"]

_RESERVED: Final = ChargeState.RESERVED
_NO_WINDOWS: Final = Tally()
_LOST: Final = "the entries of the ledger do not follow from one another"


def apply(state: State, entry: Entry, head: Head) -> None:
    """Take the next entry of the log into the state.

    Args:
        state: after all entries before it.
        entry: the entry.
        head: its number and hash.

    Raises:
        LookupError: it does not follow from those before it.
    """
    _of_kind(type(entry))(entry, state)
    state.head = head


@singledispatch
def _take(_entry: Entry, _state: State) -> None:
    raise LookupError(_LOST)


@_take.register
def _begun(entry: entries.Begun, state: State) -> None:
    state.ledger_id, state.secret = entry.ledger_id, entry.secret
    state.created_ms = entry.created_ms


@_take.register
def _budgeted(entry: entries.Budgeted, state: State) -> None:
    state.budgets[entry.terms.scope] = Budget(entry.terms)


@_take.register
def _log(entry: entries.LogPinned, state: State) -> None:
    state.logs[entry.log.feed] = entry.log


@_take.register
def _files(entry: entries.FilesPinned, state: State) -> None:
    state.files.setdefault(entry.feed, []).extend(entry.digests)


@_take.register
def _grown(entry: entries.Grown, state: State) -> None:
    growth, known = entry.growth, state.growths.setdefault(entry.growth.feed, [])
    if known and known[-1].partitions == growth.partitions:
        known.pop()  # it was announced, and is over now
    known.append(growth)


@_take.register
def _registered(entry: entries.Registered, state: State) -> None:
    query = Query(
        query=entry.query,
        scope=entry.scope,
        feed=entry.feed,
        fingerprint=entry.fingerprint,
        definition=entry.definition,
        cursor_ms=entry.cursor_ms,
        shapes={entry.fingerprint: entry.shape},
        share_units=entry.share_units,
        sequence=state.numbers.pop(entry.query, 0),
    )
    state.queries[entry.query] = state.budgets[entry.scope].queries[entry.query] = query


@_take.register
def _changed(entry: entries.Changed, state: State) -> None:
    query = state.queries[entry.query]
    query.fingerprint, query.definition = entry.fingerprint, entry.definition
    query.shapes.setdefault(entry.fingerprint, entry.shape)
    query.effective_from_ms = entry.effective_from_ms
    _share(query, entry.share_units)
    _withdraw(state.budgets[query.scope], query)


@_take.register
def _retired(entry: entries.Retired, state: State) -> None:
    query = state.queries[entry.query]
    query.retired = True
    _share(query, 0)
    _withdraw(state.budgets[query.scope], query)


@_take.register
def _admitted(entry: entries.Admitted, state: State) -> None:
    budget = state.budgets[entry.scope]
    for asked in entry.windows:
        stands = STATES.get(asked.answer)
        if stands is None:
            budget.refused[asked.window] = asked.answer
        else:
            budget.put(Reservation(asked, stands))
    budget.frontier = entry.last.window


@_take.register
def _answered(entry: entries.Answered, state: State) -> None:
    budget = state.budgets[entry.scope]
    for given in entry.windows:
        budget.answer(budget.charges[given.window], given.answer, given.held_units)


@_take.register
def _ended(entry: entries.Ended, state: State) -> None:
    query = state.queries[entry.query]
    budget = state.budgets[query.scope]
    budget.forget()  # before it ends: what it overlaps is looked at once more
    window = entry.window
    before = budget.charges.get(window)
    settled = Reservation.settled(entry)
    if settled is not None:
        if before is None or before.state is not _RESERVED or before.asked != settled.asked:
            raise LookupError(_LOST)
        budget.put(settled, window)
        query.settled_ms = entry.start_ms
    elif before is not None and before.state in OPEN:
        budget.answer(before, Answer.MISSED)
    budget.refused.pop(window, None)
    if entry.run is not None:
        query.run = _run_left(query, entry)
    if entry.left is not None:
        query.left = entry.left
    query.sequence = entry.sequence
    query.cursor_ms = entry.next_start_ms
    query.longest_ms = max(query.longest_ms, entry.end_ms - entry.start_ms)
    way = entry.outcome if entry.reason is None else f"{entry.outcome} {entry.reason}"
    known = query.ended.get(way) or _NO_WINDOWS
    query.ended[way] = Tally(known.windows + 1, max(known.last_ms, entry.decided_at_ms))


@_take.register
def _worst(entry: entries.Worst, state: State) -> None:
    state.budgets[entry.scope].worst_units = entry.units


@_take.register
def _recovered(entry: entries.Recovered, state: State) -> None:
    for seen in entry.decisions:
        budget = state.budgets[seen.scope]
        budget.add_recovered(seen)
        state.recovered[seen.key] = seen
        state.recovered_ms[seen.key] = entry.at_ms
        twin = budget.charges.get(seen.key)
        if twin is not None and twin.state in OPEN:
            budget.answer(twin, Answer.MISSED)
        query = state.queries.get(seen.query)
        if query is None and seen.ledger_id == state.ledger_id:
            last = state.numbers.get(seen.query, 0)
            state.numbers[seen.query] = max(last, seen.sequence)
    for one in entry.beside:
        known = state.queries[one.query].beside
        if one.start_ms not in known:
            known.append(one.start_ms)
    for scope in {seen.scope for seen in entry.decisions}:
        for query in state.budgets[scope].queries.values():
            mine = [one for one in entry.decisions if one.query == query.query]
            _go_behind(state.budgets[scope], query, mine, state.ledger_id)


@_take.register
def _passed(entry: entries.Passed, state: State) -> None:
    state.queries[entry.query].cursor_ms = entry.cursor_ms


@_take.register
def _clock_set(entry: entries.ClockSet, state: State) -> None:
    state.clock_set_ms = entry.now_ms
    state.clock_sets += 1


@_take.register
def _archived(entry: entries.Archived, state: State) -> None:
    state.archives.append(entry)
    for budget in state.budgets.values():
        budget.archived_ms = max(entry.before_ms, budget.archived_ms or entry.before_ms)
        budget.archived_units, budget.archived_beside = budget.worst_units, len(budget.recovered)


@_take.register
def _snapshot(_entry: entries.Snapshot, _state: State) -> None:
    """It says what is known; ``verify`` compares."""


@cache
def _of_kind(kind: type[Entry]) -> Callable[[Entry, State], None]:
    return _take.dispatch(kind)  # which takes five times as long to look up


def _run_left(query: Query, entry: entries.Ended) -> StoredRun:
    run, asked = entry.run, entry.asked
    if run is None or asked is None:
        raise LookupError(_LOST)
    return StoredRun(
        query=query.query,
        fingerprint=entry.fingerprint,
        periods=asked.periods,
        open_units=run.open_units,
        alarm_units=run.alarm_units,
        left=run.left,
        alarms_rung=run.alarms_rung,
        opened_start_ms=run.opened_start_ms,
        last_start_ms=entry.start_ms,
        state=b"",
    )


def _share(query: Query, units: int) -> None:
    """Give a query another share; without one, what it drew is counted no more."""
    query.share_units = units
    if not units:
        query.drawn.clear()


def _withdraw(budget: Budget, query: Query) -> None:
    """Give back what is open of a query whose configuration is no longer in force."""
    query.run = query.left = None
    for charge in _open_of(budget, query):
        budget.answer(charge, Answer.MISSED)


def _go_behind(budget: Budget, query: Query, seen: Iterable[SeenDecision], ledger_id: str) -> None:
    """Go on behind recovered decisions: what is skipped counts as spent, and no run goes on."""
    known = list(seen)
    cursor_ms = max((one.next_start_ms for one in known), default=query.cursor_ms)
    query.cursor_ms = max(query.cursor_ms, cursor_ms)
    numbers = (one.sequence for one in known if one.ledger_id == ledger_id)
    query.sequence = max(query.sequence, *numbers, 0)
    query.run = None
    for charge in _open_of(budget, query):
        inside = charge.asked.held_units
        if charge.asked.start_ms < query.cursor_ms:
            pending = charge.state is ChargeState.PENDING
            asked = charge.answered(Answer.MISSED).asked if pending else charge.asked
            spent = replace(charge, asked=asked, state=ChargeState.SPENT)
            budget.spent.append(spent)
            budget.put(spent)
        elif inside is not None and inside < charge.loss_units:
            # It has no run left to go on from, and no room to open another.
            budget.answer(charge, Answer.MISSED)


def _open_of(budget: Budget, query: Query) -> list[Reservation]:
    return [one for one in budget.open() if one.asked.query == query.query]
