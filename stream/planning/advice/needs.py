"""What would have to change where nothing keeps what is wanted: one thing at a time, with numbers.

Every change is the smallest of its kind after which something useful keeps all that is wanted, by
the search of :func:`stream.planning.advice.search.cheapest`; what is usual is taken to stay so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from accountant.budget.plan import epsilon_needed
from accountant.units import PrivacyUnit, floor_loss_units
from stream.model.numbers import decimal
from stream.model.wanted import FalseRings
from stream.planning.advice.search import cheapest
from stream.planning.search import rounded, rounded_index, smallest
from stream.planning.stretching import covered_share, stretched, window_text
from stream.planning.usefulness import MOST_RATE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from stream.planning.advice.case import Case
    from stream.planning.advice.search import Candidate

__all__ = ["Need", "NeedKind", "needs"]

_LONGER: Final = (2, 3, 4, 5, 6, 8, 10, 12, 15, 24)
_MOST_THRESHOLDS: Final = 8


class NeedKind(StrEnum):
    """What would have to change."""

    EPSILON_MAX = "epsilon_max"
    WINDOW = "window"
    WINDOWS = "windows_per_period"
    THRESHOLD = "threshold"
    CELLS = "cells"
    PREDICATES = "predicates_per_window"
    FALSE_RINGS = "false_rings"
    MAX_FNR = "max_fnr"


@dataclass(frozen=True, slots=True)
class Need:
    """One change after which all that is wanted can be had.

    Args:
        kind: what changes.
        value: to what, for a program.
        text: in words.
        candidate: what then keeps all.
    """

    kind: NeedKind
    value: str
    text: str
    candidate: Candidate


def needs(case: Case) -> list[Need]:
    """Return the smallest change of every kind that is enough; kinds that never are, are left out.

    Args:
        case: what is asked, for which nothing keeps all.
    """
    tried = (_epsilon, _window, _windows, _threshold, _cells, _predicates, _false_rings, _max_fnr)
    return [need for one in tried for need in one(case)]


def _keeping(case: Case) -> Candidate | None:
    found = cheapest(case)
    return found if found is not None and found.keeps else None


def _epsilon(case: Case) -> Iterator[Need]:
    found = cheapest(case)
    if found is not None and found.worst_units is not None:
        wall = floor_loss_units(case.budget.epsilon_max)
        value = epsilon_needed(wall - case.room_units + found.worst_units)
        yield Need(NeedKind.EPSILON_MAX, value, f'epsilon_max: "{value}"', found)


def _window(case: Case) -> Iterator[Need]:
    calendar = case.query.calendar
    for times in _LONGER if case.period_windows else ():
        longer = case.with_calendar(stretched(calendar, times).calendar)
        if not longer.span_windows or longer.query.calendar == calendar:
            return
        if (found := _keeping(longer)) is not None:
            text = window_text(longer.query.calendar, case.query.feed.time)
            words = f"windows of {text}, if as much is usual then"
            share = covered_share(longer.query.calendar, calendar)
            words += f", for {share:.0%} of the time" if share < 1 else ""
            yield Need(NeedKind.WINDOW, text, words, found)
            return


def _windows(case: Case) -> Iterator[Need]:
    most = case.period_windows or 1

    def keeps(fewer: int) -> bool:
        return _keeping(case.with_windows(most - fewer)) is not None

    if (found := smallest(keeps, 0, most - 1)) is not None:
        left = most - found
        kept = _keeping(case.with_windows(left))
        if kept is not None:
            text = f"fewer active hours: {left} windows a period where there are {most}"
            yield Need(NeedKind.WINDOWS, str(left), text, kept)


def _threshold(case: Case) -> Iterator[Need]:
    (name,) = case.query.condition.formula.atoms
    atom = case.query.condition.atoms[name]
    least = int(atom.thresholds.min())
    unit = case.query.aggregates[atom.statistic].per_unit
    if not case.upward or least <= 0 or len(set(atom.thresholds.tolist())) > 1:
        return

    def keeps(further: int) -> bool:
        return _keeping(case.with_threshold(further)) is not None

    found = smallest(keeps, 0, least * (_MOST_THRESHOLDS - 1), 1)
    kept = None if found is None else _keeping(case.with_threshold(found))
    if found is not None and kept is not None:
        value = decimal((least + found) * unit)
        yield Need(NeedKind.THRESHOLD, value, f"a threshold that {value} is the first over", kept)


def _cells(case: Case) -> Iterator[Need]:
    def keeps(fewer: int) -> bool:
        return _keeping(case.with_cells(case.cells - fewer)) is not None

    found = smallest(keeps, 0, case.cells - 1)
    kept = None if found is None else _keeping(case.with_cells(case.cells - found))
    if found is not None and kept is not None:
        left = case.cells - found
        text = f"fewer predicates: {left} where there are {case.cells}"
        yield Need(NeedKind.CELLS, str(left), text, kept)


def _predicates(case: Case) -> Iterator[Need]:
    cap = case.budget.contribution.predicates_per_window
    if case.budget.unit is PrivacyUnit.EVENT:
        return

    def capped(most: int) -> Case:
        caps = replace(case.budget.contribution, predicates_per_window=most)
        return replace(case, budget=replace(case.budget, contribution=caps))

    found = smallest(lambda fewer: _keeping(capped(cap - fewer)) is not None, 0, cap - 1)
    kept = None if found is None else _keeping(capped(cap - found))
    if found is not None and kept is not None:
        text = f"predicates_per_window: {cap - found}, which counts a person in fewer"
        yield Need(NeedKind.PREDICATES, str(cap - found), text, kept)


def _false_rings(case: Case) -> Iterator[Need]:
    def borne(index: int) -> Case:
        return replace(case, wanted=FalseRings(rounded(index), case.wanted.span))

    low = rounded_index(case.wanted.number)
    found = _first_rate(borne, low, low + 4 * 900)
    if found is not None:
        kept = borne(found[0])
        yield Need(
            NeedKind.FALSE_RINGS, kept.wanted.text, f"false_rings: {kept.wanted.text}", found[1]
        )


def _max_fnr(case: Case) -> Iterator[Need]:
    def missing(index: int) -> Case:
        aim = replace(case.query.aim, max_fnr=rounded(index))
        return replace(case, query=replace(case.query, aim=aim))

    if case.query.aim.max_fnr >= MOST_RATE:
        return
    low, high = rounded_index(case.query.aim.max_fnr), rounded_index(MOST_RATE)
    found = _first_rate(missing, low, high)
    if found is not None:
        value = decimal(rounded(found[0]))
        yield Need(NeedKind.MAX_FNR, value, f"max_fnr: {value}", found[1])


def _first_rate(
    changed: Callable[[int], Case], low: int, high: int
) -> tuple[int, Candidate] | None:
    """Return the first index above ``low`` after which something keeps all, with that."""
    found = smallest(lambda index: _keeping(changed(index)) is not None, low, high)
    kept = None if found is None else _keeping(changed(found))
    return None if found is None or kept is None else (found, kept)
