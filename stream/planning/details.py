"""What ``tocsin plan --details`` adds: prices, panes, holds, rows that are shared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accountant.units import PrivacyUnit
from operators.conditions.formula import atom_of
from operators.conditions.score import score_of
from operators.registry import mechanism_of
from stream.decisions.counts import deviation_of
from stream.decisions.mechanisms import panes_of
from stream.model.holds import held_windows, in_runs, shown_falsely
from stream.model.losses import loss_text
from stream.model.numbers import decimal
from stream.planning.budget import budget_plan
from stream.windows.calendars import duration_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accountant.budget.plan import AlarmPlan, ScopePlan
    from stream.model.alarm import Alarm
    from stream.model.alarms import Alarms, Budget

__all__ = ["detail_lines"]


def detail_lines(alarms: Alarms) -> Iterator[str]:
    """Yield sentences on every alarm and budget of a configuration, one a line.

    Args:
        alarms: the configuration, without alarms that leave something open.
    """
    budget = alarms.budget
    for query in alarms.by_name.values():
        if text := _decisive(query):
            yield f"{query.id}: {text} sets the cost"
        if query.hold_ms:
            yield f"{query.id}: {_hold_line(query)}"
    for plan in budget_plan(alarms).scopes:
        for alarm in plan.alarms:
            yield from _pane_lines(alarm, alarms)
            yield from _cap_lines(alarm, budget)
        yield from _sharing_lines(plan, budget)


def _decisive(alarm: Alarm) -> str:
    """Return which of several comparisons sets the price of an alarm; "" where there is none.

    Mechanisms that add up a loss for every comparison have a price that all of them set.
    """
    condition, mechanism = alarm.condition, mechanism_of(alarm.mechanism)
    names = {atom_of(one) for one in condition.formula.literals} - set(condition.guards)
    if len(names) < 2 or mechanism.conditions is None or mechanism.first_phase:
        return ""
    asked = condition if alarm.aim.promise == "misses" else condition.negated
    name = atom_of(score_of(asked, alarm.aim.tolerances).decisive)
    at = condition.formula.atoms.index(name)
    own = alarm.aim.tolerances[at] * alarm.aggregates[condition.atoms[name].statistic].per_unit
    return f"{alarm.texts[at]} with tolerance {decimal(own)}"


def _pane_lines(plan: AlarmPlan, alarms: Alarms) -> Iterator[str]:
    """Yield who shares panes and what these cost, and how accurate released counts are."""
    panes = alarms.running[plan.query]
    if not panes.readers:
        return
    gaussian, event = alarms.budget.gaussian, alarms.budget.unit is PrivacyUnit.EVENT
    loss = "no end" if plan.worst_units is None else loss_text(gaussian, plan.worst_units)
    yield (
        f"{', '.join(panes.readers)} {'share' if len(panes.readers) > 1 else 'has'} noisy panes,"
        f" {panes.id} ({panes.calendar.describe()}):"
        f" {'an event' if event else 'a person and period'} pays {loss} for all of them"
    )
    for reader in map(alarms.by_name.__getitem__, panes.readers):
        operator = panes_of(reader)
        if operator is not None and reader.releases_counts:
            deviation = deviation_of(reader, operator, reader.aim.panes)
            yield (
                f"{reader.id}: its noisy counts leave for nothing more, with a standard deviation"
                f" of {deviation:.3g}"
            )


def _hold_line(alarm: Alarm) -> str:
    """Of an SVT run each alarm is an episode of so many windows, or as many of a longer one."""
    false = float(alarm.aim.max_fpr or alarm.aim.max_fnr)
    shown, shown_most = shown_falsely(alarm)
    takes = "costs its group the first window alone"
    if in_runs(alarm):
        takes = f"takes one of the {alarm.aim.alarms} alarms of an SVT run"
    return (
        f"hold {duration_words(alarm.hold_ms)}: an episode of up to {held_windows(alarm) + 1}"
        f" windows {takes}. A window below the threshold fires with probability {false:.2g};"
        f" {shown:.2g} of them are shown as firing ({shown_most:.2g} in the worst case)"
    )


def _cap_lines(plan: AlarmPlan, budget: Budget) -> Iterator[str]:
    if plan.windows_cap is not None and plan.uncapped_units is not None:
        without = loss_text(budget.gaussian, plan.uncapped_units)
        yield (
            f"{plan.query}: a person counts in {plan.windows_cap} windows of a period at most;"
            f" without that it would be {without}"
        )


def _sharing_lines(plan: ScopePlan, budget: Budget) -> Iterator[str]:
    sharing = plan.sharing
    if sharing is None or len(plan.alarms) == 1:
        return
    for pair in sharing.pairs:
        shared = "share rows" if pair.shared else f"share no row: {', '.join(pair.separated_by)}"
        together = loss_text(budget.gaussian, pair.composed_units)
        yield f"{pair.left}, {pair.right}: {shared}; together {together}"
    yield (
        f"all {len(plan.alarms)}: sum {loss_text(budget.gaussian, int(sharing.overlap.plain))},"
        f" highest-cost row {loss_text(budget.gaussian, int(sharing.overlap.upper_bound))}:"
        f" parallel composition saves {float(sharing.gain):.0%}; that row is in"
        f" {', '.join(sharing.worst) or 'none'}"
    )
