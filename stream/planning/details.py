"""What ``tocsin plan --details`` adds: runs, prices, panes, holds, rows that are shared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream.model.holds import held_windows, in_runs, shown_falsely
from stream.model.losses import loss_text
from stream.planning.budget import budget_plan
from stream.planning.panes import pane_shares
from stream.planning.prices import price_setter
from stream.planning.runs import run_outlook
from stream.planning.utility import utility_of
from stream.windows.calendars import duration_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accountant.budget.plan import ScopePlan
    from stream.model.alarm import Alarm
    from stream.model.alarms import Alarms, Budget
    from stream.planning.runs import RunOutlook

__all__ = ["detail_lines"]


def detail_lines(alarms: Alarms) -> Iterator[str]:
    """Yield sentences on every alarm and budget of a configuration, one a line.

    Args:
        alarms: the configuration, without alarms that leave something open.
    """
    budget = alarms.budget
    for query in alarms.by_name.values():
        utility = utility_of(query, budget)
        if utility.false is not None and utility.false.fired_varying is not None:
            varying = f"{utility.false.fired_varying:.3g} false alarms a week"
            yield f"{query.id}: {varying} if counts vary around the baseline (Poisson)"
        if in_runs(query):
            yield f"{query.id}: {_run_line(run_outlook(query, budget), budget)}"
        if (price := price_setter(query, budget.gaussian)) is not None:
            yield f"{query.id}: {price.text}"
        if query.hold_ms:
            yield f"{query.id}: {_hold_line(query)}"
    for plan in budget_plan(alarms).scopes:
        queries = [alarms.running[alarm.query] for alarm in plan.alarms]
        yield from (share.text for share in pane_shares(queries, budget))
        yield from _cap_lines(plan, budget)
        yield from _sharing_lines(plan, budget)


def _run_line(run: RunOutlook, budget: Budget) -> str:
    found = (
        f"an SVT run of {run.alarms} alarms: threshold noise"
        f" {run.threshold_scale:.4g}, query noise {run.query_scale:.4g}, correction"
        f" {run.correction:.6g}"
    )
    if run.queries is not None:
        found += f"; {run.queries} queries, {run.negatives} negative answers an alarm"
    if run.windows_units is not None:
        found += f"; window by window it would be {loss_text(budget.gaussian, run.windows_units)}"
    return found


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


def _cap_lines(plan: ScopePlan, budget: Budget) -> Iterator[str]:
    for alarm in plan.alarms:
        if alarm.windows_cap is not None and alarm.uncapped_units is not None:
            without = loss_text(budget.gaussian, alarm.uncapped_units)
            yield (
                f"{alarm.query}: a person counts in {alarm.windows_cap} windows of a period at"
                f" most; without that it would be {without}"
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
