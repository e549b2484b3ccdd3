"""What was granted, added up again by brute force; it shares no code with the rules that granted.

Every window that was granted must fit under the limit beside the windows before it, in their fixed
order, at what those had become by then: ended ones at their realised loss, open ones at worst. Unit
``user``: in each period that it touches, over all windows, of those with a cap the dearest so many
of each alarm. Unit ``event``: for each row that it covers, at each instant, over the windows that
cover both. Rows are tried one by one, a value for every class that no region and no cell tells
apart; with more than so many rows, only whether a sum over all windows fits is looked at.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import defaultdict
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from accountant.costs.levels import LevelCosts
from accountant.log.entries import (
    Admitted,
    Answered,
    Asked,
    Changed,
    Ended,
    Recovered,
    Registered,
    Retired,
)
from accountant.records import Answer
from accountant.regions.groupings import grouping_of
from accountant.regions.regions import elementary

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from accountant.log.entries import Entry, Given
    from accountant.log.state import Budget, State
    from accountant.regions.regions import Value
    from accountant.regions.shapes import Shape
    from accountant.regions.valuesets import ValueSet

__all__ = ["Sums"]

Place: TypeAlias = tuple[int, str, int]
"""A window, so that they sort in the fixed order: its end, its query, its start."""

_PENDING, _RESERVED = Answer.PENDING, Answer.RESERVED
_MOST_ROWS: Final = 20_000
_RECENT: Final = 8_192


class _Held(msgspec.Struct, frozen=True, gc=False):  # made faster than a named tuple
    """What a window holds: of one privacy unit, and by cell where that differs."""

    asked: Asked
    units: int
    costs: bytes | None
    is_open: bool


class Sums:
    """Adds up one log, entry by entry."""

    def __init__(self) -> None:
        self._pending: dict[Place, Asked] = {}
        self._sums: defaultdict[str, _Sum] = defaultdict(_Sum)
        self._shapes: dict[tuple[str, str], Shape] = {}

    def take(self, entry: Entry, state: State) -> Iterable[str]:
        """Take the next entry, and return what was granted beyond a limit.

        Args:
            entry: the entry.
            state: what the log comes to with it.
        """
        if isinstance(entry, Ended):
            self._end(entry, state.queries[entry.query].scope)
            return ()
        return list(self._taken(entry, state))

    def _taken(self, entry: Entry, state: State) -> Iterator[str]:
        if isinstance(entry, Registered | Changed):
            self._shapes[entry.query, entry.fingerprint] = entry.shape
        if isinstance(entry, Admitted | Answered):
            for one in entry.windows:
                asked = one if isinstance(one, Asked) else self._pending.pop(_place(one))
                if one.answer is _PENDING:
                    self._pending[_place(asked)] = asked
                elif one.answer is _RESERVED:
                    yield from self._grant(state.budgets[entry.scope], asked, one.held_units)
        if isinstance(entry, Changed | Retired | Recovered):
            for scope, budget in state.budgets.items():
                self._sums[scope].let_go(budget)

    def _grant(self, budget: Budget, asked: Asked, held_units: int | None) -> Iterator[str]:
        """Count a window that was granted, and yield whether it passes the limit."""
        mine, limit = self._sums[budget.terms.scope], budget.terms.epsilon_max_units
        if held_units is None:
            held_units = asked.units * min(asked.cells_per_unit, asked.cells)
        place = _place(asked)
        mine.put(place, _Held(asked, held_units, None, True))
        if budget.by_user:
            most = mine.by_period(budget, asked, place)
        else:
            most = self._by_row(mine, budget, asked)
        if most > limit:
            window = f"window [{asked.start_ms}, {asked.end_ms}) of {asked.query!r}"
            yield f"{window} was granted with {most} units held, above the limit of {limit}"

    def _by_row(self, mine: _Sum, budget: Budget, asked: Asked) -> int:
        """Return the most that a row of a window can have lost to it and to those before it."""
        spent = sum(
            one.loss_units
            for one in budget.recovered
            if one.end_ms > asked.start_ms and one.start_ms < asked.end_ms
        )
        most = spent + mine.beside(asked)
        if most > budget.terms.epsilon_max_units:
            near = mine.near(asked)
            most = spent + sum(one.units for one in near)
            if most > budget.terms.epsilon_max_units:
                most = spent + _worst_row(near, asked, self._shapes)
        return most

    def _end(self, entry: Ended, scope: str) -> None:
        place, mine = _place(entry), self._sums[scope]
        self._pending.pop(place, None)
        known = mine.at(place)
        if known is not None:
            became = None
            if entry.settled_units is not None:
                became = _Held(known.asked, entry.loss_units, entry.costs, False)
            mine.put(place, became)
        mine.forget(entry.start_ms)


class _Sum:
    """What the windows of one budget hold."""

    def __init__(self) -> None:
        self._held: dict[int, dict[Place, _Held]] = {}
        """By end of windows."""
        self._ends: list[int] = []
        self._totals: defaultdict[int, int] = defaultdict(int)
        """Of windows without a cap, by period."""
        self._few: defaultdict[int, dict[Place, _Held]] = defaultdict(dict)
        """Windows with one, by period."""
        self._spans: defaultdict[int, dict[int, int]] = defaultdict(dict)
        """Unit ``event``: of windows of one end and start."""
        self._kept = 0
        self._new = 0

    def at(self, place: Place) -> _Held | None:
        """Return what a window holds."""
        there = self._held.get(place[0])
        return None if there is None else there.get(place)

    def put(self, place: Place, held: _Held | None) -> None:
        """Count what a window holds, in place of what it held; ``None`` for nothing."""
        there = self._held.get(place[0])
        if there is None:
            there = self._held[place[0]] = {}
            insort(self._ends, place[0])
        before = there.pop(place, None)
        if before is None:
            self._new += 1
        else:
            self._count(place, before, -before.units)
        if held is not None:
            there[place] = held
            self._count(place, held, held.units)

    def _count(self, place: Place, held: _Held, units: int) -> None:
        """Add to what a window is part of; less than nothing takes it out."""
        asked = held.asked
        if not asked.periods:
            starts = self._spans[place[0]]
            starts[place[2]] = starts.get(place[2], 0) + units
        for period in asked.periods:
            if asked.windows_per_period is None:
                self._totals[period] += units
            elif self.at(place) is held:
                self._few[period][place] = held
            else:
                self._few[period].pop(place, None)

    def by_period(self, budget: Budget, asked: Asked, place: Place) -> int:
        """Return the most that a period of a window holds of it and of those before it."""
        found, limit = 0, budget.terms.epsilon_max_units
        for period in asked.periods:
            total = self._totals[period]
            if period in self._few:
                few: defaultdict[tuple[str, str, int], list[int]] = defaultdict(list)
                for key, one in self._few[period].items():
                    if key <= place:
                        few[*_of(one.asked), one.asked.windows_per_period or 0].append(one.units)
                total += sum(sum(sorted(units)[-alarm[2] :]) for alarm, units in few.items())
            if budget.recovered:
                total += sum(one.loss_units for one in budget.recovered if period in one.periods)
            if total > limit:
                there = (
                    one
                    for end_ms in self._after(place[0] - 1)
                    for one in self._held[end_ms].items()
                )
                later = (
                    one
                    for key, one in there
                    if key > place and one.asked.windows_per_period is None
                )
                total -= sum(one.units for one in later if period in one.asked.periods)
            if total > found:  # noqa: PLR1730  # a third of the time that `max` takes
                found = total
        return found

    def beside(self, asked: Asked) -> int:
        """Return what all windows hold that overlap one, itself and later ones included."""
        total, until_ms = 0, asked.end_ms
        for end_ms in self._after(asked.start_ms):
            for start_ms, units in self._spans[end_ms].items():
                if start_ms < until_ms:
                    total += units
        return total

    def near(self, asked: Asked) -> list[_Held]:
        """Return what holds of those that overlap a window, up to it in their order."""
        place = _place(asked)
        there = (
            one for end_ms in self._after(asked.start_ms) for one in self._held[end_ms].items()
        )
        return [one for key, one in there if key <= place and one.asked.start_ms < asked.end_ms]

    def _after(self, end_ms: int) -> list[int]:
        """Return the ends of windows that come after an instant."""
        return self._ends[bisect_right(self._ends, end_ms) :]

    def forget(self, start_ms: int) -> None:
        """Drop what no window can overlap that follows on one which starts then.

        None starts before it by more than a length, but for those of alarms that come late.
        """
        if self._new <= _RECENT + self._kept:
            return
        each = [key for there in self._held.values() for key in there]
        until_ms = start_ms - max((end_ms - start_ms for end_ms, _, start_ms in each), default=0)
        for key in each:
            if key[0] < until_ms and not self._held[key[0]][key].is_open:
                del self._held[key[0]][key]
        self._held = {end_ms: there for end_ms, there in self._held.items() if there}
        self._ends = [one for one in self._ends if one in self._held]
        for end_ms in self._spans.keys() - self._held.keys():
            del self._spans[end_ms]
        self._kept, self._new = sum(map(len, self._held.values())), 0

    def let_go(self, budget: Budget) -> None:
        """Take out what was given back without a decision."""
        each = [one for there in self._held.values() for one in there.items()]
        for place, held in each:
            if held.is_open and held.asked.window not in budget.charges:
                self.put(place, None)


def _worst_row(near: Sequence[_Held], asked: Asked, shapes: Mapping[tuple[str, str], Shape]) -> int:
    """Return the most that a row which a window covers can have lost, itself included."""
    known = {_of(one.asked): shapes[_of(one.asked)] for one in near}
    instants = sorted({max(one.asked.start_ms, asked.start_ms) for one in near})
    worst = 0
    for row in _rows(known.values()):
        if _cell(known[_of(asked)], row, asked.cells) is None:
            continue
        lost = [(one.asked, _loss(one, known[_of(one.asked)], row)) for one in near]
        for at_ms in instants:
            worst = max(worst, sum(u for one, u in lost if one.start_ms <= at_ms < one.end_ms))
    return worst


def _place(window: Asked | Given | Ended) -> Place:
    return window.end_ms, window.query, window.start_ms


def _of(asked: Asked) -> tuple[str, str]:
    return asked.query, asked.fingerprint


def _rows(shapes: Iterable[Shape]) -> Iterator[Mapping[str, Value]]:
    """Yield a row of every kind that some shapes tell apart."""
    sets: defaultdict[str, list[ValueSet]] = defaultdict(list)
    for shape in shapes:
        region, cells = shape.as_region, grouping_of(shape.grouping)
        for name in region.attributes:
            sets[name].append(region.values(name))
        if cells is not None:
            for name, values in zip(cells.attributes, cells.values, strict=True):
                sets[name].extend(values)
    witnesses = {name: [one.witness for one in elementary(mine)] for name, mine in sets.items()}
    if prod(map(len, witnesses.values())) > _MOST_ROWS:
        return
    for row in product(*witnesses.values()):
        yield dict(zip(witnesses, row, strict=True))


def _cell(shape: Shape, row: Mapping[str, Value], cells: int) -> int | None:
    """Return the cell that a row is in: -1 where nobody knows which, ``None`` where in none."""
    region, grouping = shape.as_region, grouping_of(shape.grouping)
    if region.empty or any(row[name] not in region.values(name) for name in region.attributes):
        return None
    if grouping is None or grouping.cells != cells:
        return -1
    cell = 0
    for name, values in zip(grouping.attributes, grouping.values, strict=True):
        mine = next((at for at, one in enumerate(values) if row[name] in one), None)
        if mine is None:
            return None
        cell = cell * len(values) + mine
    return cell


def _loss(held: _Held, shape: Shape, row: Mapping[str, Value]) -> int:
    cell = _cell(shape, row, held.asked.cells)
    if cell is None:
        return 0
    if held.costs is None:
        return held.units
    costs = LevelCosts.decode(held.costs)
    return costs.units(cell) if cell >= 0 else min(costs.levels)
