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
    here, there = (
        rounded_loss(budget.gaussian, to_loss_units(often * one.epsilon)) for one in (own, once)
    )
    message = f"{name} charges {loss_name(budget.gaussian)} {here} in all; {usual} takes {there}"
    if per_event or at_worst:
        findings.warn("mechanism", message, f"write mechanism: {usual}")
    else:
        findings.note("mechanism", message)
