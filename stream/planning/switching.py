"""Another mechanism for one alarm: runs of windows, where they cost less than every window.

What is said of a run here supposes the worst of quiet cells: that all of them lie just beyond the
tolerance. Then they still use no more than a tenth of a run's alarms, as ``max_fpr`` is made small
enough for that.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Final

from accountant.budget.plan import plan_budget
from accountant.errors import ConfigError
from operators.registry import OFFERED, mechanism_of
from stream.config.alarms.tolerances import aim_with
from stream.decisions.mechanisms import price_of
from stream.model.numbers import decimal
from stream.planning.budget import alarm_costs, periods_of
from stream.planning.changes import Change, ChangeKind
from stream.planning.search import index_within, largest, rounded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from accountant.budget.plan import ScopePlan
    from operators.base import Plan
    from operators.descriptors import Mechanism
    from stream.model.alarms import Budget
    from stream.model.queries import Query

__all__ = ["another_mechanism"]

_MOST_ALARMS: Final = 10
_SPENT_ON_NOTHING: Final = Fraction(1, 10)
_LEAST_RATE: Final = Fraction(1, 10**9)
_UNWELCOME: Final = 1.0  # as a number that is doubled: a spent run is silent


def another_mechanism(
    at: int,
    plan: ScopePlan,
    queries: Sequence[Query],
    plans: Mapping[str, Plan],
    budget: Budget,
) -> Change | None:
    """Return the change of one alarm to runs, with as many alarms as fit, 10 at most.

    Args:
        at: position of the alarm.
        plan: of its budget.
        queries: all alarms on it, in the plan's order.
        plans: worst case of each, by id.
        budget: unit, periods and caps.

    Returns:
        The change; ``None`` where no run fits or runs are no question: under unit ``event``, in a
        period without end, for conditions of several tests, or if it has them.
    """
    query, table = queries[at], periods_of(budget)
    if table is None:
        return None
    if not mechanism_of(query.mechanism).by_window or len(query.condition.formula.literals) != 1:
        return None
    asked = int(table.windows(query.calendar).max()) * len(query.domain)

    def fits(mechanism: Mechanism, alarms: int) -> bool:
        changed = _in_runs(query, mechanism, alarms, asked)
        try:
            priced = {**plans, query.id: price_of(changed)}
        except ConfigError:
            return False
        others = [*queries[:at], changed, *queries[at + 1 :]]
        costs = alarm_costs(plan.terms.scope, others, priced, budget)
        return plan_budget([plan.terms], costs).fits

    for mechanism in (one for one in OFFERED.values() if one.run is not None):
        if most := largest(partial(fits, mechanism), 0, _MOST_ALARMS):
            fpr = _in_runs(query, mechanism, most, asked).aim.max_fpr or _LEAST_RATE
            words = f"{mechanism.name}, alarms_per_period: {most}, max_fpr: {decimal(fpr)}"
            return Change(ChangeKind.MECHANISM, (query.id,), {query.id: words}, _UNWELCOME)
    return None


def _in_runs(query: Query, mechanism: Mechanism, alarms: int, asked: int) -> Query:
    """Return the alarm in runs whose quiet cells use up few alarms, however near they are."""
    aim = query.aim
    rate = min(aim.max_fpr or aim.max_fnr, _SPENT_ON_NOTHING * alarms / max(asked, 1))
    fpr = rounded(index_within(max(rate, _LEAST_RATE)))
    tried = aim_with(query, aim.tolerances, mechanism.name)
    return replace(query, mechanism=mechanism.name, aim=replace(tried, max_fpr=fpr, alarms=alarms))
