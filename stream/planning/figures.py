"""What a plan says: typed figures of every budget and alarm, from configuration alone.

One place for the terminal, JSON and the page; no data and no ledger is read, so that anybody may
see them. Losses are in epsilon, or in rho under ``privacy: gdp``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import starmap
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.budget.plan import epsilon_needed
from accountant.units import PrivacyUnit, from_loss_units
from operators.search import smallest
from stream.decisions.mechanisms import plans_of
from stream.model.alarms import scope_of
from stream.model.holds import in_runs
from stream.model.losses import equivalent_text, loss_name, loss_text, wall_text
from stream.model.numbers import decimal
from stream.planning.budget import budget_plan
from stream.planning.lifecycles import steadied
from stream.planning.playing import played
from stream.planning.runs import missed_given_no_alarm
from stream.planning.solver.solver import solve
from stream.planning.totals import totals
from stream.planning.utility import utility_of
from stream.windows.instants import iso_utc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accountant.budget.plan import AlarmPlan, ScopePlan
    from stream.model.alarm import Alarm
    from stream.model.alarms import Alarms, Budget
    from stream.planning.detection import DetectionCurve
    from stream.planning.lifecycles import Steadied
    from stream.planning.playing import Played
    from stream.planning.solver.solver import Solved

__all__ = [
    "ALMOST_NEVER",
    "FOR_SURE",
    "AlarmFigures",
    "BudgetFigures",
    "Detection",
    "Refused",
    "figures",
]

FOR_SURE: Final = 0.999
ALMOST_NEVER: Final = 0.001
_FARTHEST: Final = 1 << 40


@dataclass(frozen=True, slots=True)
class Detection:
    """Where the detection curve of one threshold, the median one, begins and ends.

    Args:
        threshold: as written, in the aggregate's own unit; 0 of a score.
        for_sure: aggregate from which it fires with ``FOR_SURE`` or more.
        almost_never: aggregate up to which it fires with ``ALMOST_NEVER`` or less.
        steps: of the condition's score, where these are no aggregates but scores.
        severity: the level that it is about; empty for an alarm without.
    """

    threshold: float
    for_sure: float | None
    almost_never: float | None
    steps: int | None
    severity: str


@dataclass(frozen=True, slots=True)
class AlarmFigures:
    """One alarm.

    Args:
        alarm: its name.
        mechanism: that decides it.
        tolerance: in the aggregate's own unit, or by comparison.
        loss: of one group in one window, or of one SVT run.
        lower_bound: the least any mechanism can lose for the same promise.
        per_person: what a person loses in a period, or an event, at worst; ``None`` without end.
        charged: how many windows and groups, or runs, that is; ``None`` without end.
        windows: in the budget period that costs most, or in a week; ``None`` without end.
        covered: how many of them the budget covers.
        detection: by severity level; nothing where it is not computed.
        not_computed: why it is not; empty where it is.
        baseline: from and to; ``None`` where the file does not say.
        false_alarms: a week where all is at the baseline; ``None`` where that is not known.
        false_alarms_varying: a week where counts vary about it as arrivals do (Poisson); likewise.
        miss_rate: at most, of what is above the threshold; of an SVT run for the episodes that it
            carries.
        bounded_error: ``fnr``; ``fpr`` where false alarms are bounded up to the threshold instead,
            and misses beyond twice the tolerance from it.
        miss_rate_given_no_alarm: of an SVT run that has not fired, where that is more than twice
            ``miss_rate``; else ``None``.
        delay_s: from when it is due until it is published, at most.
        episodes: how many a period carries; ``None`` where every window is decided by itself.
        alarms: after which a period is spent; ``None`` likewise.
        after_lifecycle: false alarms a week and misses that ``for``, ``of`` and ``resolve_after``
            leave, at most; ``None`` without them.
        changes: after each of which every requirement is met and the budget fits.
    """

    alarm: str
    mechanism: str
    tolerance: str | dict[str, str]
    loss: float
    lower_bound: float
    per_person: float | None
    charged: int | None
    windows: int | None
    covered: int | None
    detection: tuple[Detection, ...]
    not_computed: str
    baseline: tuple[float, float] | None
    false_alarms: float | None
    false_alarms_varying: float | None
    miss_rate: float
    bounded_error: str
    miss_rate_given_no_alarm: float | None
    delay_s: float
    episodes: int | None
    alarms: int | None
    after_lifecycle: Steadied | None
    changes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """The first window that the budget refuses, if every window before it ends at its worst.

    Args:
        alarm: whose it is.
        window_start: in UTC.
        granted: windows that were granted before it.
    """

    alarm: str
    window_start: str
    granted: int


@dataclass(frozen=True, slots=True)
class BudgetFigures:
    """One budget.

    Args:
        budget: its name.
        privacy_unit: ``user`` or ``event``.
        privacy: ``pure`` or ``gdp``.
        loss: what losses are counted in.
        epsilon_max: as written.
        delta: beside it, under ``gdp``; empty otherwise.
        limit: of the budget, in what losses are counted in; and in words.
        limit_text: likewise.
        period: after which it is renewed; empty under unit ``event``.
        worst: loss at worst; ``None`` without end.
        worst_text: the same in words: under ``gdp`` with what it comes to.
        fits: whether no window is refused.
        needed: the least ``epsilon_max`` that would do; empty where it fits, or has no end.
        exact: whether somebody can lose as much as ``worst``.
        week: loss composed over the periods of a week, and how many those are; ``None`` for events.
        year: likewise.
        first_refused: where a window is.
        alarms: in the order of the file.
        unmet: alarms whose requirements cannot be met, each with what would have to change.
        lock: the command that resolves the lock anew, after which all fits; empty where none does.
    """

    budget: str
    privacy_unit: str
    privacy: str
    loss: str
    epsilon_max: str
    delta: str
    limit: float
    limit_text: str
    period: str
    worst: float | None
    worst_text: str
    fits: bool
    needed: str
    exact: bool
    week: tuple[float, int] | None
    year: tuple[float, int] | None
    first_refused: Refused | None
    alarms: tuple[AlarmFigures, ...]
    unmet: tuple[tuple[str, tuple[str, ...]], ...]
    lock: str = ""


def figures(alarms: Alarms, solved: Sequence[Solved] | None = None) -> tuple[BudgetFigures, ...]:
    """Return what a plan says of every budget.

    Args:
        alarms: the configuration, without alarms that leave something open.
        solved: what was found for its alarms; solved here when left out.
    """
    solved = solve(alarms) if solved is None else solved
    plans = plans_of(alarms)
    return tuple(_budget(plan, alarms, solved) for plan in budget_plan(alarms, plans).scopes)


def _budget(plan: ScopePlan, alarms: Alarms, solved: Sequence[Solved]) -> BudgetFigures:
    budget, terms, gaussian = alarms.budget, plan.terms, alarms.budget.gaussian
    whole, sums = played(plan, alarms), totals(plan, alarms)
    spans = [(float(from_loss_units(units)), periods) for units, periods in sums or ()]
    week, year = spans or (None, None)
    by_name = {one.alarm.id: one for one in solved}
    shown = tuple(
        _alarm(one, alarms.by_name[one.query], alarms, whole, by_name.get(one.query))
        for one in plan.alarms
        if one.query in alarms.by_name
    )
    return BudgetFigures(
        budget=terms.scope,
        privacy_unit=terms.unit.value,
        privacy="pure" if gaussian is None else "gdp",
        loss=loss_name(gaussian),
        epsilon_max=decimal(budget.epsilon_max),
        delta="" if gaussian is None else decimal(gaussian.delta),
        limit=float(from_loss_units(terms.epsilon_max_units)),
        limit_text=wall_text(gaussian, terms.epsilon_max_units),
        period=terms.period or "",
        worst=_loss(plan.worst_units),
        worst_text="no end"
        if plan.worst_units is None
        else loss_text(gaussian, plan.worst_units) + equivalent_text(gaussian, plan.worst_units),
        fits=plan.fits,
        needed=""
        if plan.fits or plan.worst_units is None
        else epsilon_needed(plan.worst_units, gaussian),
        exact=plan.exact,
        week=week,
        year=year,
        first_refused=None
        if (found := whole.refused) is None
        else Refused(found.alarm, iso_utc(found.start_ms), sum(found.granted.values())),
        alarms=shown,
        unmet=tuple(
            (one.alarm.id, tuple(change.text for change in one.changes))
            for one in solved
            if one.alarm.open and one.found is None and scope_of(one.alarm, alarms) == terms.scope
        ),
    )


def _alarm(
    plan: AlarmPlan, alarm: Alarm, alarms: Alarms, whole: Played, solved: Solved | None
) -> AlarmFigures:
    budget, utility = alarms.budget, utility_of(alarm, alarms.budget)
    windows = whole.alarms.get(alarm.id)
    false, baseline = utility.false, alarm.baseline
    missed = missed_given_no_alarm(alarm, budget)
    rate = float(alarm.required_fnr or alarm.aim.max_fnr)
    return AlarmFigures(
        alarm=alarm.id,
        mechanism=alarm.mechanism,
        tolerance=alarm.tolerance,
        loss=float(plan.epsilon),
        lower_bound=plan.limit,
        per_person=_loss(plan.worst_units),
        charged=plan.cells,
        windows=None if windows is None else windows.asked,
        covered=None if windows is None else windows.granted,
        detection=tuple(starmap(_detection, utility.law.severities())) if utility.law else (),
        not_computed=utility.why_not or "",
        baseline=None if baseline is None else (float(baseline.min()), float(baseline.max())),
        false_alarms=None if false is None else false.week,
        false_alarms_varying=None if false is None else false.fired_varying,
        miss_rate=rate,
        bounded_error="fnr" if alarm.aim.promise == "misses" else "fpr",
        miss_rate_given_no_alarm=missed if missed is not None and missed > 2 * rate else None,
        delay_s=alarm.delay_ms / 1000,
        episodes=_episodes(alarm, budget, solved),
        alarms=alarm.aim.alarms if in_runs(alarm) else None,
        after_lifecycle=steadied(utility),
        changes=() if solved is None or solved.found else tuple(c.text for c in solved.changes),
    )


def _episodes(alarm: Alarm, budget: Budget, solved: Solved | None) -> int | None:
    """Return how many episodes a period carries; ``None`` where all windows are decided."""
    if not in_runs(alarm) or budget.unit is PrivacyUnit.EVENT:
        return None
    found = None if solved is None else solved.found or solved.written
    carried = alarm.aim.alarms if found is None or found.episodes is None else found.episodes
    # Without a hold an episode takes an alarm for every window that it lies in.
    return carried if alarm.hold_ms else carried // alarm.calendar.overlap


def _detection(severity: str, law: DetectionCurve) -> Detection:
    """Return where a curve begins and ends; nothing of both where it has more than one edge."""
    cell, unit = law.median_cell, float(law.unit)
    threshold = int(law.thresholds[cell])
    written = 0.0 if law.steps is not None else threshold * unit
    if len(law.marks(cell)) > 1:
        return Detection(written, None, None, law.steps, severity)
    condition = law.alarm.condition
    above = -1 if condition.formula.literals[0] not in condition.atoms else 1

    def chance(further: int) -> float:
        granules = np.array([threshold + above * further], np.int64)
        found = law.chances(cell, granules)
        return 0.0 if found is None else float(found[0])

    sure = smallest(lambda far: chance(far) >= FOR_SURE, -1, _FARTHEST, near=True)
    never = smallest(lambda far: chance(-far) <= ALMOST_NEVER, -1, _FARTHEST, near=True)
    sure_at, never_at = (
        None if far is None else (threshold + above * far) * unit
        for far in (sure, None if never is None else -never)
    )
    return Detection(written, sure_at, never_at, law.steps, severity)


def _loss(units: int | None) -> float | None:
    """Return loss units in what losses are counted in; ``None`` without end."""
    return None if units is None else float(from_loss_units(units))
