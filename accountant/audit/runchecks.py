"""What contradicts the runs of a ledger: part of :mod:`accountant.audit.verify`."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from accountant.charging import runs
from accountant.records import Outcome
from accountant.store.tables.charged import ChargeRow, ChargeState

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from accountant.costs.charges import WindowKey
    from accountant.costs.runs import StoredRun
    from accountant.store.tables.pinned import QueryRow

__all__ = ["charge_problems", "run_problems"]


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
    granted = charge.state in {ChargeState.RESERVED, ChargeState.SETTLED}
    if (held is None and granted) or (held is not None and charge.state is ChargeState.PENDING):
        yield f"it is {charge.state.value} in a run and holds {held} units"
    elif held is not None and not 0 < held <= charge.loss_units:
        yield f"it holds {held} units of the {charge.loss_units} of its run"
    elif charge.state is ChargeState.RESERVED and held != runs.held_units(run, charge):
        yield f"it holds {held} units, its run says {runs.held_units(run, charge)}"


def run_problems(
    stored: Mapping[str, StoredRun],
    queries: Sequence[QueryRow],
    charges: Mapping[WindowKey, ChargeRow],
    decisions: Sequence[Mapping[str, Any]],
) -> Iterator[str]:
    """Yield what contradicts the stored runs, one sentence each."""
    registered = {query.query: query for query in queries}
    decided: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for one in sorted(decisions, key=lambda each: each["start_ms"]):
        if one["outcome"] == Outcome.DECIDED:
            decided[one["query"]].append(one)
    for name, run in sorted(stored.items()):
        query = registered.get(name)
        what = f"the run of {name!r}"
        if query is None or query.retired or query.fingerprint != run.fingerprint:
            yield f"{what} outlived its configuration"
        if run.left < 0 or run.alarms_rung < 0 or min(run.open_units, run.alarm_units) < 1:
            yield f"{what} has impossible terms"
        mine = [one for one in decided[name] if one["start_ms"] >= run.opened_start_ms]
        starts = [one["start_ms"] for one in mine]
        if not starts or (starts[0], starts[-1]) != (run.opened_start_ms, run.last_start_ms):
            yield f"{what} does not begin and end with a decided window"
        if sum(one["alarm_count"] for one in mine) > run.alarms_rung:
            yield f"{what} gave more alarms than it says"
        if run.periods:
            spent = sum(one["epsilon_units"] for one in mine)
            due = run.open_units + run.alarms_rung * run.alarm_units
            if spent != due:
                yield f"{what} cost {spent} units, its alarms say {due}"
        yield from _window_problems(what, run, mine, charges)


def _window_problems(
    what: str,
    run: StoredRun,
    decided: Sequence[Mapping[str, Any]],
    charges: Mapping[WindowKey, ChargeRow],
) -> Iterator[str]:
    """Compare a run with the charges of its windows, as far as they are still there."""
    by_place = {(key.query, key.start_ms, key.end_ms): one for key, one in charges.items()}
    for one in decided:
        charge = by_place.get((one["query"], one["start_ms"], one["end_ms"]))
        if charge is None:
            continue
        whole = run.open_units + (run.left + run.alarms_rung) * run.alarm_units
        if charge.periods != run.periods or charge.in_run is not bool(run.periods):
            yield f"{what} holds a window of other periods, at {charge.key.start_ms} ms"
        if charge.in_run and charge.units != whole:
            yield f"{what} costs {whole} units in all, a window of it says {charge.units}"
