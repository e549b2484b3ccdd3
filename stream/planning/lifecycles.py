"""What ``for``, ``of`` and ``resolve_after`` do to misses and false alarms: no data is read.

Given the counts, answers of different windows are independent wherever each window is decided by
noise of its own, as by ``tslm``: what is missed is then exact. Where windows share noise, as those
of a run or over panes, figures are bounds that hold whatever depends on what, by Markov.
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING, NamedTuple

from operators.registry import mechanism_of
from stream.model.holds import in_runs

if TYPE_CHECKING:
    from stream.planning.utility import Utility

__all__ = ["Steadied", "reaches", "steadied"]


class Steadied(NamedTuple):
    """What a lifecycle makes of one alarm.

    Args:
        fired_week: false alarms of the fullest week, at most; ``None`` where that is not known.
        missed: of a condition that lasts as many windows as a lifecycle remembers, at most: it does
            not fire in them. Misses are of conditions that hold, or of those that hold with twice
            the tolerance to spare where false alarms are bounded up to the threshold.
    """

    fired_week: float | None
    missed: float


def steadied(utility: Utility) -> Steadied | None:
    """Return what a lifecycle does; ``None`` of one that is every alarm.

    Args:
        utility: of the alarm.
    """
    alarm, false = utility.alarm, utility.false
    miss, terms = float(alarm.required_fnr or alarm.aim.max_fnr), alarm.lifecycle
    if terms.every_window:
        return None
    if in_runs(alarm) or mechanism_of(alarm.mechanism).panes is not None:
        missed = min(1.0, terms.among * miss / (terms.among - terms.needed + 1))
        # No window counts towards two firings.
        return Steadied(None if false is None else false.week / terms.needed, missed)
    fired = None
    if false is not None:
        # A group fires in a window that fires after enough of those before it did.
        fired = false.windows * sum(
            size * chance * reaches(terms.needed - 1, terms.among - 1, chance)
            for size, chance in false.alike
        )
    return Steadied(fired, 1 - reaches(terms.needed, terms.among, 1 - miss))


def reaches(needed: int, among: int, chance: float) -> float:
    """Return how likely at least ``needed`` of ``among`` independent windows fire.

    Args:
        needed: windows that fire.
        among: windows.
        chance: of one.
    """
    terms = (
        comb(among, fired) * chance**fired * (1 - chance) ** (among - fired)
        for fired in range(needed, among + 1)
    )
    return min(1.0, sum(terms))
