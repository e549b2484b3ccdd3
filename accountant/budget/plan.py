"""What a configuration will cost, before any data is read.

Guarantee: the worst case given here is the largest loss that the filter
(:mod:`accountant.budget.filter`) can hold against one privacy unit if every window of every alarm
ends at its worst: a plan that fits is never refused. Under unit ``user`` it is exact over the
periods looked at. Under unit ``event`` it says whether it is exact: it is a safe bound where
windows that share rows may miss each other in time, or where there are too many regions to name
every row (see :mod:`accountant.regions.shapes`).

Under unit ``user`` an alarm may be charged by *runs* of windows, each once and for all its windows.
The plan counts one run for every tuple of periods that windows touch. A run that rang all its
alarms is followed by another where the budget has room: that one is beyond the plan, and what it
takes may be missing later.

Source: MIDE, Theorem 5, and Parallel Composition, Theorem 6 (unit ``event``); sequential
composition over the cells that one person reaches (unit ``user``); SVT-Exp, Theorem 3, for what a
run costs.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from accountant.budget.loads import kept_of, loads_of, worst_of
from accountant.budget.sharing import Covering, Sharing, sharing_of
from accountant.loss.gaussian import Gaussian
from accountant.units import UNITS_PER_EPSILON, PrivacyUnit, from_loss_units

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from accountant.budget.loads import AlarmCost, Load
    from accountant.records import BudgetTerms

__all__ = [
    "AlarmPlan",
    "BudgetPlan",
    "ScopePlan",
    "budget_text",
    "epsilon_needed",
    "plan_budget",
]

_ROW_BOUNDS = {True: "exact maximum overlap", False: "safe bound: windows may overlap less"}


@dataclass(frozen=True, slots=True)
class AlarmPlan:
    """One alarm's share.

    Args:
        query: its name.
        epsilon: exact loss of one cell of one window, or of one run.
        limit: the theoretical minimum for its promise.
        worst_units: what it costs the worst-off privacy unit by itself, in loss units, per period
            or over all time under unit ``event``; ``None`` without end.
        windows_fit: how many of its windows the wall holds per period (per instant under unit
            ``event``) if it were alone, beside the shares of others; ``None`` when they cost
            nothing. Where runs are charged, how many runs; ``None`` when all do.
        cells: how many of its cells (or runs) one privacy unit reaches at most, per period or at
            one row; ``None`` without end.
        runs: whether a whole run of windows is charged once.
        windows_cap: in how many of its windows a person counts in a period, at most; ``None`` for
            all that there are.
        uncapped_units: what it would cost without that cap, in loss units; ``None`` without end.
        share_units: what it keeps of every period for itself.
    """

    query: str
    epsilon: Fraction
    limit: float
    worst_units: int | None
    windows_fit: int | None
    cells: int | None
    runs: bool
    share_units: int
    windows_cap: int | None
    uncapped_units: int | None

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
        windows_fit: rounds (one window of every alarm that is active in one period) that fit per
            period when nothing else is drawn; ``None`` when all do that only open runs, and under
            unit ``event``: disjoint windows go on for ever.
        fits: whether no window of a bounded plan is ever refused; without end, whether one round
            fits.
        exact: whether some unit can lose as much as ``worst_units``.
        bound: how ``worst_units`` was found, in words.
        cells: under unit ``user``, the most cells (and runs) that one person reaches in a period,
            over all alarms and feeds; ``None`` without end, and under unit ``event``.
        sharing: under unit ``event``, which alarms share rows.
        suggestion: what to do when it doesn't fit, or when it runs out; else empty.
    """

    terms: BudgetTerms
    alarms: tuple[AlarmPlan, ...]
    worst_units: int | None
    windows_fit: int | None
    fits: bool
    exact: bool
    bound: str
    cells: int | None
    sharing: Sharing | None
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
        """What does not fit and what to do, one line per budget that needs it."""
        return "\n".join(_shortfall(scope) for scope in self.scopes if scope.suggestion)


def plan_budget(terms: Sequence[BudgetTerms], alarms: Sequence[AlarmCost]) -> BudgetPlan:
    """Say what every alarm costs and whether each budget carries its alarms.

    Args:
        terms: the budgets.
        alarms: what draws on them; each names one of the budgets as its scope.

    Raises:
        ValueError: an alarm names a scope that isn't among ``terms``, or alarms of one budget know
            of different kinds of periods.
    """
    by_scope: dict[str, list[AlarmCost]] = defaultdict(list)
    for alarm in alarms:
        by_scope[alarm.scope].append(alarm)
    if unknown := by_scope.keys() - {one.scope for one in terms}:
        raise ValueError(f"no budget is called {min(unknown)!r}")
    return BudgetPlan(tuple(_scope_plan(one, by_scope[one.scope]) for one in terms))


def epsilon_needed(units: int, gaussian: Gaussian | None = None) -> str:
    """Return the least ``epsilon_max`` of four decimals that holds a loss.

    Args:
        units: the loss, in loss units.
        gaussian: whose delta it has to keep, where a Gaussian promise is made.
    """
    if gaussian is not None:
        return f"{float(gaussian.needed(units)):.4f}"
    step = UNITS_PER_EPSILON // 10_000
    whole, rest = divmod(-(-units // step), 10_000)
    return f"{whole}.{rest:04d}"


def _scope_plan(terms: BudgetTerms, alarms: Sequence[AlarmCost]) -> ScopePlan:
    wall = terms.epsilon_max_units
    event = terms.unit is PrivacyUnit.EVENT
    endless = not event and any(alarm.charged_per_period is None for alarm in alarms)
    loads = loads_of(terms.unit, alarms)
    units = [alarm.epsilon_units for alarm in alarms]
    most = worst_of(loads, units)
    rounds = None if event else _rounds(loads, alarms, wall)
    shared = sum(alarm.share_units for alarm in alarms)
    sharing = None
    exact = not endless
    if event:
        # What costs nothing shares nothing: windows over noisy panes.
        charged = [one for one in alarms if one.epsilon_units]
        sharing = sharing_of(
            [Covering(one.query, one.shape, one.overlap * one.epsilon_units) for one in charged]
        )
        exact = _attained(sharing, charged, most)
    # Endless alarms run until the wall is reached; that they start at all is what can be promised.
    fits = kept_of(loads, alarms) <= wall
    return ScopePlan(
        terms=terms,
        alarms=tuple(
            _alarm_plan(terms, alarm, max(load[at] for load in loads), shared - alarm.share_units)
            for at, alarm in enumerate(alarms)
        ),
        worst_units=None if endless else most,
        windows_fit=rounds,
        fits=fits,
        exact=exact,
        bound=_ROW_BOUNDS[exact] if event else _summed(alarms),
        cells=None if event or endless else max((sum(load) for load in loads), default=0),
        sharing=sharing,
        suggestion=_suggestion(
            terms, most, rounds, fits=fits, endless=endless, shared=bool(shared)
        ),
    )


def _alarm_plan(terms: BudgetTerms, alarm: AlarmCost, most: int, kept_units: int) -> AlarmPlan:
    """Return one alarm's plan, beside what others keep of the budget."""
    user = terms.unit is PrivacyUnit.USER
    cells = None if user and alarm.charged_per_period is None else most
    reached = alarm.cells_per_unit if user else 1
    per_window = alarm.epsilon_units * reached
    room = terms.epsilon_max_units - kept_units
    windows_fit = room // per_window if per_window else None
    if alarm.ends and windows_fit is not None and windows_fit * reached >= most:
        windows_fit = None
    return AlarmPlan(
        query=alarm.query,
        epsilon=from_loss_units(alarm.epsilon_units),
        limit=alarm.limit,
        worst_units=None if cells is None else cells * alarm.epsilon_units,
        windows_fit=windows_fit,
        cells=cells,
        runs=alarm.runs_per_period is not None,
        share_units=alarm.share_units,
        windows_cap=alarm.windows_cap,
        uncapped_units=None
        if alarm.windows_per_period is None
        else max(alarm.windows_per_period) * per_window,
    )


def _rounds(loads: Sequence[Load], alarms: Sequence[AlarmCost], wall: int) -> int | None:
    """Return how many windows of every alarm fit in the fullest period; ``None`` if all do."""

    def kept(rounds: int) -> int:
        return kept_of([_reached(load, alarms, rounds) for load in loads], alarms)

    most = wall + 1 + sum(map(sum, loads))  # whatever costs something without end is beyond
    return None if kept(most) <= wall else max(bisect_right(range(most), wall, key=kept) - 1, 0)


def _reached(load: Load, alarms: Sequence[AlarmCost], rounds: int) -> Load:
    """Return what is charged of a load after so many windows of every alarm.

    A run is paid by its first window, and of an alarm with a cap the first windows are.
    """
    return tuple(
        min(rounds * alarm.cells_per_unit, cells)
        if alarm.ends or not cells
        else rounds * alarm.cells_per_unit
        for cells, alarm in zip(load, alarms, strict=True)
    )


def _attained(sharing: Sharing, alarms: Sequence[AlarmCost], worst: int) -> bool:
    """Whether some row loses the worst case: all who hold it cover it as often as they can."""
    overlap = sharing.overlap
    members = [alarms[at] for at in overlap.members]
    together = all(one.steady for one in members) or (
        len({one.windows for one in members}) == 1 and all(one.overlap == 1 for one in members)
    )
    return overlap.exact and overlap.value == worst and together


def _summed(alarms: Sequence[AlarmCost]) -> str:
    runs = any(alarm.runs_per_period is not None for alarm in alarms)
    return "sum over cells and runs" if runs else "sum over cells"


def budget_text(scope: str) -> str:
    """Return how a sentence names a budget: the only one, or that of a feed.

    Args:
        scope: its name, ``user`` or ``feed:NAME``.
    """
    return "the budget" if scope == "user" else f"the budget of feed {scope.removeprefix('feed:')}"


def _shortfall(scope: ScopePlan) -> str:
    """Return what a budget does not cover, and its suggestion."""
    if scope.fits:
        return scope.suggestion
    what = "one window of every alarm" if scope.worst_units is None else "every window"
    return f"{budget_text(scope.terms.scope)} does not cover {what}; {scope.suggestion}"


def _suggestion(
    terms: BudgetTerms,
    most: int,
    rounds: int | None,
    *,
    fits: bool,
    endless: bool,
    shared: bool,
) -> str:
    if not fits and shared:
        return "write smaller shares, or fewer"
    needed = epsilon_needed(most, Gaussian.read(terms.promise))
    if not fits:
        return f'write epsilon_max: "{needed}", or a change that `tocsin plan` lists'
    if not endless or rounds is None:
        return ""
    many = f"{rounds} window{'' if rounds == 1 else 's'}"
    return f"{budget_text(terms.scope)} covers about {many} of every alarm, then denies all"
