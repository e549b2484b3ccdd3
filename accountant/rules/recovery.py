"""Decisions that another copy released: a ledger restored from a backup, or a second copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from accountant.errors import LedgerError
from accountant.log.entries import OfWindow, Recovered
from accountant.records import Outcome
from accountant.rules.admission import LARGEST_LOSS_UNITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accountant.costs.charges import WindowKey
    from accountant.log.entries import Ended
    from accountant.log.state import State
    from accountant.records import SeenDecision

__all__ = ["recovered", "released"]

_SAID: Final = {one: repr(one) for one in Outcome}


def recovered(
    state: State, fresh: Sequence[SeenDecision], now_ms: int, beside: Sequence[WindowKey]
) -> Recovered:
    """Return how decisions of another copy are taken over as spent.

    Args:
        state: as it stands.
        fresh: those that it lacks, not empty.
        now_ms: the time.
        beside: windows of theirs that this ledger decided, too.

    Raises:
        LedgerError: what one cost cannot be charged to its budget, or there is no such budget.
        ValueError: one names periods where its budget has none, or the other way round.
    """
    held: dict[tuple[str, int], int] = {}
    for one in fresh:
        budget = state.budgets.get(one.scope)
        if budget is None:
            raise LedgerError(
                f"budget {one.scope!r} is not registered in the ledger",
                hint="run this with the configuration that the decisions were published with",
            )
        if budget.by_user != bool(one.periods):
            raise ValueError("a decision names its periods under unit user, and only there")
        if one.gaussian is (budget.terms.promise is None):
            raise LedgerError(
                f"a decision of alarm {one.query!r} was charged with another `privacy` than budget"
                f" {one.scope!r} has",
                hint="run this with the configuration that it was published with",
            )
        for period in one.periods or (0,):
            place, total = (one.scope, period), budget.totals.get(period)
            before = held.get(place, 0 if total is None else total.held)
            if not 0 <= one.loss_units < LARGEST_LOSS_UNITS - before:
                raise LedgerError(
                    f"the loss of a decision of alarm {one.query!r} is too large for the ledger",
                    hint="check the files of published decisions",
                )
            held[place] = before + one.loss_units
    own = (OfWindow(one.query, one.start_ms, one.end_ms) for one in beside)
    return Recovered(tuple(fresh), now_ms, tuple(own))


def released(decision: Ended | SeenDecision, ledger_id: str) -> str:
    """Return what left with a decision, to compare it with another: the same text for ever.

    Args:
        decision: as it was stored, or seen.
        ledger_id: the ledger that decided it.
    """
    one = decision
    window = f"WindowKey(end_ms={one.end_ms}, query={one.query!r}, start_ms={one.start_ms})"
    cost = f"{one.epsilon_units}, {one.alarm_count}, {one.draw!r}"
    return f"({ledger_id!r}, {one.sequence}, {window}, {_SAID[one.outcome]}, {cost})"
