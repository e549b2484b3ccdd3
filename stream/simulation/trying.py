"""From the settings of every alarm to what they do, and whether the budget carries them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from accountant.units import PrivacyUnit
from stream.decisions.mechanisms import as_charged, plans_of
from stream.model.alarms import cells_per_unit, scope_of
from stream.planning.budget import budget_plan
from stream.simulation.draws.held import holds_since
from stream.simulation.draws.panes import over_panes
from stream.simulation.draws.runs import stretches_of
from stream.simulation.results import AlarmResults, Measured, Simulation
from stream.simulation.settings import Untried, settings_of
from stream.simulation.trials import Bench

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from operators.base import Plan
    from stream.model.alarms import Alarms
    from stream.model.queries import Query
    from stream.simulation.crew import Tried
    from stream.simulation.history import CountedAlarm
    from stream.simulation.settings import Setting

__all__ = ["Trying"]


@dataclass(frozen=True, slots=True)
class Trying:
    """The settings of every alarm.

    Args:
        settings: what is tried.
        untried: what is not worth planning.
    """

    settings: tuple[Setting, ...]
    untried: tuple[Untried, ...]

    @classmethod
    def of(
        cls,
        alarms: Alarms,
        mechanisms: Sequence[str] | None,
        factors: Sequence[Fraction],
        rates: Sequence[Fraction] | None,
    ) -> Trying:
        """Find what is tried; see :func:`stream.simulation.settings.settings_of`."""
        settings: list[Setting] = []
        untried: list[Untried] = []
        for query in alarms.queries.values():
            able, unable = settings_of(query, mechanisms=mechanisms, factors=factors, rates=rates)
            settings += able
            untried += unable
        return cls(tuple(settings), tuple(untried))

    def bench(self, alarms: Alarms, counted: Mapping[str, CountedAlarm]) -> Bench:
        """Return what the processes need."""
        return Bench(
            counted=counted,
            conditions={query.id: query.condition for query in alarms.queries.values()},
            reached={
                query.id: cells_per_unit(query, alarms.budget) for query in alarms.queries.values()
            },
            settings=self.settings,
            stretches={
                query.id: stretches_of(query, counted[query.id], alarms.budget)
                for query in alarms.queries.values()
                if any(each.alarm == query.id and each.in_runs for each in self.settings)
            },
            holds={
                query.id: holds_since(query, counted[query.id])
                for query in alarms.queries.values()
                if query.hold_ms
            },
            panes={
                query.id: over_panes(query, counted[query.id], counted[query.panes])
                for query in alarms.queries.values()
                if query.panes
            },
        )

    def results(
        self,
        alarms: Alarms,
        counted: Mapping[str, CountedAlarm],
        tried: Sequence[Tried],
        runs: int,
    ) -> Simulation:
        """Sort what came of the settings by alarm, and ask the budget about each."""
        usual = plans_of(alarms)
        names = [name for name in counted if name in alarms.queries]
        measured: dict[str, list[Measured]] = {name: [] for name in names}
        untried: dict[str, list[Untried]] = {name: [] for name in names}
        for left in self.untried:
            untried[left.setting.alarm].append(left)
        for setting, one in zip(self.settings, tried, strict=True):
            if isinstance(one.plan, str):
                untried[setting.alarm].append(Untried(setting, one.plan))
                continue
            query = alarms.queries[setting.alarm]
            fits = _fits(_written(alarms, setting), setting, one.plan, usual)
            charged = _charged(query, setting, alarms)
            measured[query.id].append(Measured(setting, one.plan, fits, one.tally, charged))
        return Simulation(
            alarms=alarms,
            runs=runs,
            results=tuple(
                AlarmResults(
                    query=alarms.queries[name],
                    counted=counted[name],
                    measured=tuple(measured[name]),
                    untried=tuple(untried[name]),
                )
                for name in names
            ),
            reached={name: cells_per_unit(alarms.queries[name], alarms.budget) for name in names},
        )


def _written(alarms: Alarms, setting: Setting) -> Alarms:
    """Return the configuration with a setting's mechanism written into its alarm.

    Panes that nobody reads any more go; others keep the noise that they have now.
    """
    query = alarms.queries[setting.alarm]
    if not query.panes or setting.over_panes:
        query = replace(query, mechanism=setting.mechanism)
        return replace(alarms, queries={**alarms.queries, query.id: query})
    own = alarms.panes[query.panes]
    left = tuple(name for name in own.readers if name != query.id)
    panes = {name: one for name, one in alarms.panes.items() if name != own.id}
    if left:
        panes[own.id] = replace(own, readers=left)
    query = replace(query, mechanism=setting.mechanism, panes="")
    return replace(alarms, queries={**alarms.queries, query.id: query}, panes=panes)


def _fits(alarms: Alarms, setting: Setting, plan: Plan, usual: Mapping[str, Plan]) -> bool:
    """Whether an alarm's budget carries all its alarms at these worst cases."""
    query = alarms.queries[setting.alarm]
    plans = {**usual, query.id: as_charged(query, plan)}
    scope = scope_of(query, alarms)
    return next(
        each.fits for each in budget_plan(alarms, plans).scopes if each.terms.scope == scope
    )


def _charged(query: Query, setting: Setting, alarms: Alarms) -> int:
    """Return how often an event pays what a cell loses: for a pane once, else for every window.

    Under unit ``user`` a person pays for windows, in whatever number they are in: 1.
    """
    if alarms.budget.unit is PrivacyUnit.USER or setting.over_panes:
        return 1
    return query.calendar.charged
