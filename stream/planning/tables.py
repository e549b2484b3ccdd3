"""A plan as tables and sentences, for a person.

Only configuration is shown. Losses in tables are rounded to three decimals.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from rich.text import Text

from accountant.budget.plan import epsilon_needed
from accountant.budget.sharing import MOST_LISTED, NO_ROW
from accountant.units import UNITS_PER_EPSILON, PrivacyUnit, to_loss_units
from stream.decisions.records import epsilon_text
from stream.model.losses import loss_name, rounded_loss, told_loss, wall_text, worth_text
from stream.planning.budget import REFERENCE_MS, periods_of
from stream.planning.changes import ChangeKind
from stream.planning.fitting import Fitting
from stream.planning.period_caps import cap_texts
from stream.planning.stretching import duration_text
from stream.windows.calendars import LocalCalendar
from stream.windows.localtime import load_zone
from stream.windows.shown import moment_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import tzinfo

    from rich.console import RenderableType

    from accountant.budget.plan import AlarmPlan, ScopePlan
    from accountant.budget.sharing import Pair, Sharing
    from accountant.loss.gaussian import Gaussian
    from stream.model.alarms import Alarms
    from stream.planning.changes import Change
    from stream.planning.outlook import ScopeOutlook
    from stream.planning.playing import Played
    from stream.planning.refusal import Refusal
    from stream.planning.runs import RunOutlook
    from stream.planning.totals import Totals

__all__ = ["plan_tables"]

_KINDS = (
    ChangeKind.TOLERANCE,
    ChangeKind.MAX_FNR,
    ChangeKind.WINDOW,
    ChangeKind.ALARMS,
    ChangeKind.MECHANISM,
)


def plan_tables(looked: Sequence[ScopeOutlook], alarms: Alarms) -> list[RenderableType]:
    """Return the tables and sentences of every budget.

    Args:
        looked: every budget.
        alarms: the configuration.
    """
    shown: list[RenderableType] = []
    for one in looked:
        shown += [_costs_table(one.plan, alarms), _verdict(one, alarms.budget.gaussian)]
        shown += [Text(price.text) for price in one.prices]
        shown += [Text(share.text) for share in one.panes]
        if one.panes and not one.plan.fits and one.plan.worst_units is not None:
            shown.append(Text(_less_text(one.plan.worst_units, alarms.budget.gaussian)))
        shown += map(Text, cap_texts(one.plan, alarms.budget.gaussian))
        if one.totals is not None:
            shown.append(Text(_totals_text(one.totals, alarms.budget.gaussian)))
        if one.runs:
            shown.append(_runs_table(one.runs, alarms))
        if one.plan.sharing is not None and len(one.plan.alarms) > 1:
            few = len(one.plan.alarms)
            shown += _sharing_tables(one.plan.sharing, few, alarms.budget.gaussian)
        if one.plan.worst_units is None or not one.plan.fits:
            shown.append(Text(_refusal_text(one, alarms)))
        if one.played is not None and (one.played.fewer or not one.played.whole):
            shown.append(Text(_played_text(one.played, _looked_at(one, alarms), alarms.timezone)))
            shown += [_played_table(one.played)] if one.played.fewer else []
        if one.changes:
            shown += [_changes_table(one.changes), Text(_recommendation(one))]
    return shown


def _costs_table(plan: ScopePlan, alarms: Alarms) -> Fitting:
    terms, gaussian = plan.terms, alarms.budget.gaussian
    renewed = f", period: {terms.period}" if terms.period else ""
    rows = [
        (
            alarm.query,
            alarms.running[alarm.query].mechanism,
            rounded_loss(gaussian, to_loss_units(alarm.epsilon)),
            rounded_loss(gaussian, alarm.limit * UNITS_PER_EPSILON),
            f"{alarm.ratio:.3f}",
            "no end" if alarm.cells is None else _charged(alarm.cells, alarm),
            _ended(gaussian, alarm.worst_units),
            "all" if alarm.windows_fit is None else _charged(alarm.windows_fit, alarm),
        )
        for alarm in plan.alarms
    ]
    wall = wall_text(gaussian, terms.epsilon_max_units)
    # Broken here, since a narrow terminal would rather break names of alarms.
    right = ("limit", "ratio", "cells", f"per\n{_span(plan)}", "windows\nfit")
    return Fitting.of(
        f"budget {terms.scope}: {wall} per {terms.unit.value}{renewed}",
        ("alarm", "mechanism"),
        (loss_name(gaussian), *right),
        rows,
    )


def _ended(gaussian: Gaussian | None, units: int | None) -> str:
    return "no end" if units is None else rounded_loss(gaussian, units)


def _charged(number: int, alarm: AlarmPlan) -> str:
    """Return how many cells, or runs, as a table shows it."""
    if not alarm.runs:
        return str(number)
    return f"{number} run" if number == 1 else f"{number} runs"


def _runs_table(runs: Sequence[RunOutlook], alarms: Alarms) -> Fitting:
    charged = "once" if alarms.budget.unit is PrivacyUnit.USER else "in every window"
    gaussian = alarms.budget.gaussian
    rows = [
        (
            run.query,
            str(run.alarms),
            f"{run.threshold_scale:.4g}\n{run.question_scale:.4g}",
            f"{run.correction:.6g}",
            "no end" if run.questions is None else f"{run.questions}\n{run.negatives}",
            "" if run.alpha is None else f"{run.alpha:.6g}",
            "" if run.silent is None else _silences(run),
            _ended(gaussian, run.windows_units),
        )
        for run in runs
    ]
    # Two numbers to a cell: one line would be too long for a terminal.
    headings = (
        *("alarms", "threshold\nquestion\nnoise", "correction", "questions\nnegatives"),
        *("right\nfrom", "missed if\nsilent", "by\ntslm" if gaussian is None else "rho by\ntslm"),
    )
    title = f"runs under one noisy threshold, charged {charged}"
    return Fitting.of(title, ("alarm",), headings, rows)


def _silences(run: RunOutlook) -> str:
    limit = "" if run.silent_limit is None else f"<= {float(run.silent_limit):g}\n"
    return f"{run.silent:.2g}\n{limit}{run.silent_near:.2g}"


def _span(plan: ScopePlan) -> str:
    if plan.terms.unit is PrivacyUnit.EVENT:
        return "event"
    return "lifetime" if plan.terms.period == "lifetime" else "period"


def _verdict(one: ScopeOutlook, gaussian: Gaussian | None) -> Text:
    plan, name = one.plan, loss_name(gaussian)
    wall = rounded_loss(gaussian, plan.terms.epsilon_max_units)
    verdict = ("fits", "green") if plan.fits else ("does not fit", "bold red")
    if plan.worst_units is None:
        head = f"worst case: no end; {name}_max {wall}"
        if plan.fits and one.refusal is not None:
            verdict = ("fits at first", "yellow")
    else:
        how = plan.bound if plan.cells is None else f"{plan.bound}: a person reaches {plan.cells}"
        worst = told_loss(gaussian, plan.worst_units) + worth_text(gaussian, plan.worst_units)
        head = f"worst case {worst} of {wall} ({how})"
    return Text.assemble(head, ": ", verdict)


def _totals_text(totals: Totals, gaussian: Gaussian | None) -> str:
    """Return what periods add up to for who is in all of them."""
    week, year = (
        f"{told_loss(gaussian, units)}{worth_text(gaussian, units)}"
        for units in (totals.week_units, totals.year_units)
    )
    return (
        f"adds up, for a person who is there in every period, to {week} in a week"
        f" ({totals.periods_week} periods) and {year} in a year ({totals.periods_year})"
    )


def _sharing_tables(
    sharing: Sharing, alarms: int, gaussian: Gaussian | None
) -> list[RenderableType]:
    shown: list[RenderableType] = []
    counted = "" if gaussian is None else f"{loss_name(gaussian)} "
    if sharing.pairs:
        rows = [
            (
                f"{pair.left}, {pair.right}",
                Text("yes" if pair.shared else f"no: {_why(pair)}"),
                rounded_loss(gaussian, pair.plain_units),
                rounded_loss(gaussian, pair.composed_units),
                f"{float(pair.saving):.0%}",
            )
            for pair in sharing.pairs
        ]
        left, right = ("alarms", "share rows"), (f"{counted}sum", "worst row", "saved")
        shown.append(Fitting.of("which alarms share rows", left, right, rows))
    overlap = sharing.overlap
    pairs = f", {sharing.shared} pairs share rows, {sharing.separate} do not"
    shown.append(
        Text(
            f"all {alarms}: {counted}sum {rounded_loss(gaussian, int(overlap.plain))}, worst row"
            f" {rounded_loss(gaussian, int(overlap.upper_bound))}"
            f" ({'exact' if overlap.exact else 'safe bound'}): parallel composition saves"
            f" {float(sharing.gain):.0%}{pairs if alarms > MOST_LISTED else ''};"
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
        start = _local(refusal.start_ms, load_zone(alarms.timezone))
        when = f"{start:%A} {moment_text(refusal.start_ms, alarms.timezone).split(' ', 1)[1]}"
        return f"first refused: a window of {refusal.query}, {when}, {after}"
    if periods_of(alarms.budget) is None:
        length = duration_text(refusal.start_ms - refusal.since_ms)
        date = (
            ""
            if refusal.since_ms == REFERENCE_MS
            else f" ({moment_text(refusal.start_ms, alarms.timezone)})"
        )
        return f"first refused: windows of {refusal.query}, {length} after the start{date}, {after}"
    return (
        f"first refused: windows of {refusal.query} from {_clock(refusal, alarms)} on, {after}"
        " (in the fullest period)"
    )


def _played_text(whole: Played, where: str, timezone: str) -> str:
    """Return what was played, and how far."""
    far = "" if whole.whole else f", played as far as {moment_text(whole.until_ms, timezone)}"
    granted = "" if whole.fewer else " every one is granted"
    return f"in {where}, if all windows end at their worst{far}:{granted}"


def _played_table(whole: Played) -> Fitting:
    """Return the alarms that get fewer windows than they ask for, the worst off first."""
    fewer = sorted(whole.fewer.items(), key=lambda each: each[1].granted / each[1].asked)
    none = Text("none", "bold red")
    rows = [
        (name, f"{one.asked}", f"{one.granted}" if one.granted else none) for name, one in fewer
    ]
    others, caption = len(whole.alarms) - len(fewer), ""
    if others:
        caption = "the other gets all" if others == 1 else f"the other {others} get all"
    left, right = ("alarm with too few windows",), ("asks for", "gets")
    return Fitting.of("", left, right, rows, caption)


def _looked_at(one: ScopeOutlook, alarms: Alarms) -> str:
    """Return where a refusal was looked for; see :mod:`stream.planning.refusal`."""
    if periods_of(alarms.budget) is not None:
        return "the fullest period"
    if all(alarms.running[alarm.query].feed.history for alarm in one.plan.alarms):
        return "the declared history"
    return "the week looked at" if one.plan.terms.unit is PrivacyUnit.EVENT else "ten years"


def _clock(refusal: Refusal, alarms: Alarms) -> str:
    """Return when a window starts, by the clock of its period."""
    table = periods_of(alarms.budget)
    calendar = None if table is None else table.calendar
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


def _changes_table(changes: Sequence[Change]) -> Fitting:
    """Return what each alarm, and all of them, would have to be changed to."""
    kinds_shown = [kind for kind in _KINDS if any(one.kind is kind for one in changes)]
    groups: dict[tuple[str, ...], dict[ChangeKind, Change]] = {}
    for change in changes:
        if change.alarms:
            groups.setdefault(change.alarms, {})[change.kind] = change
    rows: list[tuple[str | Text, ...]] = []
    for alarms, kinds in groups.items():
        if len(groups) > MOST_LISTED and not any(one.possible for one in kinds.values()):
            continue
        name = alarms[0] if len(alarms) == 1 else "all together"
        cells = (_cell(kinds[kind]) if kind in kinds else "" for kind in kinds_shown)
        rows.append((name, *map(Text, cells)))  # [room] is no style
    hidden = len(groups) - len(rows)
    caption = f"{hidden} alarms for which no change alone is enough" if hidden else ""
    title = "smallest change that makes it fit"
    return Fitting.of(title, ("of", *kinds_shown), (), rows, caption)


def _cell(change: Change) -> str:
    if not change.possible:
        return "no"
    return _values(change) + ("\npoor" if change.poor else "")


def _values(change: Change) -> str:
    values = list(change.values.values())
    everyone = len(values) == len(change.alarms)
    if len(set(values)) == 1 and (everyone or len(values) > MOST_LISTED):
        return values[0] + ("" if everyone else f" on {len(values)}")
    listed = [f"{alarm} {value}" for alarm, value in change.values.items()]
    more = len(listed) - MOST_LISTED
    return "\n".join([*listed[:MOST_LISTED], *([f"and {more} more"] if more > 0 else [])])


def _less_text(worst_units: int, gaussian: Gaussian | None) -> str:
    """Return what makes panes fit: another aim may share them otherwise, so none is searched."""
    needed = epsilon_needed(worst_units, gaussian) if gaussian else epsilon_text(worst_units)
    return (
        "to make it fit, widen the tolerance of every alarm that shares panes, let windows start"
        f' and end less often, or, for less privacy: epsilon_max: "{needed}"'
    )


def _recommendation(one: ScopeOutlook) -> str:
    best = one.recommended
    wall = next((c for c in one.changes if c.kind is ChangeKind.EPSILON_MAX), None)
    enough = any(change.possible for change in one.changes if change is not wall)
    lines = ["none of these changes is enough by itself"]
    if best is not None and best is not wall:
        lines = [f"recommended: {best.text}"]
    elif enough:
        lines = ["none of these changes leaves a useful alarm"]
    if wall is not None:
        lines.append(f"or, for less privacy: {wall.text}")
    return "\n".join(lines)
