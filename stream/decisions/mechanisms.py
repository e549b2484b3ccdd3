"""What an alarm's mechanism makes of it: the operator that decides it, and its price."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, cast

import numpy as np

from operators.registry import create, mechanism_of, price

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from operators.base import Operator, PaneOperator, Plan, RunOperator
    from operators.single.severity import SeverityLevels
    from stream.model.alarm import Alarm
    from stream.model.alarms import Alarms

__all__ = [
    "as_charged",
    "operator_of",
    "panes_of",
    "plans_of",
    "price_of",
    "run_of",
    "severity_chances",
]


def operator_of(alarm: Alarm) -> Operator:
    """Plan the operator of an alarm.

    Raises:
        ConfigError: its aim cannot be kept.
    """
    return create(alarm.mechanism, alarm.condition, alarm.aim, band=alarm.band)


def severity_chances(
    operator: Operator, number: int, cell: int, statistics: NDArray[np.int64]
) -> NDArray[np.float64] | None:
    """Return how likely a severity level of a cell rings, or a higher one.

    Args:
        operator: of an alarm; without levels, 0 is the number of the alarm itself.
        number: of the level.
        cell: as :meth:`Operator.chances`, like what follows.
        statistics: shape (statistics, n), int64.
    """
    if number:
        every = cast("SeverityLevels", operator).severities(cell, statistics)
        return np.asarray(every[number])
    return operator.chances(cell, statistics)


def run_of(alarm: Alarm) -> RunOperator | None:
    """Plan the operator of an alarm whose windows share runs; ``None`` for any other.

    Raises:
        ConfigError: its aim cannot be kept.
    """
    planned = mechanism_of(alarm.mechanism).run
    return None if planned is None or alarm.aim.looks > 1 else planned(alarm.condition, alarm.aim)


def panes_of(alarm: Alarm) -> PaneOperator | None:
    """Plan the operator of panes, or of an alarm that is decided from them; ``None`` for others.

    Raises:
        ConfigError: its aim cannot be kept, or it counts groups.
    """
    mechanism = mechanism_of(alarm.mechanism)
    if mechanism.panes is None:
        return None
    mechanism.check(alarm.condition, alarm.aim)
    return mechanism.panes(alarm.condition, alarm.aim)


def price_of(alarm: Alarm) -> Plan:
    """Return the plan of an alarm, without making what only decisions need.

    Raises:
        ConfigError: the aim cannot be kept.
    """
    return price(alarm.mechanism, alarm.condition, alarm.aim, band=alarm.band)


def plans_of(alarms: Alarms) -> dict[str, Plan]:
    """Return what every window costs at worst, by id, from configuration alone."""
    return {alarm.id: as_charged(alarm, price_of(alarm)) for alarm in alarms.running.values()}


def as_charged(alarm: Alarm, plan: Plan) -> Plan:
    """Return the plan of an alarm's windows: those over panes cost nothing, their panes do.

    Of panes that count people in their first, an event that goes may hand its person on to a later
    one: it moves two, and pays for both with its own.
    """
    if alarm.panes:
        return replace(plan, epsilon=Fraction(0))
    return replace(plan, epsilon=2 * plan.epsilon) if alarm.firsts else plan
