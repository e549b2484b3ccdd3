"""How much of every limit is left, and how far every query is."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from accountant.budget.dearest import dearest_sum
from accountant.log.entries import checkpoint_text
from accountant.log.state import ChargeState
from accountant.loss.overlap import worst_loss
from accountant.records import LedgerStatus, Outcome, QueryStatus, ScopeStatus

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from accountant.costs.charges import PeriodCap
    from accountant.log.state import Budget, Query, Reservation, State

__all__ = ["status"]

_PERIODS_SHOWN: Final = 64


def status(state: State, unpublished: Mapping[str, int]) -> LedgerStatus:
    """Return how much of every limit is left, and how far every query is.

    Args:
        state: as it stands.
        unpublished: decisions that have not left, by query.
    """
    return LedgerStatus(
        ledger_id=state.ledger_id,
        checkpoint=checkpoint_text(state.head),
        scopes={name: _scope_status(one) for name, one in sorted(state.budgets.items())},
        queries={
            name: _query_status(one, unpublished[name])
            for name, one in sorted(state.queries.items())
        },
    )


def _scope_status(budget: Budget) -> ScopeStatus:
    still_open = budget.open()
    reserved = [one for one in still_open if one.state is ChargeState.RESERVED]
    periods: dict[int, int] = {}
    if budget.by_user:
        held = {at: total.held for at, total in sorted(budget.totals.items()) if total.held}
        periods = dict(list(held.items())[-_PERIODS_SHOWN:])
        spent, reserved_units = max(held.values(), default=0), _most_reserved(reserved)
    else:
        spent, reserved_units = _worst_rows(budget, reserved)
    return ScopeStatus(
        scope=budget.terms.scope,
        unit=budget.terms.unit,
        epsilon_max_units=budget.terms.epsilon_max_units,
        spent_units=spent,
        periods=periods,
        reserved_units=reserved_units,
        reservations=len(reserved),
        pending=len(still_open) - len(reserved),
        archived_ms=budget.archived_ms,
        promise=budget.terms.promise,
    )


def _most_reserved(reserved: Sequence[Reservation]) -> int:
    """Return the most that reservations alone hold of any period."""
    held: defaultdict[int, int] = defaultdict(int)
    few: defaultdict[tuple[int, PeriodCap], list[int]] = defaultdict(list)
    for charge in reserved:
        for period in charge.asked.periods:
            if charge.cap is None:
                held[period] += charge.worst_units
            else:
                few[period, charge.cap].append(charge.worst_units)
    for (period, cap), units in few.items():
        held[period] += dearest_sum(units, cap.windows)
    return max(held.values(), default=0)


def _worst_rows(budget: Budget, reserved: Sequence[Reservation]) -> tuple[int, int]:
    """Return what the dearest row has lost, and would have if reservations alone counted."""
    if not reserved:
        return budget.worst_units, 0
    since_ms = min(one.asked.start_ms for one in reserved)
    ended = [*budget.final_after(since_ms), *budget.recovered_after(since_ms)]
    held = [one.held for charge in reserved if (one := budget.standing(charge)) is not None]
    worst = worst_loss(held)
    near = worst_loss([*(one.held for one in ended), *held]) if ended else worst
    return max(budget.worst_units, near), worst


def _query_status(query: Query, unpublished: int) -> QueryStatus:
    decided = query.ended.get(Outcome.DECIDED.value)
    denied = {
        way.partition(" ")[2]: one
        for way, one in sorted(query.ended.items())
        if way != Outcome.DECIDED.value
    }
    return QueryStatus(
        query=query.query,
        scope=query.scope,
        cursor_ms=query.cursor_ms,
        decided=0 if decided is None else decided.windows,
        denied={reason: one.windows for reason, one in denied.items()},
        decided_at_ms=0 if decided is None else decided.last_ms,
        denied_at_ms={reason: one.last_ms for reason, one in denied.items()},
        unpublished=unpublished,
        sequence=query.sequence,
        removed=query.retired,
        alarms_left=None if query.run is None else query.run.left,
        alarms_rung=None if query.run is None else query.run.alarms_rung,
    )
