"""What a budget comes to over a week and over a year: losses of periods add up.

From the configuration alone. ``epsilon_max`` bounds what one person loses in one budget period; who
stays for many periods loses as much again in each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from accountant.units import PrivacyUnit
from stream.planning.budget import period_table

if TYPE_CHECKING:
    from accountant.budget.plan import ScopePlan
    from stream.model.alarms import Budget

__all__ = ["Totals", "totals"]

_DAY_MS: Final = 86_400_000


@dataclass(frozen=True, slots=True)
class Totals:
    """What one privacy unit loses at worst.

    Args:
        periods_week: budget periods that begin in a week, 1 at least.
        periods_year: in a year of 365 days.
        week_units: loss of them all at worst, in loss units.
        year_units: likewise.
    """

    periods_week: int
    periods_year: int
    week_units: int
    year_units: int


def totals(plan: ScopePlan, budget: Budget) -> Totals | None:
    """Add up what the periods of a week and of a year may cost one person.

    A period costs its worst case, and no more than ``epsilon_max``: what is beyond is refused.

    Args:
        plan: of one budget.
        budget: unit and periods.

    Returns:
        ``None`` where nothing adds up: an event is in its own windows only, whatever the year, and
        a lifetime is one period.
    """
    if budget.unit is PrivacyUnit.EVENT or budget.periods is None:
        return None
    if budget.periods.calendar is None:
        return None
    starts_ms = period_table(budget.periods).starts_ms
    week, year = (
        max(1, int((starts_ms < starts_ms[0] + days * _DAY_MS).sum())) for days in (7, 365)
    )
    worst = plan.terms.epsilon_max_units
    each = worst if plan.worst_units is None else min(worst, plan.worst_units)
    return Totals(week, year, week * each, year * each)
