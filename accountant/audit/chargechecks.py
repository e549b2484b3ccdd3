"""What contradicts itself in one charge, or in a charge and its decision: no other row is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accountant.arguments import sentence_of
from accountant.costs.charges import UniformCost
from accountant.costs.levels import LevelCosts
from accountant.records import Answer, Outcome
from accountant.store.tables.charged import ENDED, GRANTED, ChargeState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accountant.costs.charges import CellCosts, WindowKey
    from accountant.store.decisions import Stated
    from accountant.store.tables.charged import ChargeRow
    from accountant.store.tables.pinned import QueryRow

__all__ = ["charge_problems", "costs_problem", "named"]


def named(key: WindowKey) -> str:
    """Return how a window is called in a sentence."""
    return f"window [{key.start_ms}, {key.end_ms}) of {key.query!r}"


def costs_problem(charge: ChargeRow) -> str:
    """Return what is wrong with the costs of a charge's cells; empty where they can be read."""
    try:
        if charge.costs is not None:
            LevelCosts.decode(charge.costs)
    except ValueError as error:
        return f"{named(charge.key)}: its costs cannot be read: {sentence_of(error)}"
    return ""


def charge_problems(
    charge: ChargeRow, decision: Stated | None, query: QueryRow, *, readable: bool
) -> Iterator[str]:
    """Yield what contradicts itself in a charge, one sentence each.

    Args:
        charge: any.
        decision: of its window.
        query: as it is registered.
        readable: whether the costs of its cells can be decoded.
    """
    for line in _problems(charge, decision, query, readable=readable):
        yield f"{named(charge.key)}: {line}"


def _problems(
    charge: ChargeRow, decision: Stated | None, query: QueryRow, *, readable: bool
) -> Iterator[str]:
    worst = charge.units * min(charge.cells_per_unit, charge.cells)
    if charge.loss_units != worst or charge.units < 0:
        yield f"its loss is {charge.loss_units} units, its cost says {worst}"
    settled = charge.state is ChargeState.SETTLED
    if {charge.settled_units is not None, charge.settled_loss_units is not None} != {settled}:
        yield f"it is {charge.state.value}, settled at {charge.settled_units}"
    elif charge.costs is not None and not settled:
        yield f"it is {charge.state.value}, yet it has what its cells cost"
    elif settled and readable:
        yield from _settlement_problems(charge)
    granted = charge.state in GRANTED
    answered = charge.admission is not Answer.PENDING
    if (granted and charge.admission is not Answer.RESERVED) or (
        answered is (charge.state is ChargeState.PENDING)
    ):
        yield f"it is {charge.state.value} but was {charge.admission.value}"
    yield from _decision_problems(charge, decision)
    over = charge.start_ms < query.cursor_ms or query.retired
    if charge.state not in ENDED and over:
        yield f"still {charge.state.value}, though its query is past it"


def _settlement_problems(charge: ChargeRow) -> Iterator[str]:
    """Compare a settlement with the costs of its cells and with what was reserved."""
    worst, loss = charge.settled_units or 0, charge.settled_loss_units or 0
    cost: CellCosts = UniformCost(worst, charge.cells)
    if charge.costs is not None:
        cost = LevelCosts.decode(charge.costs)
    if (cost.worst_units, cost.cells) != (worst, charge.cells) or (
        cost.largest_sum_units(charge.cells_per_unit) != loss
    ):
        yield f"it settled at {worst} and {loss} units, its cells say otherwise"
    reserved = charge.worst_cell_units
    if worst > reserved:
        yield f"it settled at {worst} units, {reserved} were reserved"


def _decision_problems(charge: ChargeRow, decision: Stated | None) -> Iterator[str]:
    settled = charge.state is ChargeState.SETTLED
    if decision is not None and decision.archived:
        yield "its decision says that it is gone"
    decided = decision is not None and decision.outcome == Outcome.DECIDED
    if settled != decided:
        yield f"it is {charge.state.value}, its decision says otherwise"
    if decision is None:
        return
    stated = charge.settled_units if charge.in_run else charge.units
    if decision.epsilon_units != (stated if decided else 0):
        yield "its decision states another epsilon than its charge"
    if not decided and (decision.alarm_count or charge.state is not ChargeState.RELEASED):
        yield "it was denied, yet it holds loss or alarms"
