"""What caps over a period save, in words and as JSON: configuration alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accountant.units import from_loss_units
from stream.decisions.records import epsilon_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accountant.budget.plan import AlarmPlan, ScopePlan

__all__ = ["cap_line", "cap_texts"]


def cap_texts(plan: ScopePlan) -> Iterator[str]:
    """Yield a sentence for every alarm of a budget that has a cap over its periods."""
    for alarm in plan.alarms:
        if alarm.windows_cap is None or alarm.worst_units is None or alarm.uncapped_units is None:
            continue
        windows = "one window" if alarm.windows_cap == 1 else f"{alarm.windows_cap} windows"
        paid, whole = (_shown(units) for units in (alarm.worst_units, alarm.uncapped_units))
        saved = f"{paid} a period instead of {whole}"
        if alarm.worst_units == alarm.uncapped_units:
            saved = f"{paid} a period, as without it: no period has more windows"
        yield f"{alarm.query}: a person counts in {windows} of a period at most: {saved}"


def cap_line(alarm: AlarmPlan) -> dict[str, object]:
    """Return what a plan's line says of an alarm's cap; nothing without one."""
    if alarm.windows_cap is None or alarm.uncapped_units is None:
        return {}
    return {
        "windows_per_period": alarm.windows_cap,
        "uncapped": epsilon_text(alarm.uncapped_units),
    }


def _shown(units: int) -> str:
    return f"{float(from_loss_units(units)):.3f}"
