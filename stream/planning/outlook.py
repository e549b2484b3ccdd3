"""All that ``tocsin plan`` says of a budget: its plan, the first refusal, the smallest changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from stream.planning.budget import budget_plan, operator_plans
from stream.planning.changes import recommended, smallest_changes
from stream.planning.refusal import first_refusal

if TYPE_CHECKING:
    from accountant.plan import ScopePlan
    from stream.model import Alarms
    from stream.planning.changes import Change
    from stream.planning.refusal import Refusal

__all__ = ["ScopeOutlook", "outlook"]


@dataclass(frozen=True, slots=True)
class ScopeOutlook:
    """What becomes of one budget.

    Args:
        plan: its costs and its verdict.
        refusal: the first window that is refused, if one is found.
        changes: the smallest of each kind, where the plan does not fit.
    """

    plan: ScopePlan
    refusal: Refusal | None
    changes: tuple[Change, ...]

    @property
    def recommended(self) -> Change | None:
        """The smallest change of all."""
        return recommended(self.changes)


def outlook(alarms: Alarms) -> tuple[ScopeOutlook, ...]:
    """Look ahead for every budget of a configuration, in order."""
    plans = operator_plans(alarms)
    looked: list[ScopeOutlook] = []
    for plan in budget_plan(alarms, plans).scopes:
        queries = [alarms.queries[alarm.query] for alarm in plan.alarms]
        looked.append(
            ScopeOutlook(
                plan=plan,
                refusal=first_refusal(plan, queries, alarms.budget),
                changes=smallest_changes(plan, queries, plans, alarms.budget),
            )
        )
    return tuple(looked)
