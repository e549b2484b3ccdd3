"""What ``for``, ``of`` and ``resolve_after`` do to misses and false rings, before any data is read.

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
from stream.model.holds import in_runs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream.model.lifecycles import Lifecycle
    from stream.planning.worth import Worth

__all__ = ["Steadied", "firings", "reaches", "steadied"]

_MOST_STATES: Final = 5_000
_SETTLED: Final = 1e-13


class Steadied(NamedTuple):
    """What a lifecycle makes of one alarm.

    Args:
        missed: of a condition that lasts as many windows as a lifecycle looks at, at most: it does
            not fire in them. Misses are of conditions that hold, or of those that hold with twice
            the tolerance to spare where false alarms are bounded up to the threshold.
        fired_week: false alarms of the fullest week; ``None`` where that is not known.
    """

    missed: float
    fired_week: float | None


def steadied(worth: Worth) -> Steadied | None:
    """Return what a lifecycle does; ``None`` of one that is every alarm.

    Args:
        worth: of the alarm.
    """
    query = worth.query
    terms, miss = query.lifecycle, float(query.aim.max_fnr)
    if terms.every_ring:
        return None
    # Looks at a window share noise, and no other window has any of it.
    independent = not in_runs(query) and mechanism_of(query.mechanism).panes is None
    # However windows depend on each other: so many misses on average, by Markov.
    missed = min(1.0, terms.among * miss / (terms.among - terms.needed + 1))
    if independent:
        missed = 1 - reaches(terms.needed, terms.among, 1 - miss)
    return Steadied(missed, _fired_week(worth, independent=independent))


def reaches(needed: int, among: int, chance: float) -> float:
    """Return how likely at least ``needed`` of ``among`` independent windows ring.

    Args:
        needed: rings.
        among: windows.
        chance: of one.
    """
    terms = (
        comb(among, rings) * chance**rings * (1 - chance) ** (among - rings)
        for rings in range(needed, among + 1)
    )
    return min(1.0, sum(terms))


def firings(terms: Lifecycle, chance: float, windows: int) -> float | None:
    """Return how often one predicate is expected to fire in so many windows, begun in silence.

    Args:
        terms: of the lifecycle.
        chance: to ring in a window, independently of others.
        windows: answered ones.

    Returns:
        ``None`` where a lifecycle remembers too much to add up.
    """
    moves = _moves(terms)
    if moves is None:
        return None
    rung, silent, fires = moves
    mass: NDArray[np.float64] = np.zeros(len(rung))
    mass[0] = 1.0
    total = before = 0.0
    for number in range(windows):
        now = chance * float(mass[fires].sum())
        total += now
        ahead = np.zeros_like(mass)
        np.add.at(ahead, rung, chance * mass)
        np.add.at(ahead, silent, (1 - chance) * mass)
        if float(np.abs(ahead - mass).sum()) < _SETTLED and now == before:
            return total + now * (windows - number - 1)
        mass, before = ahead, now
    return total


def _fired_week(worth: Worth, *, independent: bool) -> float | None:
    """Return how often an alarm fires falsely in a week where all is as usual."""
    terms, usual = worth.query.lifecycle, worth.false
    if usual is None:
        return None
    if not independent:
        return usual.week / terms.needed  # no ring counts towards two firings
    total = 0.0
    for size, chance in usual.alike:
        often = firings(terms, chance, usual.windows)
        if often is None:
            return None
        total += size * often
    return total


def _moves(
    terms: Lifecycle,
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.bool_]] | None:
    """Return what a lifecycle remembers, as a chain that begins with its state 0.

    A state is what rang in the last windows, or for how many windows it has been silent while it
    fires: ``stream.decisions.lifecycle`` moves alike, which the tests compare.

    Returns:
        Shape (states,) each: where a ring leads, where silence leads, whether a ring makes it fire;
        ``None`` where there are too many states.
    """
    first: tuple[bool, ...] | int = ()
    states: dict[tuple[bool, ...] | int, int] = {first: 0}
    rung: list[int] = []
    silent: list[int] = []
    fires: list[bool] = []
    for state in (queue := [first]):
        for rings, leads in ((True, rung), (False, silent)):
            following = _after(state, terms, rings=rings)
            if following not in states:
                if len(states) == _MOST_STATES:
                    return None
                states[following] = len(states)
                queue.append(following)
            leads.append(states[following])
        fires.append(isinstance(state, tuple) and isinstance(_after(state, terms, rings=True), int))
    return np.array(rung), np.array(silent), np.array(fires)


def _after(
    state: tuple[bool, ...] | int, terms: Lifecycle, *, rings: bool
) -> tuple[bool, ...] | int:
    if isinstance(state, int):
        quiet = 0 if rings else state + 1
        return () if quiet == terms.resolve_after else quiet
    window = (*state, rings)[-terms.among :]
    if sum(window) >= terms.needed:
        return 0
    kept = window[1:] if len(window) == terms.among else window
    if terms.needed == terms.among and not all(kept):  # silence begins a new row
        kept = kept[len(kept) - kept[::-1].index(False) :]
    while kept and not kept[0]:
        kept = kept[1:]
    return kept
