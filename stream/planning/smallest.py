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

from accountant.budget.loads import loads_of, worst_of
from accountant.budget.plan import epsilon_needed
from accountant.errors import ConfigError
from accountant.units import PrivacyUnit, to_loss_units
from stream.config.alarms.tolerances import aim_with, highest_tolerance, tolerance_text
from stream.decisions.mechanisms import price_of
from stream.model.alarms import has_runs
from stream.model.holds import in_runs
from stream.model.numbers import decimal
from stream.planning.budget import alarm_costs, periods_of
from stream.planning.changes import Change, ChangeKind
from stream.planning.search import index_within, rounded, rounded_index, smallest
from stream.planning.stretching import covered_share, longest_stretch, stretched, window_text
from stream.planning.switching import another_mechanism
from stream.planning.usefulness import poor_rates, poor_tolerances

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from accountant.budget.plan import ScopePlan
    from operators.base import Plan
    from operators.conditions.condition import Aim
    from stream.model.alarms import Budget
    from stream.model.queries import Query
    from stream.windows.calendars import Calendar

__all__ = ["smallest_changes"]

_MOST_STEPS = 10_000
_MOST_TRIALS = 500
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
        if any(in_runs(queries[at]) for at in chosen):
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
        self._budget, self._queries = budget, queries
        self._costs = alarm_costs(self._scope, queries, plans, budget)
        self._units = [cost.epsilon_units for cost in self._costs]
        self._loads = loads_of(budget.unit, self._costs)
        self._worst = worst_of(self._loads, self._units)
        self._table = periods_of(budget)
        if self._table is not None:
            units = {cost.query: cost.epsilon_units for cost in self._costs}
            self._totals = self._table.losses(queries, units, budget)
            self._counts = [self._table.charged(query.calendar, budget, query) for query in queries]

    def tolerance(self, chosen: Sequence[int]) -> Change:
        """Widen tolerances; where there are several, by one factor of three digits."""
        highest = {at: self._highest_tolerances(at) for at in chosen}
        low, most = 0, rounded_index(Fraction(2 * _MOST_STEPS))
        one = len(chosen) == 1 and len(self._queries[chosen[0]].texts) == 1
        if one:
            ((low,), (most,)) = self._queries[chosen[0]].aim.tolerances, highest[chosen[0]]

        def widened(number: int) -> dict[int, Aim]:
            return {
                at: aim_with(
                    self._queries[at],
                    (number,) if one else self._widened(at, rounded(number), highest[at]),
                )
                for at in chosen
            }

        def growth(aim: Aim, own: Aim) -> float:
            pairs = zip(aim.tolerances, own.tolerances, strict=True)
            return max((2 * new + 1) / (2 * old + 1) - 1 for new, old in pairs)

        return self._smallest(
            ChangeKind.TOLERANCE,
            chosen,
            (widened, low, most),
            lambda query, aim: tolerance_text(query, aim.tolerances),
            growth,
            poor=lambda query, aim: poor_tolerances(query, aim.tolerances),
        )

    def max_fnr(self, chosen: Sequence[int]) -> Change:
        """Raise max_fnr of some alarms; of several, of all that lie below one number."""
        aims = {at: self._queries[at].aim for at in chosen}
        highest = {at: _highest_rate(aim) for at, aim in aims.items()}

        def raised(index: int) -> dict[int, Aim]:
            return {
                at: replace(aim, max_fnr=max(aim.max_fnr, rounded(min(index, highest[at]))))
                for at, aim in aims.items()
            }

        lowest = min(aim.max_fnr for aim in aims.values())
        low = index_within(lowest)
        return self._smallest(
            ChangeKind.MAX_FNR,
            chosen,
            (raised, low, max(highest.values())),
            lambda _, aim: decimal(aim.max_fnr),
            lambda aim, own: float(aim.max_fnr / own.max_fnr) - 1,
            poor=lambda _, aim: poor_rates([aim.max_fnr]),
        )

    def window(self, chosen: Sequence[int]) -> Change:
        """Lengthen the windows of some alarms (of hopping ones, the steps) by whole multiples."""
        values, amount = {}, 0
        own = {at: self._queries[at].calendar for at in chosen}
        most = {at: longest_stretch(calendar, self._table) for at, calendar in own.items()}
        first = self._first_multiple(chosen)
        last = min(max(most.values()), first + _MOST_TRIALS) if self._possible(chosen) else 0
        for times in range(first, last + 1):
            tried = {at: min(times, most[at]) for at in chosen if most[at] > 1}
            longer = {at: stretched(own[at], each) for at, each in tried.items()}
            if self._fits_over(longer) and all(
                covered_share(calendar, own[at]) >= 1 for at, calendar in longer.items()
            ):
                for at, calendar in longer.items():
                    query = self._queries[at]
                    values[query.id] = window_text(calendar, query.feed.time)
                amount = sum(tried.values()) - len(tried)
                break
        return self._change(ChangeKind.WINDOW, chosen, values, amount)

    def alarms_per_period(self, chosen: Sequence[int]) -> Change:
        """Take alarms from the runs of some alarms; of several, from all that have most."""
        aims = {at: self._queries[at].aim for at in chosen if in_runs(self._queries[at])}
        most = max(aim.alarms for aim in aims.values())

        def fewer(number: int) -> dict[int, Aim]:
            left = most - number
            return {at: replace(aim, alarms=min(aim.alarms, left)) for at, aim in aims.items()}

        return self._smallest(
            ChangeKind.ALARMS,
            chosen,
            (fewer, 0, most - 1),
            lambda _, aim: str(aim.alarms),
            lambda aim, own: own.alarms / aim.alarms - 1,
        )

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

    def _smallest(
        self,
        kind: ChangeKind,
        chosen: Sequence[int],
        search: tuple[Callable[[int], Mapping[int, Aim]], int, int],
        text: Callable[[Query, Aim], str],
        growth: Callable[[Aim, Aim], float],
        *,
        poor: Callable[[Query, Aim], str] = lambda _query, _aim: "",
    ) -> Change:
        """Return the change to the first aims with which the budget carries its alarms.

        Args:
            kind: what is changed.
            chosen: positions of the alarms.
            search: the aims by a number, one that is too low and the largest that is looked at.
            text: what to write for an alarm's aim.
            growth: by what share of itself a number of an aim has grown from the alarm's own.
            poor: what is wrong with an aim; empty where nothing is.
        """
        aims, low, high = search
        found = None
        if self._possible(chosen):
            found = smallest(lambda number: self._fits(aims(number)), low, high, near=True)
        changed = [
            (self._queries[at], aim)
            for at, aim in ({} if found is None else aims(found)).items()
            if aim != self._queries[at].aim
        ]
        return self._change(
            kind,
            chosen,
            {query.id: text(query, aim) for query, aim in changed},
            sum(growth(aim, query.aim) for query, aim in changed),
            next((told for query, aim in changed if (told := poor(query, aim))), ""),
        )

    def _first_multiple(self, chosen: Sequence[int]) -> int:
        """Return a multiple of windows below which nothing can fit.

        Where tumbling windows always run, each that is m times as long holds m of the others, so
        that of n that touch a period at least n / m are left.
        """
        calendars = [self._queries[at].calendar for at in chosen]
        if any(has_runs(self._queries[at], self._budget) for at in chosen):
            return 2
        if any(each.schedule is not None or each.overlap > 1 for each in calendars):
            return 2
        return max(2, self._worst // (self._wall + 1))

    def _fits(self, aims: Mapping[int, Aim]) -> bool:
        """Whether the budget carries its alarms with some other aims; not if one cannot be kept."""
        units = list(self._units)
        try:
            for at, aim in aims.items():
                units[at] = to_loss_units(price_of(self._queries[at], aim).epsilon)
        except ConfigError:
            return False
        return worst_of(self._loads, units) <= self._wall

    def _fits_over(self, changed: Mapping[int, Calendar]) -> bool:
        """Whether the budget carries its alarms over some other windows."""
        if self._budget.unit is PrivacyUnit.EVENT:
            costs = list(self._costs)
            for at, calendar in changed.items():
                costs[at] = replace(costs[at], overlap=calendar.charged)
            return worst_of(loads_of(self._budget.unit, costs), self._units) <= self._wall
        if self._table is None:
            return False
        totals = self._totals.copy()
        for at, calendar in changed.items():
            charged = self._table.charged(calendar, self._budget, self._queries[at])
            more = (charged - self._counts[at]).astype(object)
            totals += more * self._units[at] * self._costs[at].cells_per_unit
        return bool(totals.max() <= self._wall)

    def _possible(self, chosen: Sequence[int]) -> bool:
        """Whether the budget would carry its alarms if some of them cost next to nothing."""
        least = [1 if at in chosen else units for at, units in enumerate(self._units)]
        return worst_of(self._loads, least) <= self._wall

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


def _highest_rate(aim: Aim) -> int:
    """Return the index of the largest max_fnr that is looked at and that is no coin's toss."""
    limit = _HALF if aim.max_fpr is None else min(_HALF, 1 - aim.max_fpr)
    index = rounded_index(limit)
    rate = rounded(index)
    coin = rate + (rate if aim.max_fpr is None else aim.max_fpr) >= 1
    return index - 1 if rate > _HALF or coin else index
