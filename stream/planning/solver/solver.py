"""How alarms can be had: the best way of each, or the least that would have to change.

Alarms that leave something open are solved in the order of the file. Each is first given the
cheapest way there is; then each in turn may take what the budget has left beside all others, so
that runs get as many alarms as fit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from stream.planning.budget import budget_plan
from stream.planning.solver.case import case_of
from stream.planning.solver.changes import changes_of
from stream.planning.solver.search import as_written, best_of, cheapest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream.model.alarm import Alarm
    from stream.model.alarms import Alarms
    from stream.planning.solver.candidates import Candidate
    from stream.planning.solver.changes import Change

__all__ = ["Solved", "as_solved", "solve"]


@dataclass(frozen=True, eq=False)
class Solved:
    """What was found for one alarm.

    Args:
        alarm: the alarm as it was asked for.
        found: what meets every requirement; ``None`` where nothing does.
        written: what an alarm does that says how it is run, whether or not it keeps that.
        changes: the smallest changes after which something does, where nothing does.
        why: why nothing can be said, where that is so.
    """

    alarm: Alarm
    found: Candidate | None
    changes: tuple[Change, ...] = ()
    why: str = ""
    written: Candidate | None = None


def solve(alarms: Alarms) -> tuple[Solved, ...]:
    """Solve every alarm that leaves something open, and check every other, in order.

    Of an alarm that says how it is run nothing is searched: it meets its requirements within
    the budget, or it is said what would have to change.

    Args:
        alarms: the configuration, open alarms included.
    """
    standing = _with_cheapest(alarms)
    solved: list[Solved] = []
    fits = not alarms.open and budget_plan(alarms).fits
    for alarm in (*alarms.by_name.values(), *alarms.open.values()):
        one = _solved(alarm, standing, fits=fits)
        solved.append(one)
        if one.found is not None and alarm.open:
            standing = one.found.joined
    return tuple(solved)


def as_solved(alarms: Alarms, solved: Sequence[Solved]) -> Alarms:
    """Return the configuration with what was found in place of open alarms, ready to be planned.

    Alarms for which nothing was found are left out.
    """
    for one in solved:
        if one.alarm.open and one.found is not None:
            alarms = one.found.beside(alarms)
    return replace(alarms, open={})


def _solved(alarm: Alarm, standing: Alarms, *, fits: bool) -> Solved:
    if not alarm.open and alarm.false_alarms is None and fits:
        return Solved(alarm, None, why="nothing is required of it")
    case = case_of(alarm, standing)
    if isinstance(case, str):
        return Solved(alarm, None, why=case)
    found = best_of(case) if alarm.open else as_written(case)
    written = None if alarm.open else found
    if found is not None and found.keeps:
        return Solved(alarm, found, written=written)
    return Solved(alarm, None, tuple(changes_of(case)), written=written)


def _with_cheapest(alarms: Alarms) -> Alarms:
    """Return the configuration with the cheapest way of every open alarm beside the others."""
    for alarm in alarms.open.values():
        case = case_of(alarm, alarms)
        found = None if isinstance(case, str) else cheapest(case)
        if found is not None and found.fits:
            alarms = found.beside(alarms)
    return alarms
