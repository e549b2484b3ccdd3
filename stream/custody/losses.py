"""What each group of an alarm has lost so far: for the custodian's eyes alone.

Unit ``event``: over all alarms of the feed, for events of one instant (MIDE, Theorem 5; see
:mod:`accountant.loss.composition`). Unit ``user``: over the alarm's own windows of one budget
period; a person may have events anywhere, so other alarms are not told apart by group.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from accountant.costs.charges import UniformCost
from accountant.loss.composition import loss_by_predicate
from accountant.loss.rowcharges import Cells, RowCharge
from accountant.regions.regions import Region
from accountant.units import PrivacyUnit
from stream.model.alarms import scope_of
from stream.model.regions import cells_of, group_by_of, region_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from accountant.audit.realised import Realised
    from accountant.ledger.ledger import Ledger
    from stream.model.alarm import Alarm
    from stream.model.alarms import Alarms

__all__ = ["Losses", "group_losses"]


class Losses(NamedTuple):
    """Loss of every group of one alarm.

    Args:
        units: loss units per group, shape (cells,), in the order of the domain.
        exact: whether some row of every group lost that; else they are safe bounds.
        complete: whether nothing is missing: where windows lie in an archive, groups may have
            lost more than ``units``.
        since_ms: the instant (unit ``event``) or the start of the period (unit ``user``) meant;
            ``None`` where nothing has settled.
    """

    units: NDArray[np.int64]
    exact: bool
    complete: bool
    since_ms: int | None


def group_losses(alarms: Alarms, ledger: Ledger, alarm: Alarm, at_ms: int | None = None) -> Losses:
    """Return what each group of an alarm has lost.

    Args:
        alarms: the configuration; charges made under another one are taken to concern every row.
        ledger: open.
        alarm: the alarm.
        at_ms: an instant, for its events or its budget period; the latest settled by default.

    Raises:
        LedgerError: the alarm is not registered.
    """
    cells = len(alarm.domain)
    if alarms.budget.unit is PrivacyUnit.USER:
        periods = alarms.budget.periods
        period = periods.touched(at_ms, at_ms + 1)[0] if periods and at_ms is not None else None
        realised = _realised(ledger, alarm.id, period, cells)
        return Losses(realised.costs, realised.complete, realised.complete, realised.period)
    if at_ms is None:
        at_ms = ledger.reports.realised(alarm.id, cells=cells).instant_ms
    scope = scope_of(alarm, alarms)
    charges = [] if at_ms is None else ledger.reports.final_charges(scope, at_ms, at_ms + 1)
    rows = {(one.id, one.fingerprint): _nothing_of(one) for one in alarms.running.values()}
    everywhere = Region.everything()
    costs = [
        replace(rows[of], cost=charge.cost)
        if (of := (charge.key.query, charge.fingerprint)) in rows
        else RowCharge(everywhere, (), Cells.single(), UniformCost(charge.cost.worst_units, 1))
        for charge in charges
    ]
    losses = loss_by_predicate(costs, rows[alarm.id, alarm.fingerprint])
    archived_ms = ledger.reports.status().scopes[scope].archived_ms
    # Windows that cover an instant before may lie in an archive.
    complete = archived_ms is None or (at_ms is not None and at_ms >= archived_ms)
    return Losses(losses.units, losses.exact and complete, complete, at_ms)


def _realised(ledger: Ledger, alarm: str, period: int | None, cells: int) -> Realised:
    """Read until nothing waits: one reading unpacks a bounded number of windows."""
    found = ledger.reports.realised(alarm, period, cells=cells)
    while not found.complete:
        before, found = found, ledger.reports.realised(alarm, period, cells=cells)
        if found.windows == before.windows:
            break
    return found


def _nothing_of(alarm: Alarm) -> RowCharge:
    """Return a charge of nothing for the rows that an alarm's cells cover."""
    costs = UniformCost(0, len(alarm.domain))
    return RowCharge(region_of(alarm), group_by_of(alarm), Cells(cells_of(alarm)), costs)
