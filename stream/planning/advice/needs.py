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

    from accountant.units import Contribution
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
    tried = (
        *(_epsilon, _window, _windows, _cap, _threshold, _cells, _predicates, _events),
        *(_false_rings, _max_fnr),
    )
    return [need for one in tried for need in one(case)]


def options(case: Case, best: Candidate) -> list[Need]:
    """Return what else would keep all that is wanted, one thing changed, and for how much.

    The least epsilon_max that is enough; and with the best mechanism and as many alarms the least
    tolerance, half the active hours, every cap at 1, and the first longer windows that cost less.

    Args:
        case: what is asked.
        best: what keeps it as it is.
    """
    caps = best.case.budget.contribution
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
        *_capped(alike, NeedKind.PREDICATES, replace(caps, predicates_per_window=1)),
        *_capped(alike, NeedKind.EVENTS, replace(caps, events_per_cell=1)),
    ]
    return [one for one in found if one.candidate.keeps]


def _tighter(case: Case, best: Candidate) -> Iterator[Need]:
    """Yield the least tolerance that is enough, where it is open."""
    if "tolerance" not in case.query.open:
        return

    def keeps(tolerance: int) -> bool:
        return _keeping(case.with_tolerance(tolerance)) is not None

    widest = best.query.aim.tolerances[0]
    least = smallest(keeps, -1, widest)
    kept = None if least in {None, widest} else _keeping(case.with_tolerance(least or 0))
    if kept is not None:
        value = tolerance_text(kept.query, kept.query.aim.tolerances)
        yield Need(NeedKind.TOLERANCE, value, f"tolerance: {value}, the least that fits", kept)


def _longer(case: Case, best: Candidate) -> Iterator[Need]:
    """Yield the first longer windows that keep all and cost less."""
    for need in _windows_longer(case):
        if (need.candidate.worst_units or 0) < (best.worst_units or 0):
            yield need
            return


def _capped(case: Case, kind: NeedKind, caps: Contribution) -> Iterator[Need]:
    """Yield a cap of 1, where it is another now and changes what is charged."""
    if case.budget.unit is PrivacyUnit.EVENT or caps == case.budget.contribution:
        return
    found, before = _keeping(case.with_caps(caps)), cheapest(case)
    if found is not None and (before is None or found.worst_units != before.worst_units):
        yield Need(kind, "1", f"{kind.value}: 1, which counts less of a person", found)


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
        longer = case.with_calendar(stretched(calendar, times).calendar)
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

        def fits(fewer: int) -> bool:
            schedule = shortened(case.query.calendar, fewer, case.timezone)
            return _keeping(case.with_schedule(schedule)) is not None

        if (found := smallest(fits, 0, shorter)) is not None:
            yield from _hours(case, found)
        return

    def keeps(fewer: int) -> bool:
        return _keeping(case.with_windows(most - fewer)) is not None

    if (found := smallest(keeps, 0, most - 1)) is not None:
        left = most - found
        kept = _keeping(case.with_windows(left))
        if kept is not None:
            text = f"fewer active hours: {left} windows a period where there are {most}"
            yield Need(NeedKind.WINDOWS, str(left), text, kept)


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
    caps = case.budget.contribution
    yield from _smaller(
        case,
        NeedKind.PREDICATES,
        caps.predicates_per_window,
        lambda cap: replace(caps, predicates_per_window=cap),
    )


def _events(case: Case) -> Iterator[Need]:
    caps = case.budget.contribution
    yield from _smaller(
        case, NeedKind.EVENTS, caps.events_per_cell, lambda cap: replace(caps, events_per_cell=cap)
    )


def _smaller(
    case: Case, kind: NeedKind, cap: int, caps_of: Callable[[int], Contribution]
) -> Iterator[Need]:
    """Yield the largest smaller cap that is enough."""
    if case.budget.unit is PrivacyUnit.EVENT:
        return

    def capped(fewer: int) -> Candidate | None:
        return _keeping(case.with_caps(caps_of(cap - fewer)))

    found = smallest(lambda fewer: capped(fewer) is not None, 0, cap - 1)
    kept = None if found is None else capped(found)
    if found is not None and kept is not None:
        value = str(cap - found)
        yield Need(kind, value, f"{kind.value}: {value}, which counts less of a person", kept)


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
