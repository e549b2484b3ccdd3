"""All that ``tocsin plan`` says of a budget: plan, runs, the first refusal, smallest changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from accountant.units import PrivacyUnit
from stream.decisions.mechanisms import plans_of
from stream.model.holds import in_runs
from stream.planning.budget import budget_plan
from stream.planning.changes import recommended
from stream.planning.panes import pane_shares
from stream.planning.playing import played
from stream.planning.prices import price_setter
from stream.planning.refusal import first_refusal
from stream.planning.runs import run_outlook
from stream.planning.smallest import smallest_changes
from stream.planning.totals import totals

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from accountant.budget.plan import BudgetPlan, ScopePlan
    from stream.model.alarms import Alarms, Budget
    from stream.model.queries import Query
    from stream.planning.changes import Change
    from stream.planning.panes import PaneShare
    from stream.planning.playing import Played
    from stream.planning.prices import PriceSetter
    from stream.planning.refusal import Refusal
    from stream.planning.runs import RunOutlook
    from stream.planning.totals import Totals

__all__ = ["ScopeOutlook", "outlook", "starving"]


@dataclass(frozen=True, slots=True)
class ScopeOutlook:
    """What becomes of one budget.

    Args:
        plan: its costs and its verdict.
        refusal: the first window that is refused, if one is found.
        panes: what alarms share noisy panes, and what that saves.
        totals: what a week and a year come to; ``None`` where nothing adds up.
        played: a whole period in the order of admission; ``None`` where it has no end.
        changes: the smallest of each kind, where the plan does not fit.
        runs: of every alarm whose windows share runs of questions, in the plan's order.
        prices: which comparisons set the price, of every alarm that has several.
    """

    plan: ScopePlan
    refusal: Refusal | None
    changes: tuple[Change, ...]
    runs: tuple[RunOutlook, ...] = ()
    played: Played | None = None
    totals: Totals | None = None
    panes: tuple[PaneShare, ...] = ()
    prices: tuple[PriceSetter, ...] = ()

    @property
    def recommended(self) -> Change | None:
        """The smallest change of all."""
        return recommended(self.changes)


def outlook(alarms: Alarms) -> tuple[ScopeOutlook, ...]:
    """Look ahead for every budget of a configuration, in order."""
    plans = plans_of(alarms)
    looked: list[ScopeOutlook] = []
    for plan in budget_plan(alarms, plans).scopes:
        queries = [alarms.running[alarm.query] for alarm in plan.alarms]
        whole = played(plan, queries, alarms.budget)
        looked.append(
            ScopeOutlook(
                plan=plan,
                played=whole,
                totals=totals(plan, queries, alarms.budget),
                panes=pane_shares(queries, alarms.budget),
                refusal=_refusal(plan, queries, alarms.budget, whole),
                changes=smallest_changes(plan, queries, plans, alarms.budget),
                prices=tuple(
                    found
                    for query in queries
                    if (found := price_setter(query, alarms.budget.gaussian)) is not None
                ),
                runs=tuple(
                    run_outlook(query, alarms.budget) for query in queries if in_runs(query)
                ),
            )
        )
    return tuple(looked)


def starving(alarms: Alarms, planned: BudgetPlan) -> Iterator[str]:
    """Yield a sentence for every alarm that others leave no window in a whole period.

    Args:
        alarms: the configuration.
        planned: of its budgets.
    """
    for plan in planned.scopes:
        queries = [alarms.running[alarm.query] for alarm in plan.alarms]
        whole = None if plan.fits else played(plan, queries, alarms.budget)
        for name, windows in {} if whole is None else whole.fewer.items():
            if not windows.granted:
                yield (
                    f"{plan.terms.scope}: {name!r} gets none of its {windows.asked} windows if all "
                    "end at their worst, as `tocsin plan` shows"
                )


def _refusal(
    plan: ScopePlan, queries: Sequence[Query], budget: Budget, whole: Played | None
) -> Refusal | None:
    """Return the first refusal: played, or of people, but where shares make it another, counted."""
    if budget.unit is PrivacyUnit.EVENT or any(query.share for query in queries):
        return None if whole is None else whole.refused
    return first_refusal(plan, queries, budget)
