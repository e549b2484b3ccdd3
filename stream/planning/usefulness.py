"""From where on an alarm is a poor one: nobody should be content with it."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final

from operators.conditions.weights import Weight
from stream.config.alarms.tolerances import highest_tolerance

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from stream.model.queries import Query

__all__ = ["ADDED_UP", "MOST_RATE", "poor_rates", "poor_tolerances", "useful_tolerance"]

MOST_RATE: Final = Fraction(1, 5)
"""An alarm that errs more often than this is a poor one."""

ADDED_UP: Final = frozenset({Weight.COUNT, Weight.DISTINCT_UNITS, Weight.SUM, Weight.LINEAR})
"""What aggregates add up whose one number says all."""


def useful_tolerance(query: Query, name: str) -> int:
    """Return the largest tolerance of an atom that leaves a useful alarm: a third of its threshold.

    Where a threshold does not tell how large a statistic is, as of averages, any will do that may
    be written.

    Args:
        query: the alarm.
        name: of the atom in its formula.

    Returns:
        In units of the atom's statistic, for the lowest threshold.
    """
    atom, most = query.condition.atoms[name], highest_tolerance(query, name)
    after = name in query.condition.formula.literals  # s > c is s >= c + 1
    least = int(atom.thresholds.min()) - after
    if query.aggregates[atom.statistic].kind not in ADDED_UP or least <= 0:
        return most
    return min(most, least // 3)


def poor_tolerances(query: Query, tolerances: Sequence[int]) -> str:
    """Return what is wrong with tolerances, in units of the statistics; empty where nothing is."""
    names = query.condition.formula.atoms
    if all(
        tolerance <= useful_tolerance(query, name)
        for name, tolerance in zip(names, tolerances, strict=True)
    ):
        return ""
    return "a tolerance beyond a third of the threshold"


def poor_rates(rates: Iterable[Fraction]) -> str:
    """Return what is wrong with rates of errors; empty where nothing is."""
    return f"a rate beyond {float(MOST_RATE):g}" if any(rate > MOST_RATE for rate in rates) else ""
