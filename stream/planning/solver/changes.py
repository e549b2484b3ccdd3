"""The smallest changes of what is asked after which an alarm can be had.

Each is looked for by itself with :func:`stream.planning.solver.search.best_of`, and planned in its
whole file before it is shown. The baseline is taken to stay as it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, Final

from accountant.budget.plan import epsilon_needed
from accountant.units import PrivacyUnit
from operators.search import rounded, rounded_index, smallest
from stream.config.alarms.tolerances import aim_with, highest_tolerance, tolerance_text
from stream.model.holds import in_runs
from stream.model.numbers import decimal
from stream.model.requirements import FalseAlarmRate
from stream.planning.budget import budget_plan, periods_of
from stream.planning.checks import low_utility
from stream.planning.solver.search import MOST_RATE, as_written, best_of, cheapest
from stream.planning.stretching import covers_as_much, longest_stretch, stretched, window_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from stream.planning.solver.candidates import Candidate
    from stream.planning.solver.case import Case

__all__ = ["Change", "ChangeKind", "changes_of"]

_LONGER: Final = (2, 3, 4, 5, 6, 8, 10, 12, 15, 24)
_MOST_THRESHOLDS: Final = 8
_MOST_STEPS: Final = 10_000


class ChangeKind(StrEnum):
    """What would have to change."""

    EPSILON_MAX = "epsilon_max"
    TOLERANCE = "tolerance"
    FALSE_ALARMS = "false_alarms"
    MAX_FNR = "max_fnr"
    EPISODES = "episodes"
    WINDOW = "window"
    THRESHOLD = "threshold"
    GROUPS = "max_groups_per_window"
    EVENTS = "max_events_per_group"
    CAP = "max_windows_per_period"


_BOUNDS: Final = {
    ChangeKind.GROUPS: "predicates_per_window",
    ChangeKind.EVENTS: "events_per_cell",
}
"""Contribution bounds, by what they are called in the model."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change after which every requirement can be met.

    Args:
        kind: what changes.
        value: to what.
        text: what to write, in words.
        candidate: what then keeps all.
    """

    kind: ChangeKind
    value: str
    text: str
    candidate: Candidate


def changes_of(case: Case) -> list[Change]:
    """Return the smallest change of every kind that is enough; kinds that never are, are left out.

    Args:
        case: what is asked, for which nothing keeps all.
    """
    kinds = (
        _epsilon,
        _tolerance,
        _false_alarms,
        _max_fnr,
        _episodes,
        _window,
        _threshold,
        _cap,
    )
    bounds = (_bounded(case, *each) for each in _BOUNDS.items())
    found = chain(*(kind(case) for kind in kinds), *bounds)
    # Planned as it would be written: a whole file has to carry it, and `run` must not refuse it.
    return [
        one
        for one in found
        if one.candidate.keeps
        and budget_plan(one.candidate.joined).fits
        and not any(low_utility(one.candidate.alarm))
    ]


def _keeping(case: Case) -> Candidate | None:
    """Return something that keeps all, where anything does: one episode where none is written."""
    if not case.span_windows:
        return None
    alarm = replace(case.alarm, episodes=case.alarm.episodes or 1)
    found = best_of(replace(case, alarm=alarm)) if alarm.open else as_written(case)
    return found if found is not None and found.keeps else None


def _smallest(
    kind: ChangeKind,
    changed: Callable[[int], Case],
    low: int,
    high: int,
    value: Callable[[int], str],
    *,
    text: str = "{kind}: {value}",
    near: bool = False,
) -> Iterator[Change]:
    """Yield the change to the first number above ``low`` after which something keeps all, if any.

    Args:
        kind: what changes.
        changed: a case by the number.
        low: as :func:`operators.search.smallest`, like ``high`` and ``near``.
        high: the largest number.
        value: what the number stands for.
        text: what to write, with fields for kind and value.
        near: whether a number near ``low`` is likely.
    """
    known: dict[int, Candidate] = {}

    def kept(number: int) -> bool:
        one = _keeping(changed(number))
        if one is not None:
            known[number] = one
        return one is not None

    found = smallest(kept, low, high, near=near)
    if found is not None:
        shown = value(found)
        yield Change(kind, shown, text.format(kind=kind.value, value=shown), known[found])


def _epsilon(case: Case) -> Iterator[Change]:
    found = cheapest(case)
    if found is None or found.worst_units is None:
        return
    limit, gaussian = case.budget.wall_units, case.budget.gaussian
    value = epsilon_needed(limit - case.room_units + found.worst_units, gaussian)
    budget = replace(case.budget, epsilon_max=Fraction(value))
    if gaussian is not None:
        budget = replace(budget, gaussian=replace(gaussian, epsilon=Fraction(value)))
    room = budget.wall_units - (limit - case.room_units)
    fitting = replace(found, case=replace(found.case, room_units=room, budget=budget))
    yield Change(ChangeKind.EPSILON_MAX, value, f'epsilon_max: "{value}"', fitting)


def _tolerance(case: Case) -> Iterator[Change]:
    """Yield wider tolerances where they are written: their uncertain regions by one factor."""
    alarm = case.alarm
    if "tolerance" in alarm.open:
        return
    names, own = alarm.condition.formula.atoms, alarm.aim.tolerances
    highest = [
        min(highest_tolerance(alarm, name), _MOST_STEPS * alarm.condition.sensitivity_of(name) // 2)
        for name in names
    ]

    def widened(index: int) -> Case:
        wide = (math.ceil(((2 * each + 1) * rounded(index) - 1) / 2) for each in own)
        aim = aim_with(alarm, [min(*pair) for pair in zip(wide, highest, strict=True)])
        return replace(case, alarm=replace(alarm, aim=aim))

    def written(index: int) -> str:
        return tolerance_text(alarm, widened(index).alarm.aim.tolerances)

    most = rounded_index(Fraction(2 * _MOST_STEPS))
    yield from _smallest(ChangeKind.TOLERANCE, widened, 0, most, written, near=True)


def _false_alarms(case: Case) -> Iterator[Change]:
    tolerated = case.false_alarms
    if tolerated is None or case.baseline is None:
        return

    def rate(index: int) -> FalseAlarmRate:
        return FalseAlarmRate(rounded(index), tolerated.span)

    low = rounded_index(tolerated.number)
    yield from _smallest(
        ChangeKind.FALSE_ALARMS,
        lambda index: replace(case, false_alarms=rate(index)),
        low,
        low + 4 * 900,
        lambda index: rate(index).text,
    )


def _max_fnr(case: Case) -> Iterator[Change]:
    def missing(index: int) -> Case:
        aim = replace(case.alarm.aim, max_fnr=rounded(index))
        return replace(case, alarm=replace(case.alarm, aim=aim))

    if case.alarm.aim.max_fnr >= MOST_RATE:
        return
    low, high = rounded_index(case.alarm.aim.max_fnr), rounded_index(MOST_RATE)
    yield from _smallest(
        ChangeKind.MAX_FNR, missing, low, high, lambda index: decimal(rounded(index))
    )


def _episodes(case: Case) -> Iterator[Change]:
    """Yield the most episodes that a period can carry, where more are required."""
    most = case.alarm.episodes or 1

    def fewer(less: int) -> Case:
        return replace(case, alarm=replace(case.alarm, episodes=most - less))

    yield from _smallest(
        ChangeKind.EPISODES, fewer, 0, most - 1, lambda less: str(most - less), near=True
    )


def _window(case: Case) -> Iterator[Change]:
    """Yield the first longer windows, of sliding ones longer steps, that watch as much time."""
    calendar = case.alarm.calendar
    most = longest_stretch(calendar, periods_of(case.budget))
    for times in (each for each in _LONGER if each <= most):
        longer = stretched(calendar, times)
        if not covers_as_much(longer, calendar):
            continue
        found = _keeping(case.with_calendar(longer))
        if found is not None:
            text = window_text(longer, case.alarm.feed.time)
            words = f"windows of {text}, if the baseline stays the same"
            found = replace(found, case=replace(found.case, windows=text))
            yield Change(ChangeKind.WINDOW, text, words, found)
            return


def _threshold(case: Case) -> Iterator[Change]:
    if case.baseline is None:
        return
    least, *others = set(case.atom.thresholds.tolist())
    if not case.upward or least <= 0 or others:
        return
    yield from _smallest(
        ChangeKind.THRESHOLD,
        case.with_threshold,
        0,
        least * (_MOST_THRESHOLDS - 1),
        lambda further: decimal((least + further) * case.per_unit),
        text="a threshold just below {value}",
        near=True,
    )


def _bounded(case: Case, kind: ChangeKind, name: str) -> Iterator[Change]:
    """Yield the largest smaller contribution bound that is enough."""
    if case.budget.unit is PrivacyUnit.EVENT:
        return
    bound: int = getattr(case.budget.contribution, name)
    yield from _smallest(
        kind,
        lambda below: case.with_caps(**{name: -below}),
        -bound,
        -1,
        lambda below: str(-below),
        text="{kind}: {value}; fewer events of a person count",
    )


def _cap(case: Case) -> Iterator[Change]:
    """Yield the widest cap over a period that is enough: who stays longer is counted in part."""
    most, least = case.period_windows, case.alarm.calendar.overlap
    if case.budget.unit is PrivacyUnit.EVENT or most is None or case.alarm.share:
        return
    if any(each.share or each.hold_ms or in_runs(each) for each in case.standing.by_name.values()):
        return
    own = min(case.budget.contribution.windows_per_period or most, most)
    found = _smallest(
        ChangeKind.CAP,
        lambda below: case.with_caps(windows_per_period=-below),
        -own,
        -least,
        lambda below: str(-below),
        text="{kind}: {value}; a person counts only in the first {value} of a period's"
        f" {most} windows",
    )
    # Of runs the price is the same, and the keys exclude each other.
    yield from (one for one in found if not in_runs(one.candidate.alarm))
