"""Up to which tolerance an alarm is of use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from operators.conditions.weights import Weight
from stream.config.alarms.tolerances import highest_tolerance

if TYPE_CHECKING:
    from stream.model.alarm import Alarm

__all__ = ["ADDED_UP", "useful_tolerance"]

ADDED_UP: Final = frozenset({Weight.COUNT, Weight.DISTINCT_UNITS, Weight.SUM, Weight.LINEAR})
"""What aggregates add up whose one number says all."""


def useful_tolerance(alarm: Alarm, name: str) -> int:
    """Return the largest tolerance of an atom that leaves a useful alarm: a third of its threshold.

    Where a threshold does not tell how large a statistic is, as of averages, any will do that may
    be written.

    Args:
        alarm: the alarm.
        name: of the atom in its formula.

    Returns:
        In units of the atom's statistic, for the lowest threshold.
    """
    atom, most = alarm.condition.atoms[name], highest_tolerance(alarm, name)
    after = name in alarm.condition.formula.literals  # s > c is s >= c + 1
    least = int(atom.thresholds.min()) - after
    if alarm.aggregates[atom.statistic].kind not in ADDED_UP or least <= 0:
        return most
    return min(most, least // 3)
