"""Admission and settlement: what one transaction does to charges.

The rules of ``docs/proofs/filter.md``, applied to rows. Every change of a charge goes through
:func:`serve`, :func:`settle` or :func:`deny`, which keep totals and chain with it; whatever ends
a window also answers those that waited for it. Callers hold the scope's lock.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from accountant.charging import keeping, refusals
from accountant.charging.standing import Standings, Turns
from accountant.costs.charges import Charge, UniformCost
from accountant.costs.levels import LevelCosts
from accountant.errors import ConfigChangedError, LedgerError
from accountant.loss.overlap import told_apart, worst_instant, worst_loss
from accountant.records import Answer, Request
from accountant.store import chain
from accountant.store.tables.charged import (
    ENDED,
    FINAL,
    ChargeRow,
    ChargeState,
    LinkKind,
    PeriodTotal,
)
from accountant.store.tables.windows import window_columns
from accountant.units import PrivacyUnit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from accountant.budget.filter import BudgetFilter
    from accountant.budget.standings import Standing
    from accountant.charging.past import Past
    from accountant.costs.charges import CellCosts, WindowKey
    from accountant.loss.overlap import Held
    from accountant.store.tables.pinned import QueryRow, ScopeRow
    from accountant.store.transaction import Transaction

__all__ = [
    "LARGEST_LOSS_UNITS",
    "adopted",
    "answer_pending",
    "answers",
    "check_reservation",
    "deny",
    "end_run",
    "serve",
    "settle",
    "spend",
    "supersede",
    "withdraw",
]

LARGEST_LOSS_UNITS = 2**62
"""Above any sum the ledger may hold, with room to add two of them."""


def serve(tx: Transaction, scope: ScopeRow, fresh: Sequence[Request], past: Past) -> None:
    """Answer requests beyond the frontier, in order, and move it."""
    terms = scope.terms
    queries = tx.queries.named({request.charge.key.query for request in fresh})
    since_ms = min(request.charge.key.start_ms for request in fresh)
    standings = Standings(tx, scope, partial(past.shapes, tx, scope))
    over = _charged(tx, fresh) | standings.adopted_keys(since_ms)
    is_event = terms.unit is PrivacyUnit.EVENT
    judge = standings.judge_next(
        past.after(tx, scope, standings, since_ms) if is_event else (),
        since_ms=since_ms,
        periods={period for request in fresh for period in request.charge.periods},
    )
    rows: list[ChargeRow] = []
    turns = Turns(tx, terms.scope)
    for request in fresh:
        charge = request.charge
        refusals.requested(queries.get(charge.key.query), request, terms)
        if charge.loss_units >= LARGEST_LOSS_UNITS:
            raise LedgerError(f"the loss of {charge.key.query!r} does not fit into the ledger")
        if charge.key in over:
            continue
        if _passed(charge.key, queries[charge.key.query], scope):
            rows.append(_unserved(charge.key, terms.scope, request.fingerprint))
            continue
        row = _asked(request, terms.scope, Answer.TOO_OLD)
        if not request.too_old:
            row = _answered(judge, standings, turns, _asked(request, terms.scope))
        if (standing := standings.of(row)) is not None:
            judge.hold(standing)
        turns.take(row)
        rows.append(row)
    tx.charges.add(*rows)
    keeping.add_to_totals(tx, terms.scope, ((PeriodTotal(), row) for row in rows))
    last = fresh[-1].charge.key
    frontier = {f"frontier_{name}": value for name, value in window_columns(last).items()}
    tx.links.append(terms.scope, [chain.as_served(row) for row in rows], scope, **frontier)


def check_reservation(
    charge: ChargeRow | None, key: WindowKey, fingerprint: str, cost: CellCosts
) -> ChargeRow:
    """Return the reservation, or refuse a cost that nothing was reserved for."""
    if charge is None or charge.state is not ChargeState.RESERVED:
        raise LedgerError(
            f"nothing is reserved for this window of {key.query!r}",
            hint="admit it in its turn, or deny it",
        )
    if charge.fingerprint != fingerprint:
        raise ConfigChangedError(
            f"this window of {key.query!r} was reserved under another configuration",
            hint="deny it",
        )
    if cost.worst_units > charge.worst_cell_units or cost.cells != charge.cells:
        raise LedgerError(f"a window of {key.query!r} cost more than was reserved for it")
    return charge


def settle(
    tx: Transaction,
    scope: ScopeRow,
    charge: ChargeRow,
    cost: CellCosts,
    past: Past,
    *,
    decided: bytes,
) -> None:
    """End a reservation at its realised loss; what it refunds is usable at once.

    Args:
        tx: holds the scope's lock.
        scope: the budget.
        charge: the reservation.
        cost: what its cells lost.
        past: what is remembered of the budget.
        decided: the hash of the window's decision.
    """
    settled = replace(
        charge,
        state=ChargeState.SETTLED,
        settled_units=cost.worst_units,
        settled_loss_units=cost.largest_sum_units(charge.cells_per_unit),
        costs=cost.encode() if isinstance(cost, LevelCosts) and len(cost.levels) > 1 else None,
    )
    if scope.terms.unit is PrivacyUnit.USER:
        _end(tx, scope, charge, settled, decided)
        return
    standings = Standings(tx, scope, partial(past.shapes, tx, scope))
    final = past.after(tx, scope, standings, charge.start_ms)
    _end(tx, scope, charge, settled, decided)
    final = [one for one in final if one.held.start_ms < charge.end_ms]
    final += [*standings.adopted(charge.start_ms), *standings.all_of([settled])]
    # Settled charges are never taken back: only rows of the new one can have lost more.
    shape = standings.shape(charge.query, charge.fingerprint)
    within = (charge.start_ms, charge.end_ms)
    _raise_settled_worst(tx, scope, standings, final, within=within, meeting=shape)


def deny(
    tx: Transaction, scope: ScopeRow, key: WindowKey, fingerprint: str, *, decided: bytes
) -> None:
    """End a window's charge for nothing, unless it has ended; a later request finds it ended.

    Args:
        tx: holds the scope's lock.
        scope: the budget, as it stands.
        key: the window.
        fingerprint: of the configuration that it is denied under.
        decided: the hash of its decision.
    """
    charge = tx.charges.at(key)
    if charge is None:
        row = _unserved(key, scope.scope, fingerprint)
        tx.charges.add(row)
        tx.links.append(scope.scope, [chain.as_served(row, decided)], scope)
    elif charge.state in ENDED:
        tx.links.append(scope.scope, [chain.of_decision(charge.window, decided)], scope)
    else:
        _end(tx, scope, charge, _released(charge), decided)


def supersede(tx: Transaction, charge: ChargeRow) -> None:
    """End a charge whose window another timeline decided; callers end with :func:`adopted`."""
    _store(tx, charge, _released(charge))


def withdraw(tx: Transaction, scope: ScopeRow, query: QueryRow) -> None:
    """Give back what is open of a query whose configuration is no longer in force."""
    tx.runs.drop(query=query.query)
    tx.noisy.drop(query=query.query)
    # Answers wait for the last of them: one given in between would be taken back by the next.
    for charge in _open(tx, query):
        _store(tx, charge, _released(charge, Answer.MISSED))
    answer_pending(tx, scope)


def end_run(tx: Transaction, query: QueryRow) -> None:
    """End a query's run whose state another timeline may have gone on from.

    A window that is reserved inside it has nothing left to go on from, and no room to open another:
    later windows were answered above what it holds. Callers end with :func:`adopted`.
    """
    tx.runs.drop(query=query.query)
    for charge in _open(tx, query):
        if charge.held_units is not None and charge.held_units < charge.loss_units:
            _store(tx, charge, _released(charge, Answer.MISSED))


def spend(tx: Transaction, query: QueryRow, before_ms: int) -> None:
    """Take what is open of a query's windows that start before an instant as spent.

    Callers end with :func:`adopted`.
    """
    for charge in _open(tx, query):
        if charge.key.start_ms < before_ms:
            admission = _released(charge).admission
            _store(tx, charge, replace(charge, admission=admission, state=ChargeState.SPENT))


def adopted(tx: Transaction, scope: ScopeRow, seen: Sequence[Held], since_ms: int) -> None:
    """Take note that decisions of another timeline, or reservations, were charged as spent.

    Args:
        tx: holds the scope's lock.
        scope: the budget.
        seen: what the decisions hold.
        since_ms: no later than the start of any of their windows.
    """
    if scope.terms.unit is PrivacyUnit.EVENT:
        horizon_ms = scope.compacted_before_ms
        beside = [one for one in seen if horizon_ms is not None and one.start_ms < horizon_ms]
        if beside:
            # The charges beside them are gone: what their worst row had lost stands in for all.
            worst = scope.compacted_worst_units + worst_instant(beside)
            scope = replace(
                scope,
                compacted_worst_units=worst,
                settled_worst_units=max(worst, scope.settled_worst_units),
            )
            tx.scopes.change(
                {"scope": scope.scope},
                compacted_worst_units=scope.compacted_worst_units,
                settled_worst_units=scope.settled_worst_units,
            )
        standings = Standings(tx, scope)
        final = standings.all_of(tx.charges.after(scope.terms.scope, since_ms, *FINAL))
        final += standings.adopted(since_ms)
        _raise_settled_worst(tx, scope, standings, final)
    answer_pending(tx, scope)


def answer_pending(tx: Transaction, scope: ScopeRow) -> None:
    """Answer the windows whose answer nothing can change any more; the budget is locked."""
    for before, after in list(answers(tx, scope)):
        _store(tx, before, after)


def answers(tx: Transaction, scope: ScopeRow) -> Iterator[tuple[ChargeRow, ChargeRow]]:
    """Yield, in order, the pending charges whose answer nothing can change any more.

    Each with what becomes of it. Whatever ends a window answers them, so that none is found later.
    """
    name = scope.terms.scope
    pending = tx.charges.in_state(name, ChargeState.PENDING)
    if not pending:
        return
    first = pending[0].key
    since_ms = min(first.end_ms - 1, *(one.key.start_ms for one in pending))
    near = sorted(tx.charges.after(name, since_ms), key=lambda one: one.key)
    later = [one for one in near if one.key >= first]
    standings, turns = Standings(tx, scope), Turns(tx, name, before=first)
    judge = standings.judge(
        before=standings.all_of(one for one in near if one.key < first),
        since_ms=since_ms,
        periods={period for one in pending for period in one.periods},
        first=first,
        without=later,
    )
    for one in later:
        after = one
        if one.state is ChargeState.PENDING:
            after = _answered(judge, standings, turns, one)
            if after is not one:
                yield one, after
        if (standing := standings.of(after)) is not None:
            judge.hold(standing)
        turns.take(after)


def _answered(
    judge: BudgetFilter, standings: Standings, turns: Turns, charge: ChargeRow
) -> ChargeRow:
    """Return a pending charge as its answer leaves it: itself where there is none yet."""
    asked = charge
    if charge.in_run:
        held = turns.reservation(charge)
        if held is None:
            return charge
        asked = replace(charge, held_units=held)
    answer = judge.answer(asked.asked, standings.shape(charge.key.query, charge.fingerprint))
    if answer is Answer.RESERVED:
        return replace(asked, admission=answer, state=ChargeState.RESERVED)
    return _released(charge, answer) if answer is Answer.REFUSED else charge


def _end(
    tx: Transaction, scope: ScopeRow, before: ChargeRow, after: ChargeRow, decided: bytes
) -> None:
    """Store how a decision ended a charge, and answer the windows that waited for it."""
    _store(tx, before, after, decided)
    answer_pending(tx, scope)


def _store(
    tx: Transaction, before: ChargeRow, after: ChargeRow, decided: bytes | None = None
) -> None:
    """Store what became of a charge, in the totals and on the chain too."""
    changed = {
        name: getattr(after, name)
        for name in _CHANGING
        if getattr(after, name) != getattr(before, name)
    }
    tx.charges.change(window_columns(before.key), **changed)
    keeping.add_to_totals(tx, after.scope, [(before.total, after)])
    if after.state in ENDED:
        tx.links.append(after.scope, [chain.of_charge(after, LinkKind.ENDED, decided)])


def _passed(key: WindowKey, query: QueryRow, scope: ScopeRow) -> bool:
    """Whether a window's turn is over, or the charges beside it may be compacted away."""
    horizon_ms = scope.compacted_before_ms
    return key.start_ms < query.cursor_ms or (horizon_ms is not None and key.start_ms < horizon_ms)


def _asked(request: Request, scope: str, admission: Answer = Answer.PENDING) -> ChargeRow:
    charge = request.charge
    return ChargeRow(
        **window_columns(charge.key),
        scope=scope,
        admission=admission,
        state=_OPEN_STATES.get(admission, ChargeState.RELEASED),
        fingerprint=request.fingerprint,
        units=charge.cost.units,
        cells=charge.cost.cells,
        cells_per_unit=charge.cells_per_unit,
        loss_units=charge.loss_units,
        settled_units=None,
        settled_loss_units=None,
        costs=None,
        periods=charge.periods,
        in_run=request.run is not None,
        windows_per_period=None if charge.cap is None else charge.cap.windows,
    )


def _unserved(key: WindowKey, scope: str, fingerprint: str) -> ChargeRow:
    """Return the row of a window that was not asked for in its turn."""
    nothing = Request(Charge(key, UniformCost(0, 1), 1), fingerprint)
    return _asked(nothing, scope, Answer.MISSED)


def _released(charge: ChargeRow, admission: Answer | None = None) -> ChargeRow:
    """Return the charge ended for nothing; without an answer so far it missed it."""
    if admission is None:
        pending = charge.admission is Answer.PENDING
        admission = Answer.MISSED if pending else charge.admission
    return replace(charge, admission=admission, state=ChargeState.RELEASED)


def _open(tx: Transaction, query: QueryRow) -> list[ChargeRow]:
    both = tx.charges.in_state(query.scope, ChargeState.RESERVED, ChargeState.PENDING)
    return [charge for charge in both if charge.query == query.query]


def _charged(tx: Transaction, fresh: Sequence[Request]) -> set[WindowKey]:
    """Return the windows from the first to the last asked for, of each query, that have a row."""
    starts: defaultdict[str, list[int]] = defaultdict(list)
    for request in fresh:
        starts[request.charge.key.query].append(request.charge.key.start_ms)
    return {
        key
        for query, mine in starts.items()
        for key in tx.charges.windows(query, min(mine), max(mine))
    }


def _raise_settled_worst(
    tx: Transaction,
    scope: ScopeRow,
    standings: Standings,
    final: Sequence[Standing],
    **near: Any,
) -> None:
    """Take note of what a row has lost for good, where it is more than any had lost so far."""
    held, above = [one.held for one in final], scope.settled_worst_units
    if sum(one.loss_units for one in held) <= above:
        return  # no row lost more than all of it
    among = standings.shapes()
    if not told_apart(frozenset(one.shape for one in held), among):
        near["meeting"] = None  # a coarser bound depends on what is looked at: it stays as it was
    worst = worst_loss(held, **near, above=above, among=among)
    if worst > above:
        tx.scopes.change({"scope": scope.terms.scope}, settled_worst_units=worst)


_CHANGING = (
    *("admission", "state", "settled_units", "settled_loss_units", "costs"),
    "held_units",
)
"""What may change of a charge."""

_OPEN_STATES = {
    Answer.PENDING: ChargeState.PENDING,
    Answer.RESERVED: ChargeState.RESERVED,
}
