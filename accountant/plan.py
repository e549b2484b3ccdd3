"""What a configuration will cost, before any data is read.

Guarantee: the worst case given here is what the filter would hold if every window of every alarm
were decided; a plan that fits is never refused. Under unit ``event`` it is a SAFE BOUND: alarms are
taken to overlap wherever their windows may (see :mod:`accountant.overlap`).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from accountant.units import PrivacyUnit, from_loss_units

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from accountant.records import BudgetTerms

__all__ = ["AlarmCost", "AlarmPlan", "BudgetPlan", "ScopePlan", "plan_budget"]


@dataclass(frozen=True, slots=True)
class AlarmCost:
    """One alarm as the planner sees it.

    Args:
        query: its name.
        scope: the budget it draws on.
        epsilon_units: loss of one cell of one window, in loss units.
        limit: the least epsilon any mechanism can pay for the same promise.
        cells_per_unit: cells of one window that one privacy unit reaches.
        overlap: most of its windows that cover one instant.
        windows_per_period: most of its windows that touch one budget period; ``None`` when there is
            no end to them (``lifetime``), or under unit ``event``.
    """

    query: str
    scope: str
    epsilon_units: int
    limit: float
    cells_per_unit: int = 1
    overlap: int = 1
    windows_per_period: int | None = None


@dataclass(frozen=True, slots=True)
class AlarmPlan:
    """One alarm's share.

    Args:
        query: its name.
        epsilon: exact loss of one cell of one window.
        limit: the theoretical minimum for its promise.
        worst_units: its share of its budget's worst case, in loss units; ``None`` without end.
        windows_fit: how many of its windows the wall holds per period (per instant under unit
            ``event``) if it were alone; ``None`` when they cost nothing.
    """

    query: str
    epsilon: Fraction
    limit: float
    worst_units: int | None
    windows_fit: int | None

    @property
    def ratio(self) -> float:
        """How many times the theoretical minimum is paid."""
        return float(self.epsilon) / self.limit


@dataclass(frozen=True, slots=True)
class ScopePlan:
    """One budget and the alarms that draw on it.

    Args:
        terms: the budget.
        alarms: their shares.
        worst_units: loss of the worst-off privacy unit if every window is decided; ``None`` when
            there is no end to them.
        windows_fit: rounds (one window of every alarm) that fit per period when nothing else is
            drawn; under unit ``event``, ``None``: disjoint windows go on for ever.
        fits: whether no window of a bounded plan is ever refused; without end, whether one round
            fits.
        bound: how ``worst_units`` was found.
        suggestion: what to change when it doesn't fit, or when it runs out; else empty.
    """

    terms: BudgetTerms
    alarms: tuple[AlarmPlan, ...]
    worst_units: int | None
    windows_fit: int | None
    fits: bool
    bound: str
    suggestion: str


@dataclass(frozen=True, slots=True)
class BudgetPlan:
    """Every budget of a configuration.

    Args:
        scopes: one plan per budget, in the order given.
    """

    scopes: tuple[ScopePlan, ...]

    @property
    def fits(self) -> bool:
        """Whether every budget carries its alarms."""
        return all(scope.fits for scope in self.scopes)

    @property
    def alarms(self) -> tuple[AlarmPlan, ...]:
        """Every alarm's share."""
        return tuple(alarm for scope in self.scopes for alarm in scope.alarms)

    @property
    def suggestion(self) -> str:
        """What to change, one line per budget that needs it."""
        return "\n".join(scope.suggestion for scope in self.scopes if scope.suggestion)


def plan_budget(terms: Sequence[BudgetTerms], alarms: Sequence[AlarmCost]) -> BudgetPlan:
    """Say what every alarm costs and whether each budget carries its alarms.

    Args:
        terms: the budgets.
        alarms: what draws on them; each names one of the budgets as its scope.

    Raises:
        ValueError: an alarm names a scope that isn't among ``terms``.
    """
    by_scope: dict[str, list[AlarmCost]] = defaultdict(list)
    for alarm in alarms:
        by_scope[alarm.scope].append(alarm)
    if unknown := by_scope.keys() - {one.scope for one in terms}:
        raise ValueError(f"no budget is called {min(unknown)!r}")
    return BudgetPlan(tuple(_scope_plan(one, by_scope[one.scope]) for one in terms))


def _scope_plan(terms: BudgetTerms, alarms: Sequence[AlarmCost]) -> ScopePlan:
    wall = terms.epsilon_max_units
    shares = [_times(terms, alarm) for alarm in alarms]
    plans = tuple(
        AlarmPlan(
            query=alarm.query,
            epsilon=from_loss_units(alarm.epsilon_units),
            limit=alarm.limit,
            worst_units=None if times is None else times * alarm.epsilon_units,
            windows_fit=_quotient(wall, _per_window(terms, alarm)),
        )
        for alarm, times in zip(alarms, shares, strict=True)
    )
    one_round = sum(_per_window(terms, alarm) for alarm in alarms)
    endless = None in shares
    worst = None if endless else sum(plan.worst_units or 0 for plan in plans)
    # Endless alarms run until the wall is reached; that they start at all is what can be promised.
    fits = (one_round if worst is None else worst) <= wall
    event = terms.unit is PrivacyUnit.EVENT
    return ScopePlan(
        terms=terms,
        alarms=plans,
        worst_units=worst,
        windows_fit=None if event else _quotient(wall, one_round),
        fits=fits,
        bound="safe bound (every overlap of windows counted)" if event else "sum over cells",
        suggestion=_suggestion(terms, alarms, shares, fits=fits),
    )


def _per_window(terms: BudgetTerms, alarm: AlarmCost) -> int:
    """Loss of one privacy unit from one window."""
    cells = 1 if terms.unit is PrivacyUnit.EVENT else alarm.cells_per_unit
    return cells * alarm.epsilon_units


def _times(terms: BudgetTerms, alarm: AlarmCost) -> int | None:
    """How many cells of the alarm one privacy unit reaches at worst."""
    if terms.unit is PrivacyUnit.EVENT:
        return alarm.overlap
    if alarm.windows_per_period is None:
        return None
    return alarm.windows_per_period * alarm.cells_per_unit


def _quotient(wall: int, cost: int) -> int | None:
    return wall // cost if cost else None


def _suggestion(
    terms: BudgetTerms, alarms: Sequence[AlarmCost], shares: Sequence[int | None], *, fits: bool
) -> str:
    wall = terms.epsilon_max_units
    one_round = sum(_per_window(terms, alarm) for alarm in alarms)
    if None in shares:
        rounds = _quotient(wall, one_round)
        if not fits:
            least = _decimal(from_loss_units(one_round))
            return f"{terms.scope}: not one window of every alarm fits; they need {least}"
        if rounds is None:
            return ""
        return f"{terms.scope}: about {rounds} windows of every alarm fit, then all are denied"
    if fits:
        return ""
    times = sum(share or 0 for share in shares)
    needed = sum(
        (share or 0) * one.epsilon_units for share, one in zip(shares, alarms, strict=True)
    )
    dearest = max(
        zip(shares, alarms, strict=True), key=lambda pair: (pair[0] or 0) * pair[1].epsilon_units
    )[1]
    fewer = (
        "use tumbling windows or fewer alarms"
        if terms.unit is PrivacyUnit.EVENT
        else "use longer or fewer windows (`active`), fewer alarms"
    )
    return (
        f"{terms.scope}: {times} cells may cost at most "
        f"{_decimal(from_loss_units(wall) / times, up=False)} each; {fewer}, "
        f"a larger tolerance or max_fnr (first on {dearest.query!r}), "
        f'or set epsilon_max: "{_decimal(from_loss_units(needed))}"'
    )


def _decimal(value: Fraction, *, up: bool = True) -> str:
    """Return four decimals, rounded up (what is needed) or down (what is allowed)."""
    scaled = value * 10_000
    whole = (
        -(-scaled.numerator // scaled.denominator) if up else scaled.numerator // scaled.denominator
    )
    return f"{whole / 10_000:.4f}"
