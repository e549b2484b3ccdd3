"""What contradicts the runs of a ledger: part of :mod:`accountant.audit.verify`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accountant.charging import runs
from accountant.records import Outcome
from accountant.store.tables.charged import GRANTED, ChargeRow, ChargeState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accountant.costs.runs import StoredRun
    from accountant.store.decisions import Stated
    from accountant.store.tables.decided import DecisionRow
    from accountant.store.tables.pinned import QueryRow

__all__ = ["RunSum", "charge_problems", "window_problems"]


def charge_problems(charge: ChargeRow, run: StoredRun | None) -> Iterator[str]:
    """Yield what is wrong with what a charge holds as a window of a run, without its window.

    Args:
        charge: any charge.
        run: its query's run as it stands.
    """
    held = charge.held_units
    if not charge.in_run:
        if held is not None:
            yield "it is in no run, yet it holds what a window of a run would"
        return
    if charge.cells_per_unit != 1 or not charge.periods:
        yield "it is in a run, yet not charged for a whole run once"
    granted = charge.state in GRANTED
    if (held is None and granted) or (held is not None and charge.state is ChargeState.PENDING):
        yield f"it is {charge.state.value} in a run and holds {held} units"
    elif held is not None and not 0 < held <= charge.loss_units:
        yield f"it holds {held} units of the {charge.loss_units} of its run"
    elif charge.state is ChargeState.RESERVED and held != runs.held_units(run, charge):
        yield f"it holds {held} units, its run says {runs.held_units(run, charge)}"


class RunSum:
    """Adds up the decided windows of a stored run, and compares them with what it says.

    Args:
        run: as it stands.
    """

    def __init__(self, run: StoredRun) -> None:
        self._run = run
        self._first_ms: int | None = None
        self._last_ms: int | None = None
        self._alarms = 0
        self._spent = 0

    def take(self, decided: DecisionRow) -> None:
        """Take a decided window of its query, in order."""
        if decided.start_ms < self._run.opened_start_ms:
            return
        if self._first_ms is None:
            self._first_ms = decided.start_ms
        self._last_ms = decided.start_ms
        self._alarms += decided.alarm_count
        self._spent += decided.epsilon_units

    def problems(self, query: QueryRow | None) -> Iterator[str]:
        """Yield what contradicts the run, one sentence each.

        Args:
            query: as it is registered.
        """
        run, what = self._run, f"the run of {self._run.query!r}"
        if query is None or query.retired or query.fingerprint != run.fingerprint:
            yield f"{what} outlived its configuration"
        if run.left < 0 or run.alarms_rung < 0 or min(run.open_units, run.alarm_units) < 1:
            yield f"{what} has impossible terms"
        if (self._first_ms, self._last_ms) != (run.opened_start_ms, run.last_start_ms):
            yield f"{what} does not begin and end with a decided window"
        if self._alarms > run.alarms_rung:
            yield f"{what} gave more alarms than it says"
        due = run.open_units + run.alarms_rung * run.alarm_units
        if run.periods and self._spent != due:
            yield f"{what} cost {self._spent} units, its alarms say {due}"


def window_problems(
    charge: ChargeRow, decision: Stated | None, run: StoredRun | None
) -> Iterator[str]:
    """Compare the charge of a decided window with the run that it is in, if it is in one."""
    if run is None or decision is None or decision.outcome != Outcome.DECIDED:
        return
    if charge.start_ms < run.opened_start_ms:
        return
    what = f"the run of {run.query!r}"
    whole = run.open_units + (run.left + run.alarms_rung) * run.alarm_units
    if charge.periods != run.periods or charge.in_run is not bool(run.periods):
        yield f"{what} holds a window of other periods, at {charge.start_ms} ms"
    if charge.in_run and charge.units != whole:
        yield f"{what} costs {whole} units in all, a window of it says {charge.units}"
