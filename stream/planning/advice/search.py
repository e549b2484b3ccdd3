"""The search: for every mechanism, the least it takes to keep what is wanted of an alarm.

Of a mechanism that decides each window by itself the search is over ``max_fpr``, in numbers of
three digits, at the widest useful tolerance that ends above what is usual. Of runs it is over the
alarms of a run, the misses of a question and ``max_fpr``: false rings of quiet cells use alarms up,
so a run is asked for fewer misses than wanted, such that a cell at its threshold that is asked last
of a whole period is still missed no more often than wanted.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.errors import ConfigError
from accountant.units import to_loss_units
from operators.registry import DEFAULT, OFFERED, create, mechanism_of
from stream.config.alarms.panes import no_panes_for, pane_count
from stream.config.alarms.tolerances import aim_with
from stream.model.alarms import cells_per_unit
from stream.model.holds import in_runs
from stream.planning.advice.candidates import Candidate
from stream.planning.advice.ways import takes_caps, ways
from stream.planning.search import index_within, largest, rounded, rounded_index
from stream.planning.usefulness import MOST_RATE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from operators.base import Operator
    from operators.conditions.condition import Aim
    from operators.descriptors import Mechanism
    from stream.planning.advice.case import Case

__all__ = [
    "MOST_ALARMS",
    "as_written",
    "candidates",
    "capped",
    "cheapest",
    "mechanisms_tried",
]

MOST_ALARMS: Final = 10
"""Most alarms of a run that are looked at where none are written."""

_LEAST_RATE: Final = Fraction(1, 10**9)
_PARTS: Final = tuple(Fraction(part, 100) for part in (95, 90, 80, 70, 60))
"""Parts of ``max_fnr`` that a question of a run may miss; the rest is for runs that are spent."""


def mechanisms_tried(case: Case) -> tuple[Mechanism, ...]:
    """Return the mechanisms that can answer the alarm: the written one, or all that are offered."""
    if "mechanism" not in case.query.open:
        return (mechanism_of(case.query.mechanism),)
    return tuple(one for one in OFFERED.values() if one.bands is None and _takes(one, case))


def _takes(mechanism: Mechanism, case: Case) -> bool:
    """Whether a mechanism may be written for an alarm, over the windows that it has here."""
    if case.query.hold_ms and "hold" not in mechanism.keys:
        return False
    if case.query.aim.looks > 1:
        return mechanism.early is not None
    if mechanism.panes is not None:
        query = replace(case.query, mechanism=mechanism.name, open=())
        return _may_share(case) and not no_panes_for(query, case.standing)
    if case.windows:  # other windows than were asked for: those that slide are for panes alone
        return False
    return mechanism.run is None or case.budget.contribution.windows_per_period is None


def _may_share(case: Case) -> bool:
    """Whether noise could be shared: one pane a window that nobody else reads gains nothing."""
    return bool(case.standing.panes) or pane_count(case.query.calendar) > 1


def candidates(case: Case, *, useful: bool = True) -> list[Candidate]:
    """Return, for every mechanism, the cheapest ways that keep what is wanted, and some beside.

    Of runs there are several: with one alarm, with the most that the budget carries, and with one
    more than that.

    Args:
        case: what is asked.
        useful: only with tolerances that leave a useful alarm.
    """
    found: list[Candidate] = []
    for way, mechanism in _tried(case):
        if mechanism.run is None or way.query.aim.looks > 1:
            one = _by_window(way, mechanism, useful=useful)
            found += [] if one is None else [one]
        else:
            found += _by_runs(way, mechanism, useful=useful)
    few = capped(case)
    return found if few is None else [*found, few]


def cheapest(case: Case) -> Candidate | None:
    """Return what costs a privacy unit least and keeps all else that is wanted; no poor one.

    Looked at are the mechanism that decides a window for the least, runs of one alarm, and what
    rings before windows are over where that is wanted.
    """
    found: list[Candidate] = []
    for way, mechanism in _tried(case):
        early = way.query.aim.looks > 1
        if mechanism.run is not None and not early:
            one = _run_of(way, mechanism, case.query.aim.alarms if _alarms_written(case) else 1)
        elif early or mechanism.panes is not None or _is_least(mechanism, case):
            one = _by_window(way, mechanism)
        else:
            continue
        if one is not None and one.quiet and one.sure and one.prompt and not one.poor:
            found.append(one)
    ended = [one for one in found if one.worst_units is not None]
    return min(ended, key=lambda one: one.worst_units or 0, default=None)


def capped(case: Case) -> Candidate | None:
    """Return the cheapest way by single windows with the widest cap over a period that fits.

    ``None`` where it fits without one, where no cap is narrow enough, where none may be written,
    and where something else than the budget speaks against it.

    Args:
        case: what is asked.
    """
    default = "mechanism" in case.query.open
    mechanism = DEFAULT if default else mechanism_of(case.query.mechanism)
    if mechanism.run is not None or not takes_caps(case):
        return None
    whole = _by_window(case, mechanism)
    if whole is None or whole.fits or whole.poor or not (whole.quiet and whole.sure):
        return None
    cap = case.room_units // (whole.units * cells_per_unit(whole.query, case.budget))
    if cap < whole.query.calendar.overlap:  # whoever has one event would count in a part of them
        return None
    return replace(whole, case=case.with_caps(windows_per_period=cap))


def _tried(case: Case) -> Iterator[tuple[Case, Mechanism]]:
    """Yield every way that windows may lie with every mechanism that may decide them."""
    for way in ways(case):
        for mechanism in mechanisms_tried(way):
            yield way, mechanism


def _is_least(mechanism: Mechanism, case: Case) -> bool:
    """Whether no other mechanism that may be written decides a window for less."""
    return mechanism.name == DEFAULT.name or "mechanism" not in case.query.open


def as_written(case: Case) -> Candidate | None:
    """Return what an alarm that says how it is run does; ``None`` where it cannot be.

    Of runs ``max_fnr`` is what a question may miss. So much more is borne of a cell that is asked
    last as the search would have left for that, or its own finds would not be kept once written.
    """
    query, mechanism = case.query, mechanism_of(case.query.mechanism)
    try:
        if not in_runs(query):
            return _judged(case, query.mechanism, query.aim)
        borne = replace(query.aim, max_fnr=query.aim.max_fnr / _PARTS[-1])
        lenient = replace(case, query=replace(query, aim=borne))
        return _judged_run(lenient, mechanism, query.aim)
    except ConfigError:
        return None


def _alarms_written(case: Case) -> bool:
    return "alarms_per_period" not in case.query.open


def _tolerance(case: Case, *, useful: bool = True) -> int | None:
    """Return the tolerance to try: the widest that ends above what is usual; ``None``: there none.

    Half the way to what is usual: there false alarms begin to be bounded.
    """
    if "tolerance" not in case.query.open:
        return case.query.aim.tolerances[0]
    if case.distance <= 0:
        return None
    widest = (case.distance - 1) // 2
    return min(widest, case.useful_tolerance) if useful else widest


def _aims(case: Case, mechanism: Mechanism, tolerance: int) -> Callable[[int], Aim]:
    """Return the aim by the index of its ``max_fpr`` among numbers of three digits."""
    aim = aim_with(case.query, (tolerance,), mechanism.name)
    if mechanism.panes is not None:
        aim = replace(aim, panes=pane_count(case.query.calendar), pane_units=0)

    def at(index: int) -> Aim:
        return replace(aim, max_fpr=rounded(index))

    return at


def _rates(case: Case) -> range:
    """Return the indexes of rates of false alarms that are looked at, ascending."""
    written, room = case.query.aim.max_fpr, 1 - case.query.aim.max_fnr
    most = min(MOST_RATE, room * Fraction(9, 10)) if written is None else written
    return range(rounded_index(_LEAST_RATE), index_within(most) + 1)


def _by_window(case: Case, mechanism: Mechanism, *, useful: bool = True) -> Candidate | None:
    """Return the cheapest way with a mechanism of single windows; ``None`` where there is none."""
    tolerance = _tolerance(case, useful=useful)
    if tolerance is None:
        return None
    aim_at, rates = _aims(case, mechanism, tolerance), _rates(case)

    def keeps(index: int) -> bool:
        rings = _rings(case, create(mechanism.name, case.query.condition, aim_at(index)))
        return rings is not None and rings <= case.borne

    try:
        found = largest(keeps, rates.start - 1, rates.stop - 1)
        return _judged(case, mechanism.name, aim_at(max(found, rates.start)))
    except ConfigError:
        return None


def _judged(case: Case, mechanism: str, aim: Aim) -> Candidate:
    query = replace(case.query, mechanism=mechanism, aim=aim, open=(), panes="")
    if mechanism_of(mechanism).panes is not None:
        case, query = case.in_panes(query)
    operator = create(mechanism, query.condition, query.aim)
    units = to_loss_units(operator.plan.epsilon)
    return Candidate(case, query, units, _rings(case, operator), float(aim.max_fnr))


def _rings(case: Case, operator: Operator) -> float | None:
    """Return the expected false rings of a span, where all cells count what is usual."""
    pairs, window = np.stack([case.atom.thresholds, case.usual]), _usual_window(case)
    _, firsts, cells = np.unique(pairs, axis=1, return_index=True, return_counts=True)
    total = 0.0
    for cell, alike in zip(firsts.tolist(), cells.tolist(), strict=True):
        chances = operator.chances(cell, window[:, [cell]])
        if chances is None:
            return None
        total += alike * float(chances[0])
    return case.span_windows * total


def _by_runs(case: Case, mechanism: Mechanism, *, useful: bool) -> Iterator[Candidate]:
    """Yield ways with runs of one alarm, of as many as the budget carries, and of one more."""
    if case.period_windows is None or _tolerance(case, useful=useful) is None:
        return
    if _alarms_written(case):
        numbers: list[int] = [case.query.aim.alarms]
    else:

        def fits(alarms: int) -> bool:
            tried = _run_of(case, mechanism, alarms, useful=useful)
            return tried is not None and tried.fits

        low = largest(fits, 1, MOST_ALARMS)
        numbers = sorted({1, low, min(low + 1, MOST_ALARMS)})
    for alarms in numbers:
        one = _run_of(case, mechanism, alarms, useful=useful)
        if one is not None:
            yield one


def _run_of(
    case: Case, mechanism: Mechanism, alarms: int, *, useful: bool = True
) -> Candidate | None:
    """Return the cheapest run of so many alarms that keeps false rings and misses, if any does."""
    tolerance, sketch = _tolerance(case, useful=useful), mechanism.sketch
    windows = case.period_windows
    if tolerance is None or sketch is None or windows is None:
        return None
    aim_at, condition = _aims(case, mechanism, tolerance), case.query.condition
    most, statistics = float(case.query.aim.max_fnr), _usual_window(case)
    rates = _rates(case)
    best: tuple[int, Aim] | None = None
    for part in _PARTS:
        fnr = case.query.aim.max_fnr * part

        def asked(index: int, fnr: Fraction = fnr) -> Aim:
            return replace(aim_at(index), max_fnr=fnr, alarms=alarms)

        def keeps(index: int, asked: Callable[[int], Aim] = asked) -> bool:
            lasts = sketch(condition, asked(index)).endurance(statistics, windows)
            rings = lasts.unlimited * case.span_windows / windows
            return rings <= case.borne and lasts.missed <= most

        try:
            found = largest(keeps, rates.start - 1, rates.stop - 1)
            if found < rates.start:
                continue
            units = to_loss_units(sketch(condition, asked(found)).plan.epsilon)
        except ConfigError:
            continue
        if best is None or units < best[0]:
            best = units, asked(found)
    if best is None:
        return None
    one = _judged_run(case, mechanism, best[1])
    if one.quiet and one.sure:
        return one
    # Floats that were a hair too kind: one step down the three digits is far more than a hair.
    index = rounded_index(best[1].max_fpr or MOST_RATE) - 1
    return _judged_run(case, mechanism, replace(best[1], max_fpr=rounded(index)))


def _judged_run(case: Case, mechanism: Mechanism, aim: Aim) -> Candidate:
    """Return a run as it is promised; ``max_fnr`` of a question, of a whole period its misses."""
    planned, windows = mechanism.run, case.period_windows
    if planned is None:
        raise ValueError("only a mechanism with runs has any")
    run = planned(case.query.condition, aim)
    query = replace(case.query, mechanism=mechanism.name, aim=aim, open=(), panes="")
    units = to_loss_units(run.plan.epsilon)
    if windows is None:
        return Candidate(case, query, units, None, float(aim.max_fnr))
    lasts = run.endurance(_usual_window(case), windows)
    rings = lasts.unlimited * case.span_windows / windows
    return Candidate(case, query, units, rings, lasts.missed)


def _usual_window(case: Case) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Return the statistics of a usual window, shape (statistics, cells)."""
    statistics = np.zeros((case.query.condition.statistics, case.cells), np.int64)
    statistics[case.atom.statistic] = case.usual
    return statistics
