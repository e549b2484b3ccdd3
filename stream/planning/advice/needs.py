"""What a change of one thing does: where nothing keeps what is wanted, and where something does.

A need is the smallest change of its kind after which something useful keeps all that is wanted; an
option is one that keeps it, too, and what it would cost. Both are by the search of
:func:`stream.planning.advice.search.cheapest`; what is usual is taken to stay so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Final

from accountant.budget.plan import epsilon_needed
from accountant.units import PrivacyUnit, floor_loss_units
from stream.config.alarms.tolerances import tolerance_text
from stream.model.numbers import decimal
from stream.model.wanted import FalseRings
from stream.planning.advice.hours import most_shortened, shortened
from stream.planning.advice.search import capped, cheapest
from stream.planning.search import rounded, rounded_index, smallest
from stream.planning.stretching import covered_share, stretched, window_text
from stream.planning.usefulness import MOST_RATE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from stream.planning.advice.candidates import Candidate
    from stream.planning.advice.case import Case

__all__ = ["Need", "NeedKind", "beyond_cap", "needs", "options"]

_LONGER: Final = (2, 3, 4, 5, 6, 8, 10, 12, 15, 24)
_MOST_THRESHOLDS: Final = 8


class NeedKind(StrEnum):
    """What would have to change."""

    EPSILON_MAX = "epsilon_max"
    WINDOW = "window"
    WINDOWS = "active"
    CAP = "windows_per_period"
    THRESHOLD = "threshold"
    CELLS = "cells"
    PREDICATES = "predicates_per_window"
    EVENTS = "events_per_cell"
    TOLERANCE = "tolerance"
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
        active: the schedule to write, where hours change.
    """

    kind: NeedKind
    value: str
    text: str
    candidate: Candidate
    active: str | None = None


def needs(case: Case) -> list[Need]:
    """Return the smallest change of every kind that is enough; kinds that never are, are left out.

    Args:
        case: what is asked, for which nothing keeps all.
    """
    changes = (_epsilon, _window, _windows, _cap, _threshold, _cells, _caps, _false_rings, _max_fnr)
    return [need for change in changes for need in change(case)]


def options(case: Case, best: Candidate) -> list[Need]:
    """Return what else would keep all that is wanted, one thing changed, and for how much.

    The least epsilon_max that is enough; and with the best mechanism and as many alarms the least
    tolerance, half the active hours, every cap at 1, and the first longer windows that cost less.

    Args:
        case: what is asked.
        best: what keeps it as it is.
    """
    left = tuple(k for k in case.query.open if k not in {"mechanism", "alarms_per_period"})
    aim = replace(best.case.query.aim, alarms=best.query.aim.alarms)
    query = replace(best.case.query, mechanism=best.mechanism, open=left, aim=aim, panes="")
    alike = replace(best.case, query=query)
    found = [
        *_tighter(alike, best),
        *_epsilon(case),
        *_longer(alike, best),
        *_hours(alike, most_shortened(alike.query.calendar) // 2),
        *(() if best.cap else _cap(case)),
        *_capped(alike, NeedKind.PREDICATES),
        *_capped(alike, NeedKind.EVENTS),
    ]
    return [one for one in found if one.candidate.keeps]


def _tighter(case: Case, best: Candidate) -> Iterator[Need]:
    """Yield the least tolerance that is enough, where it is open."""
    if "tolerance" not in case.query.open:
        return
    widest = best.query.aim.tolerances[0]
    for least, kept in _first(case.with_tolerance, -1, widest):
        if least == widest:
            return
        value = tolerance_text(kept.query, kept.query.aim.tolerances)
        yield Need(NeedKind.TOLERANCE, value, f"tolerance: {value}, the least that fits", kept)


def _longer(case: Case, best: Candidate) -> Iterator[Need]:
    """Yield the first longer windows that keep all and cost less."""
    for need in _windows_longer(case):
        if (need.candidate.worst_units or 0) < (best.worst_units or 0):
            yield need
            return


def _capped(case: Case, kind: NeedKind) -> Iterator[Need]:
    """Yield a cap of 1, where it is another now and changes what is charged."""
    fewer = case.with_caps(**{kind: 1})
    if case.budget.unit is PrivacyUnit.EVENT or fewer.budget == case.budget:
        return
    found, before = _keeping(fewer), cheapest(case)
    if found is not None and (before is None or found.worst_units != before.worst_units):
        yield _counting_less(kind, 1, found)


def _keeping(case: Case) -> Candidate | None:
    if not case.span_windows:
        return None
    found = cheapest(case)
    return found if found is not None and found.keeps else None


def _epsilon(case: Case) -> Iterator[Need]:
    found = cheapest(case)
    if found is not None and found.worst_units is not None:
        wall = case.budget.wall_units
        value = epsilon_needed(wall - found.case.room_units + found.worst_units)
        room = found.case.room_units + floor_loss_units(Fraction(value)) - wall
        fitting = replace(found, case=replace(found.case, room_units=room))
        yield Need(NeedKind.EPSILON_MAX, value, f'epsilon_max: "{value}"', fitting)


def _cap(case: Case) -> Iterator[Need]:
    """Yield the widest cap over a period that fits, which is another condition for who stays."""
    found = capped(case)
    if found is not None and found.cap:
        text = f"windows_per_period: {found.cap}, {beyond_cap(found)}"
        yield Need(NeedKind.CAP, str(found.cap), text, found)


def beyond_cap(found: Candidate) -> str:
    """Return what a cap over a period leaves out, in words.

    Args:
        found: has one that is not written yet.
    """
    few = "one" if found.cap == 1 else found.cap
    return (
        f"so that who is in more of a period's {found.case.period_windows} windows counts in the"
        f" first {few} alone"
    )


def _window(case: Case) -> Iterator[Need]:
    yield from islice(_windows_longer(case), 1)


def _windows_longer(case: Case) -> Iterator[Need]:
    """Yield longer windows that keep all, shortest first."""
    calendar = case.query.calendar
    for times in _LONGER if case.period_windows else ():
        longer = case.with_calendar(stretched(calendar, times))
        if not longer.span_windows or longer.query.calendar == calendar:
            return
        if (found := _keeping(longer)) is not None:
            text = window_text(longer.query.calendar, case.query.feed.time)
            words = f"windows of {text}, if as much is usual then"
            share = covered_share(longer.query.calendar, calendar)
            words += f", for {share:.0%} of the time" if share < 1 else ""
            yield Need(NeedKind.WINDOW, text, words, found)


def _windows(case: Case) -> Iterator[Need]:
    """Yield fewer windows a period: as a schedule to write, where one leaves them out."""
    most = case.period_windows or 1
    shorter = most_shortened(case.query.calendar)
    if shorter and case.period_windows:

        def shorten(fewer: int) -> Case:
            return case.with_schedule(shortened(case.query.calendar, fewer, case.timezone))

        for fewer, _ in _first(shorten, 0, shorter):
            yield from _hours(case, fewer)
        return
    for fewer, kept in _first(lambda fewer: case.with_windows(most - fewer), 0, most - 1):
        text = f"fewer active hours: {most - fewer} windows a period where there are {most}"
        yield Need(NeedKind.WINDOWS, str(most - fewer), text, kept)


def _hours(case: Case, fewer: int) -> Iterator[Need]:
    """Yield a schedule whose intervals are so many windows shorter, if that keeps all."""
    if not fewer or not case.period_windows:
        return
    schedule = shortened(case.query.calendar, fewer, case.timezone)
    open_less = case.with_schedule(schedule)
    if (kept := _keeping(open_less)) is not None:
        left = open_less.period_windows
        text = (
            f"fewer active hours: {left} windows a period where there are {case.period_windows},"
            f' as active: "{schedule.text}"'
        )
        yield Need(NeedKind.WINDOWS, str(left), text, kept, schedule.text)


def _threshold(case: Case) -> Iterator[Need]:
    least, *others = set(case.atom.thresholds.tolist())
    if not case.upward or least <= 0 or others:
        return
    for found, kept in _first(case.with_threshold, 0, least * (_MOST_THRESHOLDS - 1), near=True):
        value = decimal((least + found) * case.per_unit)
        yield Need(NeedKind.THRESHOLD, value, f"a threshold that {value} is the first over", kept)


def _cells(case: Case) -> Iterator[Need]:
    cells = case.cells
    for fewer, kept in _first(lambda fewer: case.with_cells(cells - fewer), 0, cells - 1):
        text = f"fewer predicates: {cells - fewer} where there are {cells}"
        yield Need(NeedKind.CELLS, str(cells - fewer), text, kept)


def _caps(case: Case) -> Iterator[Need]:
    """Yield the largest smaller cap of each kind that is enough."""
    if case.budget.unit is PrivacyUnit.EVENT:
        return
    for kind in (NeedKind.PREDICATES, NeedKind.EVENTS):
        cap: int = getattr(case.budget.contribution, kind)

        def capped(below: int, kind: NeedKind = kind) -> Case:
            return case.with_caps(**{kind: -below})

        for below, kept in _first(capped, -cap, -1):
            yield _counting_less(kind, -below, kept)


def _counting_less(kind: NeedKind, cap: int, kept: Candidate) -> Need:
    return Need(kind, str(cap), f"{kind.value}: {cap}, which counts less of a person", kept)


def _false_rings(case: Case) -> Iterator[Need]:
    def borne(index: int) -> Case:
        return replace(case, wanted=FalseRings(rounded(index), case.wanted.span))

    low = rounded_index(case.wanted.number)
    for _, kept in _first(borne, low, low + 4 * 900):
        value = kept.case.wanted.text
        yield Need(NeedKind.FALSE_RINGS, value, f"false_rings: {value}", kept)


def _max_fnr(case: Case) -> Iterator[Need]:
    def missing(index: int) -> Case:
        aim = replace(case.query.aim, max_fnr=rounded(index))
        return replace(case, query=replace(case.query, aim=aim))

    if case.query.aim.max_fnr >= MOST_RATE:
        return
    low, high = rounded_index(case.query.aim.max_fnr), rounded_index(MOST_RATE)
    for index, kept in _first(missing, low, high):
        value = decimal(rounded(index))
        yield Need(NeedKind.MAX_FNR, value, f"max_fnr: {value}", kept)


def _first(
    changed: Callable[[int], Case], low: int, high: int, *, near: bool = False
) -> Iterator[tuple[int, Candidate]]:
    """Yield the first number above ``low`` after which something keeps all, with that; or nothing.

    See :func:`stream.planning.search.smallest`.
    """
    found = smallest(lambda number: _keeping(changed(number)) is not None, low, high, near=near)
    kept = None if found is None else _keeping(changed(found))
    if found is not None and kept is not None:
        yield found, kept
