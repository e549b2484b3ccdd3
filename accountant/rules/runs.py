"""What a window of a run goes on with, holds at its query's turn, and leaves behind.

What a run is, and what it guarantees, stands in :mod:`accountant.costs.runs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accountant.costs.charges import UniformCost
from accountant.costs.levels import level_costs
from accountant.costs.runs import StoredRun
from accountant.errors import LedgerError

if TYPE_CHECKING:
    from accountant.costs.charges import CellCosts
    from accountant.costs.runs import RunAfter
    from accountant.log.state import Reservation

__all__ = ["continued", "held_units", "usable"]


def usable(run: StoredRun | None, fingerprint: str, periods: tuple[int, ...]) -> StoredRun | None:
    """Return the run if a window can go on with it: same configuration and periods, alarms left."""
    if run is None or (run.fingerprint, run.periods) != (fingerprint, periods) or run.left < 1:
        return None
    return run


def held_units(run: StoredRun | None, charge: Reservation) -> int:
    """Return what a window of a run holds at its query's turn, in loss units.

    Args:
        run: the stored run of its query.
        charge: the window's.
    """
    inside = usable(run, charge.asked.fingerprint, charge.asked.periods)
    return charge.loss_units if inside is None else inside.left * inside.alarm_units


def continued(
    stored: StoredRun | None,
    charge: Reservation,
    cost: CellCosts,
    after: RunAfter | None,
    alarm_count: int,
) -> StoredRun:
    """Return the run as a window leaves it.

    Args:
        stored: the query's run as it stands.
        charge: the window's reservation.
        cost: what deciding it is said to have cost.
        after: what its judge made of the run.
        alarm_count: alarms that it publishes.

    Raises:
        LedgerError: the run is not the one that the judge went on from; its alarms do not add up;
            or the cost is not what the run costs: under unit ``user`` the window's own alarms, and
            opening it where it was opened; under unit ``event`` all that was reserved, or nothing
            where a cell was not asked.
    """
    query = charge.window.query
    if after is None:
        raise LedgerError(
            f"a window of alarm {query!r} was reserved in an SVT run but decided without one",
            hint=LedgerError.REPORT,
        )
    if charge.asked.periods and not charge.asked.in_run:
        raise LedgerError(f"a window of alarm {query!r} has no SVT run", hint=LedgerError.REPORT)
    found = usable(stored, charge.asked.fingerprint, charge.asked.periods)
    if found != (after.ended if after.previous is None else after.previous):
        raise LedgerError(
            f"the SVT run of alarm {query!r} changed while a window was decided",
            hint="nothing to do: the window is decided again",
        )
    if after.previous is None:
        found = None
    terms = after.terms
    before = terms.alarms if found is None else found.left
    same_terms = found is None or (found.open_units, found.alarm_units) == (
        terms.open_units,
        terms.alarm_units,
    )
    if not same_terms or (charge.asked.in_run and terms.worst_units != charge.asked.units):
        raise LedgerError(
            f"the SVT run of alarm {query!r} does not match what was reserved",
            hint=LedgerError.REPORT,
        )
    if not 0 <= alarm_count <= after.rung <= before or after.left != before - after.rung:
        raise LedgerError(
            f"the alarms of the SVT run of alarm {query!r} do not add up", hint=LedgerError.REPORT
        )
    due = charge.asked.units
    if charge.asked.in_run:
        due = after.rung * terms.alarm_units + (terms.open_units if found is None else 0)
    # Whoever leaves cells out of a window says so cell by cell.
    due_or_not = {due} if charge.asked.in_run or isinstance(cost, UniformCost) else {0, due}
    if not due_or_not.issuperset(level_costs(cost).levels):
        raise LedgerError(
            f"a window of alarm {query!r} did not cost what its SVT run says",
            hint=LedgerError.REPORT,
        )
    return StoredRun(
        query=query,
        fingerprint=charge.asked.fingerprint,
        periods=charge.asked.periods,
        open_units=terms.open_units,
        alarm_units=terms.alarm_units,
        left=after.left,
        alarms_rung=after.rung + (0 if found is None else found.alarms_rung),
        opened_start_ms=charge.window.start_ms if found is None else found.opened_start_ms,
        last_start_ms=charge.window.start_ms,
        state=after.state,
    )
