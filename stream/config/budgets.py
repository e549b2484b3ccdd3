"""The wall as a file declares it: unit, promise, periods and caps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accountant.loss.gaussian import LARGEST_EPSILON, Gaussian
from accountant.units import Contribution, PrivacyUnit
from stream.config.findings import Refused
from stream.config.keys import ContributionModel
from stream.model.alarms import Budget, PromiseKind
from stream.windows.calendars import FixedCalendar, LocalCalendar
from stream.windows.periods import Periods

if TYPE_CHECKING:
    from stream.config.findings import Findings
    from stream.config.keys import BudgetModel
    from stream.config.scalars import Duration

__all__ = ["build_budget"]


def build_budget(model: BudgetModel, timezone: str, findings: Findings) -> Budget:
    """Return the wall.

    Raises:
        Refused: anything of the file is wrong.
    """
    at = findings.under("budget")
    periods: Periods | None = None
    if model.privacy_unit is PrivacyUnit.EVENT:
        for key in ("period", "contribution"):
            if getattr(model, key) not in {None, "lifetime"}:
                hint = "remove it, or write privacy_unit: user"
                at.wrong(key, f"{key} needs privacy_unit: user", hint, key=True)
    elif model.period is None:
        hint = "write period: 1d, or period: lifetime"
        at.wrong((), "privacy_unit: user needs a period", hint)
    else:
        periods = _periods(model.period, timezone)
    caps = model.contribution or ContributionModel()
    gaussian = _gaussian(model, at)
    if findings.errors:
        raise Refused
    return Budget(
        model.privacy_unit,
        model.epsilon_max,
        periods,
        Contribution(
            caps.max_groups_per_window, caps.max_events_per_group, caps.max_windows_per_period
        ),
        model.on_shortfall,
        gaussian,
    )


def _periods(period: Duration | str, timezone: str) -> Periods:
    """Return consecutive periods: local days, or fixed lengths aligned to the epoch."""
    if isinstance(period, str):
        return Periods.lifetime()
    if period.days:
        return Periods(LocalCalendar(period.days, period.days, timezone))
    return Periods(FixedCalendar(period.milliseconds, period.milliseconds))


def _gaussian(model: BudgetModel, findings: Findings) -> Gaussian | None:
    """Return what a Gaussian budget promises; ``None`` for a pure one, or where it is wrong."""
    if (model.privacy is PromiseKind.PURE) is not (model.delta is None):
        at = "privacy" if model.delta is None else "delta"
        message = "privacy: gdp has a delta, and privacy: pure has none"
        findings.wrong(at, message, 'write delta: "1e-6" with privacy: gdp, or neither')
    elif (
        model.delta is not None
        and model.epsilon_max <= LARGEST_EPSILON
        and (promise := Gaussian(model.epsilon_max, model.delta)).wall_units
    ):
        return promise
    elif model.delta is not None:
        message = f"with privacy: gdp, epsilon_max is above {LARGEST_EPSILON}, or allows no loss"
        findings.wrong("epsilon_max", message, 'write epsilon_max: "4"')
    return None
