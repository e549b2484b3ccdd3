"""Admission and settlement: the rules of ``docs/research/proofs/filter.md``, from state to entries.

Nothing here changes the state: an entry that is returned has yet to be appended. After one that
ends windows, callers append :func:`answers` too: whatever ends a window answers those that waited
for it, in the same transaction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from accountant.costs.levels import LevelCosts
from accountant.errors import ConfigChangedError, LedgerError
from accountant.log.entries import Admitted, Answered, Asked, Ended, OfWindow, RunLeft, Worst
from accountant.log.state import ChargeState, Reservation
from accountant.records import Answer, Outcome
from accountant.rules import refusals, runs
from accountant.rules.standing import judge, worst_settled

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from accountant.budget.filter import BudgetFilter
    from accountant.costs.charges import CellCosts, WindowKey
    from accountant.costs.runs import StoredRun
    from accountant.log.state import Budget, State
    from accountant.records import Request

__all__ = ["LARGEST_LOSS_UNITS", "admitted", "answers", "reserved", "settled", "worst"]

LARGEST_LOSS_UNITS: Final = 2**62
"""Above any sum the ledger may hold, with room to add two of them."""


def admitted(state: State, scope: str, requests: Sequence[Request]) -> Admitted | None:
    """Return what windows beyond the frontier are answered; ``None`` where none is.

    Args:
        state: as it stands.
        scope: the budget.
        requests: in order; those at or before the frontier were served.

    Raises:
        LedgerError: a request is of no query of the budget, or asks for more than can be held.
        ConfigChangedError: a request carries another fingerprint than its query.
    """
    budget = state.budgets[scope]
    frontier = budget.frontier
    fresh = [one for one in requests if frontier is None or one.charge.key > frontier]
    if not fresh:
        return None
    periods = {period for one in fresh for period in one.charge.periods}
    since_ms = min(one.charge.key.start_ms for one in fresh)
    asked_of = judge(budget, since_ms=since_ms, periods=periods)
    waiting = {one.asked.query for one in budget.open()}
    served: list[Asked] = []
    for request in fresh:
        window = request.charge.key
        query = state.queries.get(window.query)
        refusals.requested(query, request, budget.terms)
        if request.charge.loss_units >= LARGEST_LOSS_UNITS:
            raise LedgerError(
                f"the loss of a window of alarm {window.query!r} is too large for the ledger",
                hint="write a larger tolerance, or a larger max_fnr and max_fpr",
            )
        if query is None or window in state.recovered or _passed(window, query.cursor_ms, budget):
            continue  # it can only be denied
        asked = _asked(request, Answer.TOO_OLD)
        if not request.too_old:
            pending = Reservation(_asked(request, Answer.PENDING), ChargeState.PENDING)
            after = _answered(asked_of, budget, pending, waiting)
            asked = after.asked
            if (standing := budget.standing(after)) is not None:
                asked_of.hold(standing)
                waiting.add(window.query)
        served.append(asked)
    last = fresh[-1].charge.key
    place = OfWindow(last.query, last.start_ms, last.end_ms)
    return Admitted(scope, place, tuple(served))


def answers(budget: Budget) -> Answered | None:
    """Return the answers that nothing can change any more, in order; ``None`` without one."""
    pending = [one for one in budget.open() if one.state is ChargeState.PENDING]
    if not pending:
        return None
    given = [one.as_given() for one in _answers(budget, pending)]
    return Answered(budget.terms.scope, tuple(given)) if given else None


def reserved(budget: Budget, window: WindowKey, fingerprint: str, cost: CellCosts) -> Reservation:
    """Return a window's reservation, or refuse a cost that nothing was reserved for.

    Raises:
        LedgerError: nothing is reserved, or less than it cost.
        ConfigChangedError: it was reserved under another configuration.
    """
    charge = budget.charges.get(window)
    if charge is None or charge.state is not ChargeState.RESERVED:
        raise LedgerError(
            f"a window of alarm {window.query!r} has no reservation",
            hint="restart the worker: it reserves windows in their order",
        )
    if charge.asked.fingerprint != fingerprint:
        raise ConfigChangedError(
            f"a window of alarm {window.query!r} was reserved with another configuration",
            hint="restart the worker with the newest configuration",
        )
    if cost.worst_units > charge.worst_cell_units or cost.cells != charge.asked.cells:
        raise LedgerError(
            f"a window of alarm {window.query!r} costs more than was reserved for it",
            hint=LedgerError.REPORT,
        )
    return charge


def settled(
    sequence: int,
    charge: Reservation,
    cost: CellCosts,
    *,
    alarms: bytes,
    alarm_count: int,
    next_start_ms: int,
    release_ms: int,
    now_ms: int,
    run: StoredRun | None,
    left: bytes | None,
    kept_from_ms: int | None = None,
) -> Ended:
    """Return how a reservation ends: at its realised loss; the rest is usable at once.

    Args:
        sequence: the number of its decision.
        charge: from :func:`reserved`.
        cost: what its cells lost.
        alarms: which fired, as the caller wrote it.
        alarm_count: how many.
        next_start_ms: start of the query's next window.
        release_ms: its decision leaves no earlier than this.
        now_ms: the time.
        run: the run as it left it; ``None`` outside one.
        left: keyed digest of the private state that it left.
        kept_from_ms: of a pane: no window to come reads one that starts before this.
    """
    asked = charge.asked
    uneven = isinstance(cost, LevelCosts) and len(cost.levels) > 1
    return Ended(
        query=asked.query,
        start_ms=asked.start_ms,
        end_ms=asked.end_ms,
        sequence=sequence,
        outcome=Outcome.DECIDED,
        fingerprint=asked.fingerprint,
        next_start_ms=next_start_ms,
        release_ms=release_ms,
        decided_at_ms=now_ms,
        alarms=alarms.decode(),
        alarm_count=alarm_count,
        epsilon_units=cost.worst_units if asked.in_run else asked.units,
        answer=Answer.RESERVED,
        asked=asked,
        settled_units=cost.worst_units,
        loss_units=cost.largest_sum_units(asked.cells_per_unit),
        costs=cost.encode() if uneven and isinstance(cost, LevelCosts) else None,
        run=None
        if run is None
        else RunLeft(
            run.open_units, run.alarm_units, run.left, run.alarms_rung, run.opened_start_ms
        ),
        left=left,
        kept_from_ms=kept_from_ms,
    )


def worst(
    budget: Budget, window: WindowKey | None, fingerprint: str, since_ms: int
) -> Worst | None:
    """Return what the dearest row has lost for good, where that is more than any had.

    Args:
        budget: after what ended was appended.
        window: that ended; ``None`` where decisions were recovered.
        fingerprint: of its configuration.
        since_ms: no later than the start of any window that ended.
    """
    if budget.by_user:
        return None
    units = worst_settled(budget, since_ms=since_ms, near=window, fingerprint=fingerprint)
    return Worst(budget.terms.scope, units) if units > budget.worst_units else None


def _answers(budget: Budget, pending: Sequence[Reservation]) -> Iterator[Reservation]:
    first = pending[0].window
    since_ms = min(first.end_ms - 1, *(one.asked.start_ms for one in pending))
    asked_of = judge(
        budget,
        since_ms=since_ms,
        periods={period for one in pending for period in one.asked.periods},
        first=first,
    )
    later = sorted(
        (one for one in budget.charges.values() if one.window >= first),
        key=lambda one: one.window,
    )
    waiting = {one.asked.query for one in budget.open() if one.window < first}
    for charge in later:
        after = charge
        if charge.state is ChargeState.PENDING:
            after = _answered(asked_of, budget, charge, waiting)
            if after.state is not ChargeState.PENDING:
                yield after
        if (standing := budget.standing(after)) is not None:
            asked_of.hold(standing)
            if standing.open:
                waiting.add(charge.asked.query)


def _answered(
    asked_of: BudgetFilter, budget: Budget, charge: Reservation, waiting: set[str]
) -> Reservation:
    """Return a pending reservation as its answer leaves it: itself where there is none yet.

    A window of a run is answered when its query has no earlier open one.
    """
    asked, held = charge.asked, None
    if asked.in_run:
        if asked.query in waiting:
            return charge
        held = runs.held_units(budget.queries[asked.query].run, charge)
    as_held = Reservation(msgspec.structs.replace(asked, held_units=held), charge.state)
    answer = asked_of.answer(as_held.charge, budget.shape(asked.query, asked.fingerprint))
    if answer is Answer.RESERVED:
        return charge.answered(answer, held)
    return charge.answered(answer) if answer is Answer.REFUSED else charge


def _passed(window: WindowKey, cursor_ms: int, budget: Budget) -> bool:
    """Whether a window's turn is over, or the charges beside it may lie in an archive."""
    archived_ms = budget.archived_ms
    return window.start_ms < cursor_ms or (
        archived_ms is not None and window.start_ms < archived_ms
    )


def _asked(request: Request, answer: Answer) -> Asked:
    charge = request.charge
    return Asked(
        query=charge.key.query,
        start_ms=charge.key.start_ms,
        end_ms=charge.key.end_ms,
        fingerprint=request.fingerprint,
        units=charge.cost.units,
        cells=charge.cost.cells,
        cells_per_unit=charge.cells_per_unit,
        answer=answer,
        periods=charge.periods,
        in_run=request.run is not None,
        windows_per_period=None if charge.cap is None else charge.cap.windows,
    )
