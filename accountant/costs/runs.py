"""Runs: windows of one query that share one noisy threshold. What they hold, cost and leave behind.

Guarantee: along every transcript the windows of a run with ``n`` alarms so far have lost, together,
at most what they were charged: what it cost to open it, and ``n`` times what one alarm costs
(``docs/proofs/filter.md``). So a window's own cost follows from its alarms alone, and it holds the
most that it can cost: the whole run where it opens one, the alarms that are left inside one.

A run ends when its alarms are spent, at the next budget period, and whenever its query's
configuration or past changes; its state is never used again then. The state (noisy threshold, cells
to ask again) is as private as a raw count, and leaves the ledger's database for its decider only.

Source: Sparse Vector with exponential noise, privacy at the positives used (ex post).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from accountant.errors import LedgerError

if TYPE_CHECKING:
    from accountant.costs.charges import CellCosts
    from accountant.store.entries import ChargeRow

__all__ = ["RunAfter", "RunTerms", "StoredRun", "continued", "held_units", "usable"]


@dataclass(frozen=True, slots=True)
class RunTerms:
    """What a run of a query costs, from its configuration alone.

    Args:
        open_units: loss of the noisy threshold, in loss units.
        alarm_units: loss of one alarm, in loss units.
        alarms: how many alarms one run can give.
    """

    open_units: int
    alarm_units: int
    alarms: int

    def __post_init__(self) -> None:
        """Refuse a run that is free to open or to ring, or that never rings."""
        if min(self.open_units, self.alarm_units, self.alarms) < 1:
            raise ValueError("a run costs something to open and to ring, and rings at least once")

    @property
    def worst_units(self) -> int:
        """Loss of the whole run when all its alarms are spent."""
        return self.open_units + self.alarms * self.alarm_units


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A query's newest run, as its last decided window left it.

    Args:
        query: whose it is.
        fingerprint: of the configuration it was opened under.
        periods: the budget periods that each of its windows touches; empty under unit ``event``.
        open_units: loss of opening it, in loss units.
        alarm_units: loss of one alarm, in loss units.
        left: alarms it can still give.
        rung: alarms it has given.
        opened_start_ms: start of the window that opened it.
        last_start_ms: start of the last window decided in it.
        state: the mechanism's own, in its encoding; private, and in no text of this record.
    """

    query: str
    fingerprint: str
    periods: tuple[int, ...]
    open_units: int
    alarm_units: int
    left: int
    rung: int
    opened_start_ms: int
    last_start_ms: int
    state: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class RunAfter:
    """What deciding one window made of a run.

    Args:
        state: the mechanism's own, to go on from; private.
        left: alarms that are left now.
        rung: alarms that this window used up.
        previous: the run that it went on from, as :meth:`accountant.ledger.ledger.Ledger.run`
            returned it; ``None`` where it opened one.
        terms: what a run costs.
    """

    state: bytes = field(repr=False)
    left: int
    rung: int
    previous: StoredRun | None
    terms: RunTerms


def usable(run: StoredRun | None, fingerprint: str, periods: tuple[int, ...]) -> StoredRun | None:
    """Return the run if a window can go on with it: same configuration and periods, alarms left."""
    if run is None or (run.fingerprint, run.periods) != (fingerprint, periods) or run.left < 1:
        return None
    return run


def held_units(run: StoredRun | None, charge: ChargeRow) -> int:
    """Return what a window of a run holds at its query's turn, in loss units.

    Args:
        run: the stored run of its query.
        charge: the window's.
    """
    inside = usable(run, charge.fingerprint, charge.periods)
    return charge.loss_units if inside is None else inside.left * inside.alarm_units


def continued(
    stored: StoredRun | None,
    charge: ChargeRow,
    cost: CellCosts,
    after: RunAfter | None,
    alarm_count: int,
) -> StoredRun:
    """Return the run as a window leaves it.

    Args:
        stored: the query's run as it stands.
        charge: the window's reservation.
        cost: what deciding it is said to have cost.
        after: what its decider made of the run.
        alarm_count: alarms that it publishes.

    Raises:
        LedgerError: the run is not the one that the decider went on from; its alarms do not add up;
            or the cost is not what the run costs: under unit ``user`` the window's own alarms, and
            opening it where it was opened; under unit ``event`` all that was reserved.
    """
    query = charge.key.query
    if after is None:
        raise LedgerError(f"a window of {query!r} was reserved in a run and leaves none")
    if charge.periods and not charge.in_run:
        raise LedgerError(f"a window of {query!r} was not reserved in a run")
    found = usable(stored, charge.fingerprint, charge.periods)
    if found != after.previous:
        raise LedgerError(
            f"the run of {query!r} is not the one that this window was decided in",
            hint="drop what was drawn, read the run again and decide anew",
        )
    terms = after.terms
    before = terms.alarms if found is None else found.left
    same_terms = found is None or (found.open_units, found.alarm_units) == (
        terms.open_units,
        terms.alarm_units,
    )
    if not same_terms or (charge.in_run and terms.worst_units != charge.units):
        raise LedgerError(f"the run of {query!r} has other terms than what was reserved")
    if not 0 <= alarm_count <= after.rung <= before or after.left != before - after.rung:
        raise LedgerError(f"the alarms of the run of {query!r} do not add up")
    due = charge.units
    if charge.in_run:
        due = after.rung * terms.alarm_units + (terms.open_units if found is None else 0)
    if cost.worst_units != due or cost.largest_sum_units(cost.cells) != due * cost.cells:
        raise LedgerError(f"a window of {query!r} did not cost what its run says")
    return StoredRun(
        query=query,
        fingerprint=charge.fingerprint,
        periods=charge.periods,
        open_units=terms.open_units,
        alarm_units=terms.alarm_units,
        left=after.left,
        rung=after.rung + (0 if found is None else found.rung),
        opened_start_ms=charge.key.start_ms if found is None else found.opened_start_ms,
        last_start_ms=charge.key.start_ms,
        state=after.state,
    )
