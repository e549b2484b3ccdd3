"""What ``for``, ``of`` and ``resolve_after`` do to misses and false alarms: no data is read.

Given the counts, answers of different windows are independent wherever each window is decided by
noise of its own, as by ``tslm``: figures are then exact, from a chain over what a lifecycle
remembers. Where windows share noise, as those of a run or over panes, they are bounds that hold
whatever depends on what, by Markov.
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from operators.registry import mechanism_of
from stream.decisions.lifecycle import moved
from stream.model.holds import in_runs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream.decisions.lifecycle import Memory
    from stream.model.lifecycles import Lifecycle
    from stream.planning.utility import Utility

__all__ = ["Steadied", "firings", "reaches", "steadied"]

_MOST_STATES: Final = 5_000
_SETTLED: Final = 1e-13


class Steadied(NamedTuple):
    """What a lifecycle makes of one alarm.

    Args:
        missed: of a condition that lasts as many windows as a lifecycle remembers, at most: it does
            not fire in them. Misses are of conditions that hold, or of those that hold with twice
            the tolerance to spare where false alarms are bounded up to the threshold.
        fired_week: false alarms of the fullest week; ``None`` where that is not known.
    """

    missed: float
    fired_week: float | None


def steadied(utility: Utility) -> Steadied | None:
    """Return what a lifecycle does; ``None`` of one that is every alarm.

    Args:
        utility: of the alarm.
    """
    alarm = utility.alarm
    terms, miss = alarm.lifecycle, float(alarm.aim.max_fnr)
    if terms.every_window:
        return None
    # Evaluations of a window share noise, and no other window has any of it.
    independent = not in_runs(alarm) and mechanism_of(alarm.mechanism).panes is None
    # However windows depend on each other: so many misses on average, by Markov.
    missed = min(1.0, terms.among * miss / (terms.among - terms.needed + 1))
    if independent:
        missed = 1 - reaches(terms.needed, terms.among, 1 - miss)
    return Steadied(missed, _fired_week(utility, independent=independent))


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


def firings(terms: Lifecycle, chance: float, windows: int) -> float | None:
    """Return how often one group is expected to notify in so many windows, begun without an alarm.

    Args:
        terms: of the lifecycle.
        chance: to fire in a window, independently of others.
        windows: answered ones.

    Returns:
        ``None`` where a lifecycle remembers too much to add up.
    """
    moves = _moves(terms)
    if moves is None:
        return None
    after_firing, after_none, fires = moves
    mass: NDArray[np.float64] = np.zeros(len(after_firing))
    mass[0] = 1.0
    total = before = 0.0
    for number in range(windows):
        now = chance * float(mass[fires].sum())
        total += now
        ahead = np.zeros_like(mass)
        np.add.at(ahead, after_firing, chance * mass)
        np.add.at(ahead, after_none, (1 - chance) * mass)
        settled = float(np.abs(ahead - mass).sum()) < _SETTLED and now == before
        if settled and (now or not chance):  # a small chance has not fired yet
            return total + now * (windows - number - 1)
        mass, before = ahead, now
    return total


def _fired_week(utility: Utility, *, independent: bool) -> float | None:
    """Return how often an alarm fires falsely in a week at the baseline."""
    terms, baseline = utility.alarm.lifecycle, utility.false
    if baseline is None:
        return None
    if not independent:
        return baseline.week / terms.needed  # no window counts towards two firings
    total = 0.0
    for size, chance in baseline.alike:
        often = firings(terms, chance, baseline.windows)
        if often is None:
            return None
        total += size * often
    return total


def _moves(
    terms: Lifecycle,
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.bool_]] | None:
    """Return what a lifecycle remembers, as a chain that begins with its state 0.

    Returns:
        Shape (states,) each: the next state if the window fires, if not, and if firing notifies;
        ``None`` where there are too many states.
    """
    states: dict[Memory, int] = {(): 0}
    leads: list[tuple[int, int]] = []
    notifies: list[bool] = []
    for memory in (queue := list(states)):
        following = [moved(memory, terms, fired=fired) for fired in (True, False)]
        for each in following:
            if each not in states:
                states[each] = len(states)
                queue.append(each)
        if len(states) > _MOST_STATES:
            return None
        leads.append((states[following[0]], states[following[1]]))
        notifies.append(isinstance(following[0], int) and not isinstance(memory, int))
    after_firing, after_none = np.array(leads, np.intp).T
    return after_firing, after_none, np.array(notifies)
