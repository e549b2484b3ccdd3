"""What caps over a period save, in words and as JSON: configuration alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream.decisions.records import epsilon_text
from stream.model.losses import rounded_loss, told_loss

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accountant.budget.plan import AlarmPlan, ScopePlan
    from accountant.loss.gaussian import Gaussian

__all__ = ["cap_line", "cap_texts"]


def cap_texts(plan: ScopePlan, gaussian: Gaussian | None) -> Iterator[str]:
    """Yield a sentence for every alarm of a budget that has a cap over its periods.

    Args:
        plan: the budget's.
        gaussian: what it promises; ``None`` where that is a pure epsilon.
    """
    for alarm in plan.alarms:
        if alarm.windows_cap is None or alarm.worst_units is None or alarm.uncapped_units is None:
            continue
        windows = "one window" if alarm.windows_cap == 1 else f"{alarm.windows_cap} windows"
        saved = f" instead of {rounded_loss(gaussian, alarm.uncapped_units)}"
        if alarm.worst_units == alarm.uncapped_units:
            saved = ", as without it: no period has more windows"
        paid = f"{told_loss(gaussian, alarm.worst_units)} a period{saved}"
        yield f"{alarm.query}: a person counts in {windows} of a period at most: {paid}"


def cap_line(alarm: AlarmPlan) -> dict[str, object]:
    """Return what a plan's line says of an alarm's cap; nothing without one."""
    if alarm.windows_cap is None or alarm.uncapped_units is None:
        return {}
    return {
        "windows_per_period": alarm.windows_cap,
        "uncapped": epsilon_text(alarm.uncapped_units),
    }
