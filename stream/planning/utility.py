"""The utility of every alarm of a file: where it fires, and how often falsely."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from stream.planning.detection import DetectionCurve, why_not
from stream.planning.false_alarms import false_alarms

if TYPE_CHECKING:
    from stream.model.alarm import Alarm
    from stream.model.alarms import Alarms, Budget
    from stream.planning.false_alarms import FalseAlarms

__all__ = ["Utility", "utilities", "utility_of"]


@dataclass(frozen=True, slots=True)
class Utility:
    """The utility of one alarm.

    Args:
        alarm: the alarm.
        why_not: why it is not known how likely it fires.
        false: how often it fires falsely; ``None`` without a baseline.
        law: how likely it fires; ``None`` where that is not known.
    """

    alarm: Alarm
    why_not: str | None = None
    false: FalseAlarms | None = None
    law: DetectionCurve | None = None


def utilities(alarms: Alarms) -> tuple[Utility, ...]:
    """Return the utility of a file's alarms, in its order.

    Raises:
        ConfigError: an aim that cannot be kept.
    """
    return tuple(utility_of(alarm, alarms.budget) for alarm in alarms.by_name.values())


def utility_of(alarm: Alarm, budget: Budget) -> Utility:
    """Return the utility of one alarm.

    Raises:
        ConfigError: its aim cannot be kept.
    """
    reason = why_not(alarm)
    if reason is not None:
        return Utility(alarm, why_not=reason)
    law = DetectionCurve.of(alarm)
    if law.at(law.median_cell, [Fraction(0)]) is None:
        return Utility(alarm, why_not="its condition has too many outcomes to add up")
    return Utility(alarm, false=false_alarms(law, budget), law=law)
