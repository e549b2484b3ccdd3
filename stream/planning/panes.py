"""Which alarms share noisy panes, what these cost a privacy unit, and what that saves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.errors import ConfigError
from accountant.units import PrivacyUnit, to_loss_units
from operators.panes import PaneQuestion, alternatives
from operators.registry import DEFAULT, OFFERED
from operators.single.adapter import promise_of
from stream.decisions.counts import deviation_of
from stream.decisions.mechanisms import as_charged, panes_of, price_of
from stream.model.alarms import cells_per_unit
from stream.model.losses import told_loss
from stream.planning.budget import REFERENCE_MS, PeriodTable, periods_of
from stream.windows.calendars import FixedCalendar
from stream.windows.cumulative import whole_windows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from fractions import Fraction

    from accountant.loss.gaussian import Gaussian
    from operators.panes import Alternative
    from stream.model.alarms import Budget
    from stream.model.queries import Query

__all__ = ["PaneShare", "pane_shares"]

RUNS: Final = next(one for one in OFFERED.values() if one.run is not None)
"""What keeps a run of windows."""

_YEAR_MS: Final = 366 * 86_400_000


@dataclass(frozen=True, slots=True)
class Errors:
    """What one alarm does at worst: certified upper bounds, from the exact law of its noise.

    Args:
        alarm: its name.
        noises: panes of a window, each with noise of its own.
        missed: probability that a predicate beyond its threshold does not ring.
        false: probability that one rings that is more than the tolerance allows below it.
        deviation: standard deviation of its released counts, in their unit; ``None`` where it
            releases none.
    """

    alarm: str
    noises: int
    missed: Fraction
    false: Fraction
    deviation: float | None


@dataclass(frozen=True, slots=True)
class PaneShare:
    """Alarms over the same panes.

    Args:
        panes: the query that counts and pays for them.
        windows: how long they are, in words.
        units: what a privacy unit loses, in loss units: an event by the one pane that it lies in,
            a person by all panes of a budget period (of a year, where there is no end of it).
        apart_units: what it would lose if each window of each alarm were decided by itself.
        alarms: what each of them does at worst, in the order of the file.
        pays: who pays for what, in words.
        tree: the cheapest way with sums of panes released besides them, where one is cheaper; no
            configuration leads there.
        run_units: unit ``user``: what runs of alarms would cost; ``None`` where they are no choice.
        gaussian: what the budget promises; ``None`` for a pure one.
    """

    panes: str
    windows: str
    units: int
    apart_units: int
    alarms: tuple[Errors, ...]
    pays: str
    tree: Alternative | None = None
    run_units: int | None = None
    gaussian: Gaussian | None = None

    @property
    def times(self) -> float:
        """How many times less that is."""
        return self.apart_units / self.units

    @property
    def text(self) -> str:
        """The same in words."""
        names = ", ".join(one.alarm for one in self.alarms)
        shared = "share" if len(self.alarms) > 1 else "has"
        return (
            f"{names} {shared} noisy panes, {self.panes} ({self.windows}):"
            f" {self.pays.format(told_loss(self.gaussian, self.units))};"
            f" window by window, {DEFAULT.name} would"
            f" take {told_loss(self.gaussian, self.apart_units)}"
            f" ({self.times:.1f} times as much)"
            + "".join(self._otherwise())
            + "".join(map(_released, self.alarms))
        )

    def _otherwise(self) -> Iterator[str]:
        if self.run_units is not None:
            cost = told_loss(self.gaussian, self.run_units)
            yield f", {RUNS.name} {cost} for a run of so many alarms as it is written"
        if self.tree is not None:
            branching = self.tree.tree.branching if self.tree.tree else 1
            yield (
                f"; with sums of {branching} panes and more released besides it would be"
                f" {float(self.tree.epsilon):.3f}, but no configuration leads there yet"
            )


def pane_shares(queries: Sequence[Query], budget: Budget) -> tuple[PaneShare, ...]:
    """Return what is shared among the queries of one budget, in their order.

    Args:
        queries: all that draw on it.
        budget: unit, periods and caps.

    Raises:
        ConfigError: an aim that cannot be kept.
    """
    known = {query.id: query for query in queries}
    return tuple(
        PaneShare(
            panes=query.id,
            windows=query.calendar.describe(),
            units=to_loss_units(as_charged(query, price_of(query)).epsilon)
            * _counted(query, budget),
            apart_units=sum(_apart(known[name], budget) for name in query.readers),
            alarms=tuple(_errors(known[name]) for name in query.readers),
            pays=_pays(query, budget),
            tree=_tree(query, [known[name] for name in query.readers], budget),
            run_units=_in_runs([known[name] for name in query.readers], budget),
            gaussian=budget.gaussian,
        )
        for query in queries
        if query.readers
    )


def _apart(query: Query, budget: Budget) -> int:
    """Return what a unit would lose by an alarm whose windows are each decided alone."""
    epsilon = DEFAULT.price(query.condition, query.aim).epsilon
    calendar = whole_windows(query.calendar)  # a look at every step is priced for all of them
    alone = replace(query, panes="", mechanism=DEFAULT.name, calendar=calendar)
    return to_loss_units(epsilon) * _counted(alone, budget)


def _tree(query: Query, readers: Sequence[Query], budget: Budget) -> Alternative | None:
    """Return the cheapest tree over some panes, where it is cheaper than the panes alone.

    None under a Gaussian promise: a person moves a sum of panes by more than either, and what that
    costs grows with the square.
    """
    if budget.gaussian is not None or query.firsts or any(one.aim.looks > 1 for one in readers):
        return None
    questions = []
    for one in readers:
        (literal,) = one.condition.formula.literals
        panes, overlap = one.aim.panes, one.calendar.overlap
        step = 1 if panes % overlap else panes // overlap
        test = one.condition.test(literal)
        questions.append(PaneQuestion(test, promise_of(one.aim), panes, step))
    counted = period = None
    if budget.unit is PrivacyUnit.USER:
        counted = _windows(query, budget)
        period = int(_periods(budget).windows(query.calendar).max())
    best = alternatives(questions, counted=counted or 1, period=period)[0]
    if best.tree is None or best.tree.levels == 1:
        return None
    return replace(best, units=best.units * cells_per_unit(query, budget))


def _in_runs(readers: Sequence[Query], budget: Budget) -> int | None:
    """Return what a person would lose if every alarm had runs, each of a period."""
    if budget.unit is PrivacyUnit.EVENT or any(one.aim.looks > 1 for one in readers):
        return None
    try:
        each = [RUNS.price(one.condition, one.aim).epsilon for one in readers]
    except ConfigError:
        return None
    return sum(map(to_loss_units, each))


def _counted(query: Query, budget: Budget) -> int:
    """Return in how many cells a unit is counted at most, over the windows that add up."""
    return _windows(query, budget) * cells_per_unit(query, budget)


def _windows(query: Query, budget: Budget) -> int:
    if budget.unit is PrivacyUnit.EVENT:
        return query.calendar.charged
    return int(_periods(budget).charged(query.calendar, budget, query).max())


def _periods(budget: Budget) -> PeriodTable:
    if (table := periods_of(budget)) is not None:
        return table
    ends_ms = np.array([REFERENCE_MS + _YEAR_MS])
    return PeriodTable(FixedCalendar(_YEAR_MS, _YEAR_MS), ends_ms - _YEAR_MS, ends_ms)


def _pays(query: Query, budget: Budget) -> str:
    """Return who pays for what, with a place for how much."""
    if budget.unit is PrivacyUnit.EVENT:
        return "an event pays {}, once"
    windows = _windows(query, budget)
    panes = "one pane" if windows == 1 else f"{windows} panes"
    return f"a person pays {{}} for {panes} of a {'period' if periods_of(budget) else 'year'}"


def _errors(query: Query) -> Errors:
    operator = panes_of(query)
    if operator is None:
        raise ValueError("only windows over panes have their errors")
    panes, released = query.aim.panes, query.releases_counts
    deviation = deviation_of(query, operator, panes) if released else None
    return Errors(query.id, panes, *operator.errors, deviation)


def _released(one: Errors) -> str:
    """Return what the noisy counts of an alarm are worth; nothing where it releases none."""
    if one.deviation is None:
        return ""
    return (
        f"; the noisy counts of {one.alarm} leave for nothing more, with a standard deviation of"
        f" {one.deviation:.3g}"
    )
