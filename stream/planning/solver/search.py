"""The search: for every way to have an alarm, the least it takes to keep its requirements.

Of a mechanism that decides each window by itself the search is over ``max_fpr``, in numbers of
three digits, at the widest useful tolerance that ends above the baseline. Of SVT runs it is over
the alarms of a run, the misses of a query and ``max_fpr``: false alarms use up a run, so a query is
asked for fewer misses than required, such that a cell at its threshold that is asked last of a
whole period is still missed no more often than required. That is the grid: nothing else is tried,
and what is left out of it costs more than something that is kept.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.errors import ConfigError
from accountant.units import to_loss_units
from operators.registry import DEFAULT, OFFERED, create, mechanism_of
from operators.search import index_within, largest, rounded, rounded_index
from stream.config.alarms.panes import pane_count, panes_serve
from stream.config.alarms.tolerances import aim_with
from stream.decisions.mechanisms import as_charged, run_of
from stream.model.holds import in_runs
from stream.planning.detection import cells_alike
from stream.planning.solver.candidates import Candidate
from stream.planning.solver.ways import ways
from stream.planning.tolerances import useful_tolerance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from operators.base import Operator, RunOperator
    from operators.conditions.condition import Aim
    from operators.descriptors import Mechanism
    from stream.planning.solver.case import Case

__all__ = ["MOST_ALARMS", "MOST_RATE", "as_written", "best_of", "cheapest"]

MOST_ALARMS: Final = 10
"""Most alarms of a run that are tried where none are written."""

MOST_RATE: Final = Fraction(1, 5)
"""No rate of errors above this is tried: nobody should be content with it."""

_LEAST_RATE: Final = Fraction(1, 10**9)
_PARTS: Final = tuple(Fraction(part, 100) for part in (95, 80, 60))
"""Parts of ``max_fnr`` that a query of a run may miss; the rest is for runs that are spent."""


def best_of(case: Case) -> Candidate | None:
    """Return the best way that meets every requirement; ``None`` where none does.

    A mechanism that decides every window by itself is best where the budget carries one, the
    cheapest of them: its windows know nothing of each other. Else it is SVT runs, which carry as
    many episodes as can be where it is not said how many: a spent run does not fire until the
    period ends.
    """
    alone = [one for one in _by_windows(case, fitting=True) if one.keeps]
    if alone:
        return min(alone, key=lambda one: one.worst_units or 0)
    carry = _carrying if case.alarm.episodes else _carrying_most
    found = (carry(way) for way in _tried(case) if in_runs(way.alarm))
    return next(filter(None, found), None)


def _carrying_most(case: Case) -> Candidate | None:
    """Return the runs that carry most episodes within the budget."""
    known: dict[int, Candidate] = {}

    def carries(episodes: int) -> bool:
        alarm = replace(case.alarm, episodes=episodes)
        found = _carrying(replace(case, alarm=alarm))
        if found is not None:
            known[episodes] = replace(found, alarm=replace(found.alarm, episodes=None))
        return found is not None

    return known.get(largest(carries, 0, _numbers(case).stop - 1))


def _carrying(case: Case, *, fitting: bool = True) -> Candidate | None:
    """Return the cheapest runs that carry the episodes of a case; within the budget, if asked."""
    most, reached = math.inf, case.reached
    if fitting and reached is not None:
        most = case.room_units // reached
    for alarms in _numbers(case):
        one = _run_of(case, alarms, most)
        if one is not None and one.adequate and (one.fits or not fitting):
            return one
    return None


def cheapest(case: Case) -> Candidate | None:
    """Return what costs a privacy unit least and keeps all but the budget, if anything does.

    Args:
        case: what is asked.
    """
    if not case.alarm.open:
        written = as_written(case)
        return written if written is not None and written.adequate else None
    found = list(_by_windows(case))
    for way in _tried(case):
        one = _carrying(way, fitting=False) if in_runs(way.alarm) else None
        found += [] if one is None else [one]
    kept = [one for one in found if one.adequate and one.worst_units is not None]
    return min(kept, key=lambda one: one.worst_units or 0, default=None)


def as_written(case: Case) -> Candidate | None:
    """Return what an alarm that says how it is run does; ``None`` where it cannot be.

    Of runs ``max_fnr`` is what a query may miss. Of a cell that is asked last as much is tolerated
    as was required; where only that is written, as much as the search would have left for it.
    """
    alarm = case.alarm
    try:
        if not in_runs(alarm):
            return _judged(case, alarm.aim)
        most = alarm.required_fnr or alarm.aim.max_fnr / _PARTS[-1]
        tolerated = replace(alarm.aim, max_fnr=most)
        return _judged_run(replace(case, alarm=replace(alarm, aim=tolerated)), alarm.aim)
    except ConfigError:
        return None


def _tried(case: Case) -> Iterator[Case]:
    """Yield every way that windows may lie with every mechanism that may decide them.

    Of mechanisms that decide a window by itself only the cheapest is tried, unless one is written.
    """
    for way in ways(case):
        if "mechanism" not in case.alarm.open:
            yield way
            continue
        for mechanism in OFFERED.values():
            least = mechanism.run is not None or mechanism.panes is not None
            if (least or mechanism.name == DEFAULT.name) and _takes(mechanism, way):
                yield replace(way, alarm=replace(way.alarm, mechanism=mechanism.name))


def _takes(mechanism: Mechanism, case: Case) -> bool:
    """Whether a mechanism may be written for an alarm, over the windows that it has here."""
    if case.alarm.hold_ms and "hold" not in mechanism.keys:
        return False
    if case.alarm.aim.looks > 1:
        return mechanism.early is not None
    if mechanism.panes is not None:
        alarm = replace(case.alarm, mechanism=mechanism.name, open=())
        shares = bool(case.standing.panes) or pane_count(case.alarm.calendar) > 1
        return shares and panes_serve(alarm, case.standing)
    if mechanism.run is not None:
        return case.budget.contribution.windows_per_period is None
    return not case.windows  # windows that slide cost as much as they overlap


def _numbers(case: Case) -> range:
    """Return how many alarms of a run are tried, ascending: at least one for every episode."""
    if "max_alarms" not in case.alarm.open:
        return range(case.alarm.aim.alarms, case.alarm.aim.alarms + 1)
    least = case.alarm.episodes or 1
    return range(least, max(MOST_ALARMS, least) + 1)


def _tolerance(case: Case) -> int | None:
    """Return the tolerance to try: the widest useful one that ends above the baseline.

    Half the way to the baseline: there false alarms begin to be bounded. ``None``: there is none.
    """
    if "tolerance" not in case.alarm.open:
        return case.alarm.aim.tolerances[0]
    if case.distance <= 0:
        return None
    return min((case.distance - 1) // 2, useful_tolerance(case.alarm, case.name))


def _aims(case: Case, tolerance: int) -> Callable[[int], Aim]:
    """Return the aim by the index of its ``max_fpr`` among numbers of three digits."""
    aim = aim_with(case.alarm, (tolerance,))
    if mechanism_of(case.alarm.mechanism).panes is not None:
        aim = replace(aim, panes=pane_count(case.alarm.calendar), pane_units=0)
    return lambda index: replace(aim, max_fpr=rounded(index))


def _rates(case: Case) -> range:
    """Return the indexes of rates of false alarms that are tried, ascending."""
    written, room = case.alarm.aim.max_fpr, 1 - case.alarm.aim.max_fnr
    most = min(MOST_RATE, room * Fraction(9, 10)) if written is None else written
    return range(rounded_index(_LEAST_RATE), index_within(most) + 1)


def _by_windows(case: Case, *, fitting: bool = False) -> Iterator[Candidate]:
    """Yield, for each mechanism of single windows, the cheapest way.

    Args:
        case: what is asked.
        fitting: whether what the budget does not carry may be left out.
    """
    for way in _tried(case):
        tolerance = None if in_runs(way.alarm) else _tolerance(way)
        if tolerance is None:
            continue
        aim_at, rates = _aims(way, tolerance), _rates(way)
        try:
            if fitting and not _judged(way, aim_at(rates.stop - 1)).fits:
                continue  # and a smaller rate costs no less
            found = largest(partial(_quiet, way, aim_at), rates.start - 1, rates.stop - 1)
            yield _judged(way, aim_at(max(found, rates.start)))
        except ConfigError:
            continue


def _quiet(case: Case, aim_at: Callable[[int], Aim], index: int) -> bool:
    alarm = case.alarm
    false = _false_alarms(case, create(alarm.mechanism, alarm.condition, aim_at(index)))
    return false is not None and false <= case.tolerated


def _judged(case: Case, aim: Aim) -> Candidate:
    alarm = replace(case.alarm, aim=aim, open=(), panes="")
    paying = alarm
    if mechanism_of(alarm.mechanism).panes is not None:
        case, alarm, paying = case.in_panes(alarm)
    operator = create(alarm.mechanism, alarm.condition, alarm.aim)
    units = to_loss_units(as_charged(paying, operator.plan).epsilon)
    return Candidate(case, alarm, units, _false_alarms(case, operator), float(aim.max_fnr))


def _false_alarms(case: Case, operator: Operator) -> float | None:
    """Return the false alarms expected of a span where all cells are at their baseline."""
    if case.baseline is None:
        return 0.0
    window, total = _baseline_window(case), 0.0
    for cell, size in cells_alike(case.atom.thresholds, case.baseline):
        chances = operator.chances(cell, window[:, [cell]])
        if chances is None:
            return None
        total += size * float(chances[0])
    return case.span_windows * total


def _run_of(case: Case, alarms: int, most_units: float) -> Candidate | None:
    """Return the cheapest run of so many alarms that keeps false alarms and misses, if any does.

    Args:
        case: what is asked.
        alarms: of a run.
        most_units: that a run may cost, in loss units.
    """
    tolerance = _tolerance(case)
    if tolerance is None or case.period_windows is None or case.baseline is None:
        return None
    case = case.held()
    aim_at, rates = _aims(case, tolerance), _rates(case)
    best: Aim | None = None
    for part in _PARTS:

        def asked(index: int, fnr: Fraction = case.alarm.aim.max_fnr * part) -> Aim:
            return replace(aim_at(index), max_fnr=fnr, alarms=alarms)

        try:
            # A smaller rate costs no less than the largest: most parts end here.
            if _run_units(case, asked(rates.stop - 1)) > most_units:
                continue
            lasts = partial(_lasts, case, asked)
            if not lasts(rates.start):
                continue
            found = asked(largest(lasts, rates.start, rates.stop - 1))
            units = _run_units(case, found)
        except ConfigError:
            continue
        if units <= most_units:
            best, most_units = found, units - 1
    if best is None:
        return None
    one = _judged_run(case, best)
    if one.quiet and one.sure:
        return one
    # Floats that were a hair too kind: one step down the three digits is far more than a hair.
    index = rounded_index(best.max_fpr or MOST_RATE) - 1
    return _judged_run(case, replace(best, max_fpr=rounded(index)))


def _sketch(case: Case, aim: Aim) -> RunOperator:
    sketch = mechanism_of(case.alarm.mechanism).sketch
    if sketch is None:
        raise ValueError("only a mechanism with runs has a sketch of one")
    return sketch(case.alarm.condition, aim)


def _run_units(case: Case, aim: Aim) -> int:
    return to_loss_units(_sketch(case, aim).plan.epsilon)


def _lasts(case: Case, asked: Callable[[int], Aim], index: int) -> bool:
    """Whether runs keep false alarms and misses at a rate, over a whole period."""
    windows = case.period_windows or 1
    sketch, taken = _sketch(case, asked(index)), (case.alarm.episodes or 1) - 1
    lasts = sketch.endurance(_baseline_window(case), windows, taken)
    false = lasts.unlimited * case.span_windows / windows
    return false <= case.tolerated and lasts.missed <= float(case.alarm.aim.max_fnr)


def _judged_run(case: Case, aim: Aim) -> Candidate:
    """Return a run as it is promised; ``max_fnr`` of a query, of a whole period its misses.

    Each further episode of a period finds an alarm less, of which quiet cells take some.
    """
    windows, alarm = case.period_windows, replace(case.alarm, aim=aim, open=(), panes="")
    run = run_of(alarm)
    if run is None:
        raise ValueError("only a mechanism with runs has any")
    units = to_loss_units(run.plan.epsilon)
    if windows is None or case.baseline is None:
        false = None if case.baseline is not None else 0.0
        return Candidate(case, alarm, units, false, float(aim.max_fnr))
    most, baseline = float(case.alarm.aim.max_fnr) + 1e-12, _baseline_window(case)
    lasts = [run.endurance(baseline, windows, taken) for taken in range(aim.alarms)]
    sure = sum(each.missed <= most for each in lasts)
    false = lasts[0].unlimited * case.span_windows / windows
    episodes = min(case.alarm.episodes or 1, aim.alarms)
    return Candidate(case, alarm, units, false, lasts[episodes - 1].missed, sure)


def _baseline_window(case: Case) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Return the statistics of a window at its baseline, shape (statistics, cells)."""
    condition = case.alarm.condition
    statistics = np.zeros((condition.statistics, condition.cells), np.int64)
    if case.baseline is not None:
        statistics[case.atom.statistic] = case.baseline
    return statistics
