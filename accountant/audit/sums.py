"""What was granted, added up again by brute force; it shares no code with the rules that granted.

Every window that was granted must fit under the limit beside the windows before it, in their fixed
order, at what those had become by then: ended ones at their realised loss, open ones at worst. Unit
``user``: in each period that it touches, over all windows, of those with a cap the dearest so many
of each alarm. Unit ``event``: for each row that it covers, at each instant, over the windows that
cover both. Rows are tried one by one, a value for every class that no region and no cell tells
apart; with more than so many rows, only whether a sum over all windows fits is looked at.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

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

_MOST_ROWS: Final = 20_000
_RECENT: Final = 8_192


class _Held(NamedTuple):
    """What a window holds: of one privacy unit, and by cell where that differs."""

    asked: Asked
    units: int
    costs: bytes | None
    is_open: bool


class Sums:
    """Adds up one log, entry by entry."""

    def __init__(self) -> None:
        self._asked: dict[Place, Asked] = {}
        self._held: defaultdict[str, dict[Place, _Held]] = defaultdict(dict)
        self._order: defaultdict[str, list[Place]] = defaultdict(list)
        self._totals: defaultdict[tuple[str, int], int] = defaultdict(int)
        self._few: defaultdict[tuple[str, int], dict[Place, _Held]] = defaultdict(dict)
        self._shapes: dict[tuple[str, str], Shape] = {}
        self._kept: defaultdict[str, int] = defaultdict(int)

    def take(self, entry: Entry, state: State) -> Iterator[str]:
        """Take the next entry, and yield what was granted beyond a limit.

        Args:
            entry: the entry.
            state: what the log comes to with it.
        """
        if isinstance(entry, Registered | Changed):
            self._shapes[entry.query, entry.fingerprint] = entry.shape
        if isinstance(entry, Admitted):
            self._asked.update((_place(asked), asked) for asked in entry.windows)
        if isinstance(entry, Admitted | Answered):
            for one in entry.windows:
                if one.answer is Answer.RESERVED:
                    budget = state.budgets[entry.scope]
                    yield from self._grant(budget, self._asked[_place(one)], one.held_units)
        if isinstance(entry, Ended):
            self._end(entry, state.queries[entry.query].scope)
        if isinstance(entry, Changed | Retired | Recovered):
            for scope, budget in state.budgets.items():
                self._let_go(scope, budget)

    def _grant(self, budget: Budget, asked: Asked, held_units: int | None) -> Iterator[str]:
        """Count a window that was granted, and yield whether it passes the limit."""
        limit = budget.terms.epsilon_max_units
        worst = asked.units * min(asked.cells_per_unit, asked.cells)
        held = _Held(asked, worst if held_units is None else held_units, None, is_open=True)
        self._put(budget.terms.scope, _place(asked), held)
        most = self._by_period(budget, asked) if budget.by_user else self._by_row(budget, asked)
        if most > limit:
            window = f"window [{asked.start_ms}, {asked.end_ms}) of {asked.query!r}"
            yield f"{window} was granted with {most} units held, above the limit of {limit}"

    def _by_period(self, budget: Budget, asked: Asked) -> int:
        """Return the most that a period of a window holds of it and of those before it."""
        scope, found, place = budget.terms.scope, 0, _place(asked)
        for period in asked.periods:
            few: defaultdict[tuple[str, str, int], list[int]] = defaultdict(list)
            for key, one in self._few[scope, period].items():
                if key <= place:
                    few[*_of(one.asked), one.asked.windows_per_period or 0].append(one.units)
            total = sum(sum(sorted(units)[-alarm[2] :]) for alarm, units in few.items())
            total += self._totals[scope, period]
            total += sum(one.loss_units for one in budget.recovered if period in one.periods)
            if total > budget.terms.epsilon_max_units:
                order = self._order[scope]
                later = (self._held[scope][key] for key in order[bisect_right(order, place) :])
                plain = (one for one in later if one.asked.windows_per_period is None)
                total -= sum(one.units for one in plain if period in one.asked.periods)
            found = max(found, total)
        return found

    def _by_row(self, budget: Budget, asked: Asked) -> int:
        """Return the most that a row of a window can have lost to it and to those before it."""
        scope = budget.terms.scope
        order = self._order[scope]
        first = bisect_right(order, asked.start_ms, key=lambda one: one[0])
        last = bisect_right(order, _place(asked))
        held = (self._held[scope][key] for key in order[first:last])
        near = [one for one in held if one.asked.start_ms < asked.end_ms]
        spent = sum(
            one.loss_units
            for one in budget.recovered
            if one.end_ms > asked.start_ms and one.start_ms < asked.end_ms
        )
        most = spent + sum(one.units for one in near)
        if most > budget.terms.epsilon_max_units:
            most = spent + _worst_row(near, asked, self._shapes)
        return most

    def _end(self, entry: Ended, scope: str) -> None:
        place = _place(entry)
        asked = self._asked.pop(place, None)
        held = None
        if asked is not None and entry.settled_units is not None:
            held = _Held(asked, entry.loss_units, entry.costs, is_open=False)
        self._put(scope, place, held)
        order = self._order[scope]
        if len(order) > _RECENT + 2 * self._kept[scope]:
            # No window that follows starts before this, but for those of alarms that come late.
            length = max(end_ms - start_ms for end_ms, _, start_ms in order)
            for key in order:
                if key[0] < entry.start_ms - length and not self._held[scope][key].is_open:
                    del self._held[scope][key]
            self._order[scope] = [one for one in order if one in self._held[scope]]
            self._kept[scope] = len(self._order[scope])

    def _let_go(self, scope: str, budget: Budget) -> None:
        """Take out what was given back without a decision."""
        for place, held in list(self._held[scope].items()):
            if held.is_open and held.asked.window not in budget.charges:
                self._put(scope, place, None)

    def _put(self, scope: str, place: Place, held: _Held | None) -> None:
        before = self._held[scope].pop(place, None)
        if before is not None:
            del self._order[scope][bisect_left(self._order[scope], place)]
        for sign, one in ((-1, before), (1, held)):
            for period in () if one is None else one.asked.periods:
                if one is not None and one.asked.windows_per_period is None:
                    self._totals[scope, period] += sign * one.units
                elif one is not None and sign > 0:
                    self._few[scope, period][place] = one
                else:
                    self._few[scope, period].pop(place, None)
        if held is not None:
            self._held[scope][place] = held
            insort(self._order[scope], place)


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
