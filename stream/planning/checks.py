"""Checks: what ``check`` and ``plan`` object to, and ``run`` refuses to start with; and a warning.

Either the windows that a file asks for do not fit its budget, when every window ends at its worst,
or an alarm has low utility: it usually fires where it should not. All of it follows from the
configuration alone, so what is said may be shown to anybody.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.budget.plan import budget_text
from operators.conditions.score import score_of
from stream.model.alarms import Overrun
from stream.model.requirements import SPANS
from stream.planning.budget import budget_plan
from stream.planning.detection import DetectionCurve, why_not
from stream.planning.false_alarms import rate
from stream.planning.playing import played
from stream.planning.utility import utility_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accountant.budget.plan import BudgetPlan, ScopePlan
    from stream.model.alarm import Alarm
    from stream.model.alarms import Alarms

__all__ = ["Objection", "Objections", "low_utility", "objections", "often_false"]

_MOSTLY: Final = 0.5
_TWICE: Final = 2
_MOST_CELLS: Final = 256
"""Groups with a threshold or a baseline of their own that are evaluated."""

_TOO_WIDE: Final = "write a smaller tolerance or max_fpr, or a threshold further from 0"
_TOO_NEAR: Final = "write a smaller tolerance, or a threshold further from the baseline"
_OF_BAND: Final = "write a larger tau or a larger epsilon"
_TOO_OFTEN: Final = (
    "write a higher threshold or epsilon_max; if the baseline is the highest ordinary count"
    " already, there will be fewer"
)
_ALLOWED: Final = "on_shortfall: deny to accept denied windows"


class Objections(StrEnum):
    """What is objected to."""

    OVERRUN = "overrun"
    LOW_UTILITY = "low_utility"


@dataclass(frozen=True, slots=True)
class Objection:
    """Why a file is not to be run as it is.

    Args:
        alarm: which one it is about.
        kind: what is objected to.
        message: what is wrong with it.
        hint: what to change.
    """

    alarm: str
    kind: Objections
    message: str
    hint: str


def objections(alarms: Alarms, planned: BudgetPlan | None = None) -> tuple[Objection, ...]:
    """Return everything that is objected to, in the order of budgets and alarms.

    Args:
        alarms: the configuration.
        planned: its budgets; planned here when left out.
    """
    planned = planned or budget_plan(alarms)
    overruns = [one for plan in planned.scopes for one in _overruns(plan, alarms)]
    poor = [one for alarm in alarms.by_name.values() for one in low_utility(alarm)]
    return (*overruns, *poor)


def often_false(alarms: Alarms) -> Iterator[Objection]:
    """Yield, as a warning, every alarm that fires too often where counts vary about the baseline.

    Too often is more than twice what is tolerated, or than half of what its SVT runs carry.

    Args:
        alarms: the configuration.
    """
    for alarm in alarms.by_name.values():
        false, tolerated = utility_of(alarm, alarms.budget).false, alarm.false_alarms
        if false is None or (week := false.varying) is None:
            continue
        bounds = [(false.most / _TWICE, f"its SVT runs carry {false.most:g}")]
        if tolerated is not None:
            often = float(_TWICE * SPANS["week"] * tolerated.number / tolerated.days)
            bounds.insert(0, (often, f"{tolerated.text} tolerated"))
        if most := [text for bound, text in bounds if week > bound]:
            text = f"{rate(week)} false alarms a week if counts vary about the baseline (Poisson)"
            text = f"{text}; {', '.join(most)}"
            yield Objection(alarm.id, Objections.LOW_UTILITY, text, _TOO_OFTEN)


def _overruns(plan: ScopePlan, alarms: Alarms) -> Iterator[Objection]:
    """Yield the alarms that get fewer windows than they ask for, where that is not allowed.

    Not even a budget that may deny is any good to an alarm that gets no window by itself.
    """
    hopeless = [one.query for one in plan.alarms if one.windows_fit == 0]
    if plan.fits and plan.worst_units is not None:
        return
    where = budget_text(plan.terms.scope)
    hint = f"{plan.suggestion}; or {_ALLOWED}"
    if plan.fits:  # the suggestion says for how long, and not what to write
        hint = f"write {_ALLOWED}; {plan.suggestion}".removesuffix("; ")
    for name in hopeless:
        text = f"{where} does not cover even one window"
        yield Objection(name, Objections.OVERRUN, text, plan.suggestion)
    if alarms.budget.on_overrun is Overrun.DENY:
        return
    whole = played(plan, alarms)
    refused = whole.refused
    if not whole.alarms and refused is not None and refused.alarm not in hopeless:
        granted = sum(refused.granted.values())
        text = f"{where} is never renewed and is used up after {granted} windows"
        yield Objection(refused.alarm, Objections.OVERRUN, text, hint)
    for name, windows in whole.fewer.items():
        if name not in hopeless:
            span = " per period" if plan.terms.period else ""
            text = f"{where} covers {windows.granted} of {windows.asked} windows{span}"
            yield Objection(name, Objections.OVERRUN, f"{text} in the worst case", hint)


def low_utility(alarm: Alarm) -> Iterator[Objection]:
    """Yield why an alarm has low utility: it usually fires for nothing counted, or at its baseline.

    Args:
        alarm: the alarm.
    """
    if why_not(alarm) is not None:
        return
    law = DetectionCurve.of(alarm)
    for cell, count, where, hint in _ordinary(law, alarm):
        chances = law.at(cell, [Fraction(count)])
        if chances is not None and chances[0] > _MOSTLY:
            text = f"it fires with probability {chances[0]:.2f} {where}"
            written = _OF_BAND if alarm.band else hint
            yield Objection(alarm.id, Objections.LOW_UTILITY, text, written)
            return


def _ordinary(law: DetectionCurve, alarm: Alarm) -> Iterator[tuple[int, float, str, str]]:
    """Yield cells with a count at which they should not fire, where that is, and what to change."""
    condition = alarm.condition
    # Averages and quantiles of nothing are NULL: check warns where a tolerance hides that.
    if law.steps is not None and all(
        spec.adds_up or spec.never_negative for spec in alarm.aggregates
    ):
        empty = np.zeros((condition.statistics, condition.cells), np.int64)
        scores = score_of(condition, alarm.aim.tolerances).read(empty)
        if (quiet := scores[scores < 0]).size:
            yield 0, float(quiet.max()), "in an empty group", _TOO_WIDE
    for cell in law.cells():
        if not law.due(cell, np.zeros(1, dtype=np.int64))[0]:
            yield cell, 0.0, "in an empty group", _TOO_WIDE
    if alarm.baseline is not None:
        kinds = sorted(cell for cell, _ in law.kinds)
        for cell in kinds[:_MOST_CELLS]:
            named, baseline = ", ".join(alarm.domain.group(cell).values()), alarm.baseline[cell]
            where = f" in {named}" if named else ""
            yield cell, float(baseline), f"at the baseline{where}, {baseline:g}", _TOO_NEAR
