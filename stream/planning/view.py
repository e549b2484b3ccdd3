"""How a plan is shown: tables for a person, JSON lines for a program.

Only configuration is shown. Losses in tables are rounded to three decimals.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from accountant.budget.sharing import MOST_LISTED, NO_ROW
from accountant.units import PrivacyUnit, from_loss_units
from stream.decisions.records import epsilon_text
from stream.planning.budget import REFERENCE_MS
from stream.planning.changes import ChangeKind
from stream.planning.stretching import duration_text
from stream.windows.calendars import LocalCalendar
from stream.windows.instants import iso_utc
from stream.windows.localtime import load_zone

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import tzinfo

    from rich.console import RenderableType

    from accountant.budget.plan import AlarmPlan, ScopePlan
    from accountant.budget.sharing import Pair, Sharing
    from stream.model.alarms import Alarms
    from stream.planning.changes import Change
    from stream.planning.outlook import ScopeOutlook
    from stream.planning.refusal import Refusal
    from stream.planning.runs import RunOutlook

__all__ = ["change_text", "plan_lines", "plan_tables"]

_KINDS = (ChangeKind.TOLERANCE, ChangeKind.MAX_FNR, ChangeKind.WINDOW, ChangeKind.ALARMS)


def plan_tables(looked: Sequence[ScopeOutlook], alarms: Alarms) -> list[RenderableType]:
    """Return the tables and sentences of every budget.

    Args:
        looked: every budget.
        alarms: the configuration.
    """
    shown: list[RenderableType] = []
    for one in looked:
        shown += [_costs_table(one.plan, alarms), _verdict(one)]
        if one.runs:
            shown.append(_runs_table(one.runs, alarms))
        if one.plan.sharing is not None and len(one.plan.alarms) > 1:
            shown += _sharing_tables(one.plan.sharing, len(one.plan.alarms))
        if one.plan.worst_units is None or not one.plan.fits:
            shown.append(Text(_refusal_text(one, alarms)))
        if one.changes:
            shown += [_changes_table(one.changes), Text(_recommendation(one))]
    return shown


def plan_lines(looked: Sequence[ScopeOutlook], alarms: Alarms) -> Iterator[dict[str, object]]:
    """Yield the same as JSON objects: alarms, their budget, its runs, its overlaps, its changes.

    Args:
        looked: every budget.
        alarms: the configuration.
    """
    for one in looked:
        for alarm in one.plan.alarms:
            yield _alarm_line(alarm, one.plan, alarms)
        yield _budget_line(one)
        for run in one.runs:
            yield _run_line(run, one.plan)
        if one.plan.sharing is not None:
            for pair in one.plan.sharing.pairs:
                yield _pair_line(pair, one.plan)
        for change in one.changes:
            yield _change_line(change, one)


def change_text(change: Change) -> str:
    """Return a change as one sentence."""
    if change.kind is ChangeKind.EPSILON_MAX:
        return f'epsilon_max: "{next(iter(change.values.values()))}"'
    written = ", ".join(f"{alarm} {value}" for alarm, value in change.values.items())
    if len(change.values) > 1 and len(set(change.values.values())) == 1:
        which = (
            "all alarms" if len(change.values) == len(change.alarms) else ", ".join(change.values)
        )
        written = f"{next(iter(change.values.values()))} on {which}"
    return f"{change.kind.value}: {written}"


def _costs_table(plan: ScopePlan, alarms: Alarms) -> Table:
    terms = plan.terms
    renewed = f", period: {terms.period}" if terms.period else ""
    table = Table(
        title=f"budget {terms.scope}: epsilon_max {epsilon_text(terms.epsilon_max_units)}"
        f" per {terms.unit.value}{renewed}",
        title_justify="left",
    )
    table.add_column("alarm", overflow="fold")
    table.add_column("mechanism")
    # Broken here, since a narrow terminal would rather break names of alarms.
    for heading in ("epsilon", "limit", "ratio", "cells", f"per\n{_span(plan)}", "windows\nfit"):
        table.add_column(heading, justify="right")
    for alarm in plan.alarms:
        table.add_row(
            alarm.query,
            alarms.queries[alarm.query].mechanism,
            f"{float(alarm.epsilon):.3f}",
            f"{alarm.limit:.3f}",
            f"{alarm.ratio:.3f}",
            "no end" if alarm.cells is None else _charged(alarm.cells, alarm),
            "no end" if alarm.worst_units is None else _decimals(alarm.worst_units),
            "all" if alarm.windows_fit is None else _charged(alarm.windows_fit, alarm),
        )
    return table


def _charged(number: int, alarm: AlarmPlan) -> str:
    """Return how many cells, or runs, as a table shows it."""
    if not alarm.runs:
        return str(number)
    return f"{number} run" if number == 1 else f"{number} runs"


def _runs_table(runs: Sequence[RunOutlook], alarms: Alarms) -> Table:
    charged = "once" if alarms.budget.unit is PrivacyUnit.USER else "in every window"
    table = Table(title=f"runs under one noisy threshold, charged {charged}", title_justify="left")
    table.add_column("alarm", overflow="fold")
    # Two numbers to a cell: one line would be too long for a terminal.
    for heading in (
        "alarms",
        "threshold\nquestion\nnoise",
        "correction",
        "questions\nnegatives",
        "right\nfrom",
        "by\ntslm",
    ):
        table.add_column(heading, justify="right")
    for run in runs:
        questions = f"{run.questions}\n{run.negatives}"
        table.add_row(
            run.query,
            str(run.alarms),
            f"{run.threshold_scale:.4g}\n{run.question_scale:.4g}",
            f"{run.correction:.6g}",
            "no end" if run.questions is None else questions,
            "" if run.alpha is None else f"{run.alpha:.6g}",
            "no end" if run.windows_units is None else _decimals(run.windows_units),
        )
    return table


def _span(plan: ScopePlan) -> str:
    if plan.terms.unit is PrivacyUnit.EVENT:
        return "event"
    return "lifetime" if plan.terms.period == "lifetime" else "period"


def _verdict(one: ScopeOutlook) -> Text:
    plan = one.plan
    wall = _decimals(plan.terms.epsilon_max_units)
    verdict = ("fits", "green") if plan.fits else ("does not fit", "bold red")
    if plan.worst_units is None:
        head = f"worst case: no end; epsilon_max {wall}"
        if plan.fits and one.refusal is not None:
            verdict = ("fits at first", "yellow")
    else:
        how = plan.bound if plan.cells is None else f"{plan.bound}: a person reaches {plan.cells}"
        head = f"worst case {_decimals(plan.worst_units)} of {wall} ({how})"
    return Text.assemble(head, ": ", verdict)


def _sharing_tables(sharing: Sharing, alarms: int) -> list[RenderableType]:
    shown: list[RenderableType] = []
    if sharing.pairs:
        table = Table(title="which alarms share rows", title_justify="left")
        for heading in ("alarms", "share rows"):
            table.add_column(heading)
        for heading in ("sum", "worst row", "saved"):
            table.add_column(heading, justify="right")
        for pair in sharing.pairs:
            table.add_row(
                f"{pair.left}, {pair.right}",
                Text("yes" if pair.shared else f"no: {_why(pair)}"),
                _decimals(pair.plain_units),
                _decimals(pair.composed_units),
                f"{float(pair.saving):.0%}",
            )
        shown.append(table)
    overlap = sharing.overlap
    counted = f", {sharing.shared} pairs share rows, {sharing.separate} do not"
    shown.append(
        Text(
            f"all {alarms}: sum {_decimals(int(overlap.plain))}, worst row"
            f" {_decimals(int(overlap.upper_bound))}"
            f" ({'exact' if overlap.exact else 'safe bound'}): parallel composition saves"
            f" {float(sharing.gain):.0%}{counted if alarms > MOST_LISTED else ''};"
            f" worst row: {', '.join(sharing.worst) or 'none'}"
        )
    )
    return shown


def _why(pair: Pair) -> str:
    if pair.separated_by == (NO_ROW,):
        return "one can have no row"
    return ", ".join(pair.separated_by)


def _refusal_text(one: ScopeOutlook, alarms: Alarms) -> str:
    refusal = one.refusal
    if refusal is None:
        return f"first refused: none in {_looked_at(one, alarms)}"
    granted = sum(refusal.granted.values())
    after = f"after {granted} granted window{'' if granted == 1 else 's'}"
    if one.plan.terms.unit is PrivacyUnit.EVENT:
        start = datetime.fromtimestamp(refusal.start_ms / 1000, UTC)
        return f"first refused: a window of {refusal.query}, {start:%A %H:%M} UTC, {after}"
    periods = alarms.budget.periods
    if periods is None or periods.calendar is None:
        length = duration_text(refusal.start_ms - refusal.since_ms)
        date = "" if refusal.since_ms == REFERENCE_MS else f" ({iso_utc(refusal.start_ms)})"
        return f"first refused: windows of {refusal.query}, {length} after the start{date}, {after}"
    return (
        f"first refused: windows of {refusal.query} from {_clock(refusal, alarms)} on, {after}"
        " (in the fullest period)"
    )


def _looked_at(one: ScopeOutlook, alarms: Alarms) -> str:
    """Return where a refusal was looked for; see :mod:`stream.planning.refusal`."""
    if alarms.budget.periods is not None and alarms.budget.periods.calendar is not None:
        return "the fullest period"
    if all(alarms.queries[alarm.query].feed.history for alarm in one.plan.alarms):
        return "the declared history"
    return "the week looked at" if one.plan.terms.unit is PrivacyUnit.EVENT else "ten years"


def _clock(refusal: Refusal, alarms: Alarms) -> str:
    """Return when a window starts, by the clock of its period."""
    calendar = alarms.budget.periods.calendar if alarms.budget.periods else None
    start_ms = max(refusal.start_ms, refusal.since_ms)  # it may have begun in an earlier period
    if not isinstance(calendar, LocalCalendar):
        into = duration_text(start_ms - refusal.since_ms)
        return f"{into} into the period" if start_ms > refusal.since_ms else "its start"
    zone = load_zone(calendar.timezone)
    start, since = _local(start_ms, zone), _local(refusal.since_ms, zone)
    if calendar.size_days == 1:
        return f"{start:%H:%M}"
    return f"day {(start.date() - since.date()).days + 1}, {start:%H:%M}"


def _local(time_ms: int, zone: tzinfo) -> datetime:
    return datetime.fromtimestamp(time_ms / 1000, zone)


def _changes_table(changes: Sequence[Change]) -> RenderableType:
    """Return what each alarm, and all of them, would have to be changed to."""
    table = Table(title="smallest change that makes it fit", title_justify="left")
    table.add_column("of")
    kinds_shown = [kind for kind in _KINDS if any(one.kind is kind for one in changes)]
    for kind in kinds_shown:
        table.add_column(kind.value)
    groups: dict[tuple[str, ...], dict[ChangeKind, Change]] = {}
    for change in changes:
        if change.alarms:
            groups.setdefault(change.alarms, {})[change.kind] = change
    hidden = 0
    for alarms, kinds in groups.items():
        if len(groups) > MOST_LISTED and not any(one.possible for one in kinds.values()):
            hidden += 1
            continue
        name = alarms[0] if len(alarms) == 1 else "all together"
        cells = (_cell(kinds[kind]) if kind in kinds else "" for kind in kinds_shown)
        table.add_row(name, *map(Text, cells))  # [room] is no style
    if hidden:
        table.caption = f"{hidden} alarms for which no change alone is enough"
    return table


def _cell(change: Change) -> str:
    if not change.possible:
        return "no"
    values = list(change.values.values())
    everyone = len(values) == len(change.alarms)
    if len(set(values)) == 1 and (everyone or len(values) > MOST_LISTED):
        return values[0] + ("" if everyone else f" on {len(values)}")
    listed = [f"{alarm} {value}" for alarm, value in change.values.items()]
    more = len(listed) - MOST_LISTED
    return "\n".join([*listed[:MOST_LISTED], *([f"and {more} more"] if more > 0 else [])])


def _recommendation(one: ScopeOutlook) -> str:
    best = one.recommended
    wall = next((c for c in one.changes if c.kind is ChangeKind.EPSILON_MAX), None)
    lines = ["none of these changes is enough by itself"]
    if best is not None and best is not wall:
        lines = [f"recommended: {change_text(best)}"]
    if wall is not None:
        lines.append(f"or, for less privacy: {change_text(wall)}")
    return "\n".join(lines)


def _alarm_line(alarm: AlarmPlan, plan: ScopePlan, alarms: Alarms) -> dict[str, object]:
    query = alarms.queries[alarm.query]
    return {
        "record": "alarm",
        "alarm": alarm.query,
        "budget": plan.terms.scope,
        "mechanism": query.mechanism,
        "max_fnr": float(query.aim.max_fnr),
        "tolerance": query.tolerance,
        "epsilon": f"{float(alarm.epsilon):.12f}",
        "limit": alarm.limit,
        "ratio": alarm.ratio,
        "cells": alarm.cells,
        "worst": None if alarm.worst_units is None else epsilon_text(alarm.worst_units),
        "windows_fit": alarm.windows_fit,
    }


def _budget_line(one: ScopeOutlook) -> dict[str, object]:
    plan, best = one.plan, one.recommended
    line: dict[str, object] = {
        "record": "budget",
        "budget": plan.terms.scope,
        "unit": plan.terms.unit.value,
        "epsilon_max": epsilon_text(plan.terms.epsilon_max_units),
        "period": plan.terms.period,
        "worst": None if plan.worst_units is None else epsilon_text(plan.worst_units),
        "bound": plan.bound,
        "exact": plan.exact,
        "cells": plan.cells,
        "fits": plan.fits,
        "windows_fit": plan.windows_fit,
        "first_refusal": _refusal_line(one.refusal),
        "suggestion": plan.suggestion if best is None else change_text(best),
    }
    if plan.sharing is not None:
        overlap = plan.sharing.overlap
        line["overlap"] = {
            "sum": epsilon_text(int(overlap.plain)),
            "value": epsilon_text(int(overlap.value)),
            "upper_bound": epsilon_text(int(overlap.upper_bound)),
            "exact": overlap.exact,
            "utility_gain": float(plan.sharing.gain),
            "alarms": list(plan.sharing.worst),
            "pairs_sharing": plan.sharing.shared,
            "pairs_separate": plan.sharing.separate,
        }
    return line


def _run_line(run: RunOutlook, plan: ScopePlan) -> dict[str, object]:
    return {
        "record": "run",
        "alarm": run.query,
        "budget": plan.terms.scope,
        "alarms": run.alarms,
        "threshold_scale": run.threshold_scale,
        "question_scale": run.question_scale,
        "correction": run.correction,
        "windows": run.windows,
        "questions": run.questions,
        "negatives": run.negatives,
        "alpha": run.alpha,
        "beta": float(run.beta),
        "tslm_epsilon": f"{float(run.window_epsilon):.12f}",
        "tslm_worst": None if run.windows_units is None else epsilon_text(run.windows_units),
    }


def _refusal_line(refusal: Refusal | None) -> dict[str, object] | None:
    if refusal is None:
        return None
    return {
        "alarm": refusal.query,
        "since": iso_utc(refusal.since_ms),
        "window_start": iso_utc(refusal.start_ms),
        "window_end": iso_utc(refusal.end_ms),
        "granted": dict(refusal.granted),
    }


def _pair_line(pair: Pair, plan: ScopePlan) -> dict[str, object]:
    return {
        "record": "overlap",
        "budget": plan.terms.scope,
        "alarms": [pair.left, pair.right],
        "share_rows": pair.shared,
        "separated_by": list(pair.separated_by),
        "sum": epsilon_text(pair.plain_units),
        "worst": epsilon_text(pair.composed_units),
        "utility_gain": float(pair.saving),
    }


def _change_line(change: Change, one: ScopeOutlook) -> dict[str, object]:
    return {
        "record": "change",
        "budget": one.plan.terms.scope,
        "change": change.kind.value,
        "alarms": list(change.alarms),
        "values": dict(change.values) if change.possible else None,
        "amount": change.amount if change.possible and change.amount < float("inf") else None,
        "recommended": change is one.recommended,
    }


def _decimals(units: int) -> str:
    return f"{float(from_loss_units(units)):.3f}"
