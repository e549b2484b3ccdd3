"""What is said of an alarm that another mechanism would decide for less."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accountant.units import PrivacyUnit, to_loss_units
from operators.registry import DEFAULT, OFFERED, price
from stream.model.losses import loss_name, rounded_loss

if TYPE_CHECKING:
    from stream.config.findings import Findings
    from stream.model.alarms import Budget
    from stream.model.queries import Query

__all__ = ["tell_cheaper"]


def tell_cheaper(query: Query, budget: Budget, findings: Findings) -> None:
    """Say what another mechanism takes less for.

    Of runs that are charged in every window, of losses that add up over comparisons, and of worst
    cases under a Gaussian promise.

    Args:
        query: the alarm.
        budget: unit, and which promise pays.
        findings: receives warnings.

    Raises:
        ConfigError: its aim cannot be kept.
    """
    name, usual = query.mechanism, DEFAULT.name
    mechanism = OFFERED[name]
    if query.aim.looks > 1:
        return
    per_event = mechanism.run is not None and budget.unit is PrivacyUnit.EVENT
    at_worst = query.aim.gaussian and mechanism.gaussian is None and mechanism.by_window
    summed = mechanism.first_phase and len(query.condition.formula.literals) > 1
    if not (per_event or at_worst or summed):
        return
    own, once = (price(one, query.condition, query.aim) for one in (name, usual))
    if once.epsilon >= own.epsilon:
        return
    often = query.calendar.charged if per_event else 1
    costs = [to_loss_units(often * one.epsilon) for one in (own, once)]
    here, there = (rounded_loss(budget.gaussian, units) for units in costs)
    if per_event:
        kind = "" if budget.gaussian is None else f"{loss_name(budget.gaussian)} "
        findings.warn(
            "mechanism",
            f"an event is charged for a whole run in every window it lies in ({often}):"
            f" {kind}{here}; {usual} takes {there}",
            f"write mechanism: {usual}; {name} pays under privacy_unit: user",
        )
    elif not at_worst:
        times = float(own.epsilon / once.epsilon)
        findings.note(
            "mechanism",
            f"{name} adds up a loss for every comparison: {here}, {times:.1f} times the {there} of"
            f" {usual}, which decides the whole condition by one noise, as dppwlm does",
        )
    else:
        findings.warn(
            "mechanism",
            f"privacy: gdp: every cell is charged what {name} loses at worst, and nothing is given"
            f" back: rho {here}; {usual} takes {there}",
            f"write mechanism: {usual}",
        )
