"""What a budget comes to over a week and over a year: losses of periods add up.

From the configuration alone. ``epsilon_max`` bounds what one person loses in one budget period; who
stays for many periods loses as much again in each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stream.planning.budget import periods_of
from stream.windows.calendars import LocalCalendar
from stream.windows.localtime import DAY_MS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from accountant.budget.plan import ScopePlan
    from stream.model.alarms import Alarms
    from stream.planning.budget import PeriodTable

__all__ = ["totals"]


def totals(plan: ScopePlan, alarms: Alarms) -> list[tuple[int, int]] | None:
    """Add up what the periods of a week and of a year may cost one person.

    A period costs all its windows, each at its worst, and no more than ``epsilon_max``: what is
    beyond is refused. Looked at are the periods of the plan; where they are over before a year is,
    what they come to is taken as often as a year has room for.

    Args:
        plan: of one budget.
        alarms: the configuration that it is of.

    Returns:
        Of the fullest week in which anything is charged, and of the fullest 365 days: the loss of
        one privacy unit at worst, in loss units, and how many budget periods that is. ``None``
        where nothing adds up: an event is in its own windows only, whatever the year, and a
        lifetime is one period.
    """
    table = periods_of(alarms.budget)
    if table is None:
        return None
    losses = np.minimum(table.losses(plan, alarms), plan.terms.epsilon_max_units)
    return [_fullest(table, losses, days) for days in (7, 365)]


def _fullest(table: PeriodTable, losses: NDArray[np.object_], days: int) -> tuple[int, int]:
    """Return the largest sum over periods that begin within so many days, and how many cost."""
    starts, span_ms = table.starts_ms, days * DAY_MS
    stops = np.searchsorted(starts, starts + span_ms)
    if isinstance(table.calendar, LocalCalendar):  # also where a clock is set forward
        every = -(-days // table.calendar.step_days)
        stops = np.minimum(np.arange(len(starts)) + every, len(starts))
    sums = np.concatenate([[0], np.cumsum(losses)])
    at = int(np.argmax(sums[stops] - sums[:-1]))
    fullest = losses[at : stops[at]]
    times = max(1, -(-span_ms // int(table.ends_ms[-1] - starts[0])))
    return int(fullest.sum()) * times, int(np.count_nonzero(fullest)) * times
