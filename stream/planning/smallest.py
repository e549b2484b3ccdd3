"""The smallest change of a configuration that makes its budget carry it.

Each change is looked for by itself, on one alarm and on all alarms of a budget together. Costs are
those of the real operators, planned anew with the changed aim, and verdicts those of the plan
(:mod:`accountant.budget.plan`). Mechanisms are taken to cost no more for a larger tolerance or
max_fnr.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from accountant.budget.loads import loads_of, room_units, worst_of
from accountant.budget.plan import epsilon_needed
from accountant.errors import ConfigError
from accountant.units import to_loss_units
from operators.registry import mechanism_of
from stream.config.alarms.tolerances import aim_with, highest_tolerance, tolerance_text
from stream.decisions.mechanisms import price_of
from stream.model.alarms import has_runs
from stream.model.numbers import decimal
from stream.planning.budget import alarm_costs
from stream.planning.changes import Change, ChangeKind
from stream.planning.search import rounded, rounded_index, smallest
from stream.planning.stretching import WindowTrials, window_text
from stream.planning.switching import another_mechanism
from stream.planning.usefulness import poor_rates, poor_tolerances

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from accountant.budget.plan import ScopePlan
    from operators.base import Plan
    from operators.conditions.condition import Aim
    from stream.model.alarms import Budget
    from stream.model.queries import Query

__all__ = ["smallest_changes"]

_MOST_STEPS = 10_000
_HALF = Fraction(1, 2)


def smallest_changes(
    plan: ScopePlan, queries: Sequence[Query], plans: Mapping[str, Plan], budget: Budget
) -> tuple[Change, ...]:
    """Return the smallest changes after which a budget's plan fits; none when it fits already.

    Looked at are tolerances that span up to 10,000 steps, max_fnr up to 0.5, windows (of hopping
    ones, steps) up to 500 multiples longer that cover as much time as before, and of alarms with
    runs, runs with fewer alarms. With shares none is looked for: there, who gets how many windows
    tells what to change.

    Args:
        plan: of the budget.
        queries: its alarms, in the plan's order.
        plans: worst case of each, by id.
        budget: unit, periods and caps.
    """
    # With another aim an alarm may share its panes otherwise, and cost others something else.
    fixed = any(query.share or query.readers for query in queries)
    if plan.fits or fixed:
        return ()
    bench = _Bench(plan, queries, plans, budget)
    changes = []
    everyone = range(len(queries))
    for chosen in [*([at] for at in everyone), *([list(everyone)] if len(queries) > 1 else [])]:
        changes += [bench.tolerance(chosen), bench.max_fnr(chosen), bench.window(chosen)]
        if any(_keeps_runs(queries[at]) for at in chosen):
            changes.append(bench.alarms_per_period(chosen))
        if len(chosen) == 1:
            other = another_mechanism(chosen[0], plan, queries, plans, budget)
            changes += [] if other is None else [other]
    return (*changes, bench.epsilon_max())


class _Bench:
    """One budget whose alarms are changed on trial."""

    def __init__(
        self,
        plan: ScopePlan,
        queries: Sequence[Query],
        plans: Mapping[str, Plan],
        budget: Budget,
    ) -> None:
        self._scope = plan.terms.scope
        self._wall = plan.terms.epsilon_max_units
        self._gaussian = budget.gaussian
        self._queries = queries
        self._units = [to_loss_units(plans[query.id].epsilon) for query in queries]
        costs = alarm_costs(self._scope, queries, plans, budget)
        self._loads = loads_of(budget.unit, costs)
        self._worst = worst_of(self._loads, self._units)
        self._trials = WindowTrials(plan.terms, queries, costs, budget)
        self._runs = [has_runs(query, budget) for query in queries]
        self._alike = _alike(queries, self._units)
        self._planned: dict[tuple[int, Aim], int | None] = {}

    def tolerance(self, chosen: Sequence[int]) -> Change:
        """Widen tolerances; where there are several, by one factor of three digits."""
        one = len(chosen) == 1 and len(self._queries[chosen[0]].texts) == 1
        widened = self._one_tolerance(*chosen) if one else self._tolerances(chosen)
        values, amount, poor = {}, 0.0, ""
        for at, tolerances in widened.items():
            query = self._queries[at]
            if tolerances != query.aim.tolerances:
                poor = poor or poor_tolerances(query, tolerances)
                values[query.id] = tolerance_text(query, tolerances)
                amount += max(
                    (2 * new + 1) / (2 * old + 1) - 1
                    for new, old in zip(tolerances, query.aim.tolerances, strict=True)
                )
        return self._change(ChangeKind.TOLERANCE, chosen, values, amount, poor)

    def max_fnr(self, chosen: Sequence[int]) -> Change:
        """Raise max_fnr of some alarms; of several, of all that lie below one number."""
        aims = {at: self._queries[at].aim for at in chosen}
        highest = {at: _highest_rate(aim) for at, aim in aims.items()}

        def raised(index: int) -> dict[int, Fraction]:
            return {
                at: max(aim.max_fnr, min(rounded(index), rounded(highest[at])))
                for at, aim in aims.items()
            }

        def fits(index: int) -> bool:
            return self._fits(
                {at: replace(aims[at], max_fnr=rate) for at, rate in raised(index).items()}
            )

        def planned(index: int) -> int | None:
            at = chosen[0]
            return self._units_of(at, replace(aims[at], max_fnr=raised(index)[at]))

        lowest = min(aim.max_fnr for aim in aims.values())
        low = rounded_index(lowest)
        low -= rounded(low) > lowest
        most = max(highest.values())
        units, room = self._worst, self._wall
        if len(chosen) == 1:
            units, room = self._units[chosen[0]], self._room(chosen[0]) or 0
        found = None
        if room and low < most:
            guess = min(rounded_index(_rate_between((lowest, units), None, room)), most)
            if len(chosen) == 1 and (tried := planned(guess)):  # correct the first guess
                second = (rounded(guess), tried)
                guess = rounded_index(_rate_between((lowest, units), second, room))
            found = smallest(fits, low, most, guess)
        values, amount = {}, 0.0
        for at, rate in raised(found).items() if found is not None else ():
            if rate > aims[at].max_fnr:
                values[self._queries[at].id] = decimal(rate)
                amount += float(rate / aims[at].max_fnr) - 1
        poor = poor_rates(map(Fraction, values.values()))
        return self._change(ChangeKind.MAX_FNR, chosen, values, amount, poor)

    def window(self, chosen: Sequence[int]) -> Change:
        """Lengthen the windows of some alarms (of hopping ones, the steps) by whole multiples."""
        possible = len(chosen) > 1 or self._room(chosen[0]) is not None
        found = self._trials.smallest(chosen, self._first_multiple(chosen)) if possible else {}
        values = {
            self._queries[at].id: window_text(each.calendar, self._queries[at].feed.time)
            for at, each in found.items()
        }
        amount = sum(each.times - 1 for each in found.values())
        return self._change(ChangeKind.WINDOW, chosen, values, amount)

    def alarms_per_period(self, chosen: Sequence[int]) -> Change:
        """Take alarms from the runs of some alarms; of several, from all that have most."""
        chosen_aims = {at: self._queries[at].aim for at in chosen}
        aims = {at: aim for at, aim in chosen_aims.items() if _keeps_runs(self._queries[at])}
        most = max(aim.alarms for aim in aims.values())

        def fits(fewer: int) -> bool:
            left = most - fewer
            return self._fits(
                {at: replace(aim, alarms=min(aim.alarms, left)) for at, aim in aims.items()}
            )

        units, room = self._worst, self._wall
        if len(chosen) == 1:
            units, room = self._units[chosen[0]], self._room(chosen[0]) or 0
        found = smallest(fits, 0, most - 1, most - most * room // units) if room else None
        values, amount = {}, 0.0
        for at, aim in aims.items() if found is not None else ():
            left = most - (found or 0)
            if left < aim.alarms:
                values[self._queries[at].id] = str(left)
                amount += aim.alarms / left - 1
        return self._change(ChangeKind.ALARMS, chosen, values, amount)

    def epsilon_max(self) -> Change:
        """Raise the wall itself, to four decimals."""
        needed = epsilon_needed(self._worst, self._gaussian)
        amount = self._worst / self._wall - 1 if self._wall else math.inf
        if self._gaussian is not None:  # rho grows otherwise than what is written
            amount = float(Fraction(needed) / self._gaussian.epsilon) - 1
        values = {self._scope: needed}
        return Change(ChangeKind.EPSILON_MAX, (), values, amount)

    def _change(
        self,
        kind: ChangeKind,
        chosen: Sequence[int],
        values: Mapping[str, str],
        amount: float,
        poor: str = "",
    ) -> Change:
        alarms = tuple(self._queries[at].id for at in chosen)
        return Change(kind, alarms, values, amount if values else math.inf, poor)

    def _one_tolerance(self, at: int) -> dict[int, tuple[int, ...]]:
        query, (highest,) = self._queries[at], self._highest_tolerances(at)

        def fits(tolerance: int) -> bool:
            return self._fits({at: aim_with(query, (tolerance,))})

        guess = self._guessed_tolerance(at)
        if guess is None:
            return {}
        found = smallest(fits, query.aim.tolerances[0], highest, guess)
        return {} if found is None else {at: (found,)}

    def _tolerances(self, chosen: Sequence[int]) -> dict[int, tuple[int, ...]]:
        highest = {at: self._highest_tolerances(at) for at in chosen}

        def widened(index: int) -> dict[int, tuple[int, ...]]:
            return {at: self._widened(at, rounded(index), highest[at]) for at in chosen}

        def worst(index: int) -> int | None:
            return self._worst_with(
                {
                    at: aim_with(self._queries[at], tolerances)
                    for at, tolerances in widened(index).items()
                }
            )

        def fits(index: int) -> bool:
            found = worst(index)
            return found is not None and found <= self._wall

        if not self._wall:
            return {}
        most = rounded_index(Fraction(2 * _MOST_STEPS))
        guess = min(rounded_index(Fraction(self._worst, self._wall)), most)
        if tried := worst(guess):  # losses fall about as the factor grows: correct the first guess
            guess = rounded_index(rounded(guess) * tried / self._wall)
        found = smallest(fits, 0, most, guess)
        return {} if found is None else widened(found)

    def _first_multiple(self, chosen: Sequence[int]) -> int:
        """Return a multiple of windows below which nothing can fit.

        Where tumbling windows always run, each that is m times as long holds m of the others, so
        that of n that touch a period at least n / m are left.
        """
        calendars = [self._queries[at].calendar for at in chosen]
        if any(self._runs[at] for at in chosen):
            return 2
        if any(each.schedule is not None or each.overlap > 1 for each in calendars):
            return 2
        if len(chosen) > 1:
            return max(2, self._worst // (self._wall + 1))
        room = self._room(chosen[0]) or 0
        return max(2, self._units[chosen[0]] // (room + 1))

    def _fits(self, aims: Mapping[int, Aim]) -> bool:
        """Whether the budget carries its alarms with some other aims."""
        worst = self._worst_with(aims)
        return worst is not None and worst <= self._wall

    def _worst_with(self, aims: Mapping[int, Aim]) -> int | None:
        """Return the worst case with some other aims; ``None`` if one cannot be kept."""
        units = list(self._units)
        for at, aim in aims.items():
            planned = self._units_of(at, aim)
            if planned is None:
                return None
            units[at] = planned
        return worst_of(self._loads, units)

    def _units_of(self, at: int, aim: Aim) -> int | None:
        """Return what one cell costs under another aim; ``None`` if it cannot be kept."""
        query = self._queries[at]
        if aim == query.aim:
            return self._units[at]
        key = (self._alike[at], aim)
        if key not in self._planned:
            try:
                plan = price_of(query, aim)
                self._planned[key] = to_loss_units(plan.epsilon)
            except ConfigError:
                self._planned[key] = None
        return self._planned[key]

    def _room(self, at: int) -> int | None:
        """Return the most that one cell of an alarm may cost; ``None`` when 0 is too much."""
        room = room_units(self._loads, self._units, at, self._wall)
        return room or None

    def _highest_tolerances(self, at: int) -> tuple[int, ...]:
        """Return per atom the largest tolerance that is looked at and allowed."""
        query = self._queries[at]
        highest = []
        for name, tolerance in zip(
            query.condition.formula.atoms, query.aim.tolerances, strict=True
        ):
            most = (_MOST_STEPS * query.condition.sensitivity_of(name) - 1) // 2
            most = min(most, highest_tolerance(query, name))
            highest.append(max(tolerance, most))
        return tuple(highest)

    def _widened(self, at: int, factor: Fraction, highest: tuple[int, ...]) -> tuple[int, ...]:
        """Return the tolerances whose uncertain regions are wider by a factor."""
        widths = [(2 * tolerance + 1) * factor for tolerance in self._queries[at].aim.tolerances]
        return tuple(
            min(math.ceil((width - 1) / 2), most)
            for width, most in zip(widths, highest, strict=True)
        )

    def _guessed_tolerance(self, at: int) -> int | None:
        """Return about the one tolerance that is needed; ``None`` when none will do.

        Loss falls about as the uncertain region widens; one trial corrects the first guess.
        """
        room = self._room(at)
        if room is None:
            return None
        highest = self._highest_tolerances(at)
        guess = self._widened(at, Fraction(self._units[at], room), highest)
        tried = self._units_of(at, aim_with(self._queries[at], guess))
        if not tried:
            return guess[0]
        width = Fraction(2 * guess[0] + 1) * tried / room
        return min(math.ceil((width - 1) / 2), highest[0])


def _keeps_runs(query: Query) -> bool:
    return mechanism_of(query.mechanism).run is not None and query.aim.looks == 1


def _alike(queries: Sequence[Query], units: Sequence[int]) -> list[int]:
    """Return, per alarm, the first one that costs the same under the same aim.

    Alarms that differ in their thresholds alone are taken to, unless they contradict it here: the
    worst case is over all statistics, wherever the threshold lies among them.
    """
    firsts: dict[tuple[object, ...], int] = {}
    costs: dict[tuple[object, ...], int] = {}
    contradicted: set[tuple[object, ...]] = set()
    kinds = []
    for at, query in enumerate(queries):
        condition = query.condition
        channels = tuple((each.statistic, tuple(each.offsets)) for each in condition.channels)
        kind = (
            query.mechanism,
            str(condition.formula),
            condition.sensitivities,
            condition.monotone,
            channels,
        )
        kinds.append(kind)
        firsts.setdefault(kind, at)
        if costs.setdefault((*kind, query.aim), units[at]) != units[at]:
            contradicted.add(kind)
    return [at if kind in contradicted else firsts[kind] for at, kind in enumerate(kinds)]


def _rate_between(
    first: tuple[Fraction, int], second: tuple[Fraction, int] | None, room: int
) -> Fraction:
    """Return about the max_fnr that costs ``room``: losses are about linear in its log odds.

    Args:
        first: a max_fnr and what it costs.
        second: another one; a toss of a coin, which costs nothing, if left out.
        room: what it may cost.
    """
    (rate, units), (other, more) = first, second or (_HALF, 0)
    if not 0 < rate < _HALF or not 0 < other <= _HALF or units == more:
        return _HALF
    low, high = (math.log(float((1 - each) / each)) for each in (rate, other))
    odds = low + (high - low) * ((room - units) / (more - units))
    return Fraction(1 / (1 + math.exp(min(max(odds, 0.0), 30.0))))


def _highest_rate(aim: Aim) -> int:
    """Return the index of the largest max_fnr that is looked at and that is no coin's toss."""
    limit = _HALF if aim.max_fpr is None else min(_HALF, 1 - aim.max_fpr)
    index = rounded_index(limit)
    rate = rounded(index)
    coin = rate + (rate if aim.max_fpr is None else aim.max_fpr) >= 1
    return index - 1 if rate > _HALF or coin else index
