"""Which alarms share noisy panes, what these cost a privacy unit, and what that saves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.units import PrivacyUnit, to_loss_units
from operators.registry import DEFAULT
from stream.decisions.counts import deviation_of
from stream.decisions.mechanisms import as_charged, panes_of, price_of
from stream.model.alarms import cells_per_unit
from stream.model.losses import loss_text
from stream.planning.budget import REFERENCE_MS, PeriodTable, periods_of
from stream.windows.calendars import FixedCalendar
from stream.windows.cumulative import whole_windows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream.model.alarm import Alarm
    from stream.model.alarms import Budget

__all__ = ["PaneShare", "pane_shares"]

_YEAR_MS: Final = 366 * 86_400_000


@dataclass(frozen=True, slots=True)
class PaneShare:
    """Alarms over the same panes.

    Args:
        panes: the alarm that counts and pays for them.
        alarms: the names of the alarms, in the order of the file.
        units: what a privacy unit loses, in loss units: an event by the one pane that it lies in,
            a person by all panes of a budget period (of a year, where there is no end of it).
        apart_units: what it would lose if each window of each alarm were decided by itself.
        text: the same in words, with how noisy released counts are.
    """

    panes: str
    alarms: tuple[str, ...]
    units: int
    apart_units: int
    text: str


def pane_shares(alarms: Sequence[Alarm], budget: Budget) -> tuple[PaneShare, ...]:
    """Return what is shared among the alarms of one budget, in their order.

    Args:
        alarms: all that draw on it.
        budget: unit, periods and caps.

    Raises:
        ConfigError: an aim that cannot be kept.
    """
    known = {alarm.id: alarm for alarm in alarms}
    return tuple(
        _share(alarm, [known[name] for name in alarm.readers], budget)
        for alarm in alarms
        if alarm.readers
    )


def _share(panes: Alarm, readers: Sequence[Alarm], budget: Budget) -> PaneShare:
    units = to_loss_units(as_charged(panes, price_of(panes)).epsilon) * _counted(panes, budget)
    apart = sum(_apart(one, budget) for one in readers)
    names = tuple(one.id for one in readers)
    own, alone = (loss_text(budget.gaussian, each) for each in (units, apart))
    text = (
        f"{', '.join(names)} {'share' if len(names) > 1 else 'has'} noisy panes, {panes.id}"
        f" ({panes.calendar.describe()}): {_pays(panes, budget).format(own)}; window by window,"
        f" {DEFAULT.name} would take {alone} ({apart / units:.1f} times as much)"
    )
    return PaneShare(panes.id, names, units, apart, text + "".join(map(_released, readers)))


def _apart(alarm: Alarm, budget: Budget) -> int:
    """Return what a unit would lose by an alarm whose windows are each decided alone."""
    epsilon = DEFAULT.price(alarm.condition, alarm.aim).epsilon
    calendar = whole_windows(
        alarm.calendar
    )  # an evaluation at every step is priced for all of them
    alone = replace(alarm, panes="", mechanism=DEFAULT.name, calendar=calendar)
    return to_loss_units(epsilon) * _counted(alone, budget)


def _counted(alarm: Alarm, budget: Budget) -> int:
    """Return in how many cells a unit is counted at most, over the windows that add up."""
    return _windows(alarm, budget) * cells_per_unit(alarm, budget)


def _windows(alarm: Alarm, budget: Budget) -> int:
    if budget.unit is PrivacyUnit.EVENT:
        return alarm.calendar.charged
    return int(_periods(budget).charged(alarm.calendar, budget, alarm).max())


def _periods(budget: Budget) -> PeriodTable:
    if (table := periods_of(budget)) is not None:
        return table
    ends_ms = np.array([REFERENCE_MS + _YEAR_MS])
    return PeriodTable(FixedCalendar(_YEAR_MS, _YEAR_MS), ends_ms - _YEAR_MS, ends_ms)


def _pays(alarm: Alarm, budget: Budget) -> str:
    """Return who pays for what, with a field for how much."""
    if budget.unit is PrivacyUnit.EVENT:
        return "an event pays {}, once"
    windows = _windows(alarm, budget)
    panes = "one pane" if windows == 1 else f"{windows} panes"
    return f"a person pays {{}} for {panes} of a {'period' if periods_of(budget) else 'year'}"


def _released(alarm: Alarm) -> str:
    """Return how accurate the noisy counts of an alarm are; nothing where it releases none."""
    operator = panes_of(alarm)
    if operator is None or not alarm.releases_counts:
        return ""
    deviation = deviation_of(alarm, operator, alarm.aim.panes)
    return (
        f"; the noisy counts of {alarm.id} leave for nothing more, with a standard deviation of"
        f" {deviation:.3g}"
    )
