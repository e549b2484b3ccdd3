"""A plan as one HTML page that loads nothing: from configuration alone, for anybody to see."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from accountant.units import from_loss_units
from stream.model.losses import loss_name, rounded_loss, wall_text, worth_text
from stream.planning.budget import REFERENCE_MS, periods_of
from stream.planning.drawings import Bar, bars_drawing, curve_drawing
from stream.planning.pages import template_of
from stream.planning.ringing_tables import headings, rate_text, threshold_text
from stream.planning.totals import period_losses
from stream.windows.calendars import LocalCalendar
from stream.windows.localtime import load_zone

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accountant.loss.gaussian import Gaussian
    from stream.model.alarms import Alarms
    from stream.planning.budget import PeriodTable
    from stream.planning.outlook import ScopeOutlook
    from stream.planning.worth import Worth

__all__ = ["plan_page"]

_WEEK_MS: Final = 7 * 86_400_000
_MOST_BARS: Final = 24
_DAYS: Final = 14


@dataclass(frozen=True, slots=True)
class _BudgetSection:
    """What the page says of one budget."""

    outlook: ScopeOutlook
    svg: str
    caption: str
    gaussian: Gaussian | None

    @property
    def wall(self) -> str:
        units = self.outlook.plan.terms.epsilon_max_units
        return _epsilon(units) if self.gaussian is None else wall_text(self.gaussian, units)

    @property
    def worst(self) -> str | None:
        units = self.outlook.plan.worst_units
        return None if units is None else self._summed(units)

    @property
    def sums(self) -> tuple[str, str] | None:
        totals = self.outlook.totals
        return (
            None
            if totals is None
            else (self._summed(totals.week_units), self._summed(totals.year_units))
        )

    def _summed(self, units: int) -> str:
        if self.gaussian is None:
            return _epsilon(units)
        return f"rho {rounded_loss(self.gaussian, units)}{worth_text(self.gaussian, units)}"


def plan_page(looked: Sequence[ScopeOutlook], worths: Sequence[Worth], alarms: Alarms) -> str:
    """Return the whole page.

    Args:
        looked: every budget.
        worths: of every alarm.
        alarms: the configuration.
    """
    return template_of("stream.planning", "plan.html").render(
        file=alarms.file,
        budgets=[_budget(one, alarms) for one in looked],
        alarms=[_alarm(one) for one in worths],
        rate=rate_text,
    )


def _alarm(worth: Worth) -> dict[str, Any]:
    """Return what the template says of one alarm."""
    query, ringing = worth.query, worth.ringing
    rows = () if ringing is None else ringing.curves
    return {
        "name": query.id,
        "sql": query.sql.strip(),
        "mechanism": query.mechanism,
        "max_fnr": f"{float(query.aim.max_fnr):g}",
        "max_fpr": f"{float(query.aim.max_fpr or query.aim.max_fnr):g}",
        "promise": query.aim.promise,
        "tolerance": query.tolerance,
        "worth": worth,
        "svg": None if ringing is None else curve_drawing(worth),
        "basis": None if ringing is None else ringing.basis,
        "headings": () if ringing is None else headings(ringing),
        "rows": [
            (f"{curve.severity} {threshold_text(curve)}".strip(), list(_points(curve)))
            for curve in rows
        ],
    }


def _points(curve: Any) -> Any:
    for count, chance in zip(curve.counts, curve.chances, strict=True):
        yield f"{float(count):.12g}", f"{chance:.2f}"


def _budget(one: ScopeOutlook, alarms: Alarms) -> _BudgetSection:
    """Return the bars of one budget: of its periods in a week, or of its alarms."""
    terms = one.plan.terms
    wall = float(from_loss_units(terms.epsilon_max_units))
    table, gaussian = periods_of(alarms.budget), alarms.budget.gaussian
    if table is None:
        bars = [
            Bar(str(at), float(alarm.epsilon)) for at, alarm in enumerate(one.plan.alarms, start=1)
        ]
        of, told = "alarms", "alarm, in the order of the file: one of its windows at worst."
    else:
        bars = _bars(one, alarms, table)
        of, told = (
            "periods",
            "budget period of a week: all windows of all alarms, each at its worst.",
        )
    svg = bars_drawing(bars, wall, f"{of} of {terms.scope}", loss_name(gaussian))
    return _BudgetSection(one, svg, f"One bar per {told}", gaussian)


def _bars(one: ScopeOutlook, alarms: Alarms, table: PeriodTable) -> list[Bar]:
    """Return what each period of a week may cost a person, as many as are legible."""
    calendar = table.calendar
    zone = load_zone(calendar.timezone) if isinstance(calendar, LocalCalendar) else UTC
    daily = isinstance(calendar, LocalCalendar) and calendar.size_days == 1
    days = [
        datetime.fromtimestamp(start / 1000, zone) for start in table.starts_ms[:_DAYS].tolist()
    ]
    first = next(at for at, day in enumerate(days) if not day.weekday()) if daily else 0
    in_a_week = int((table.starts_ms < REFERENCE_MS + _WEEK_MS).sum())
    shown = max(1, min(_MOST_BARS, in_a_week))
    queries = [alarms.running[alarm.query] for alarm in one.plan.alarms]
    units = period_losses(table, one.plan, queries, alarms.budget)
    total = [float(from_loss_units(int(each))) for each in units[first : first + shown]]
    names = [f"{day:%a}" for day in days[first:]] if daily else map(str, range(1, shown + 1))
    return [Bar(label, epsilon) for label, epsilon in zip(names, total, strict=False)]


def _epsilon(units: int) -> str:
    return f"{float(from_loss_units(units)):,.3f}"
