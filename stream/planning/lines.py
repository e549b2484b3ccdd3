"""A plan as JSON lines, for a program: only configuration is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream.decisions.records import epsilon_text
from stream.model.contributions import contribution_rule
from stream.model.losses import epsilon_fields, loss_name, wall_fields
from stream.model.numbers import decimal
from stream.planning.period_caps import cap_line
from stream.windows.instants import iso_utc

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from accountant.budget.plan import AlarmPlan, ScopePlan
    from accountant.budget.sharing import Pair
    from accountant.loss.gaussian import Gaussian
    from stream.model.alarms import Alarms
    from stream.planning.changes import Change
    from stream.planning.outlook import ScopeOutlook
    from stream.planning.panes import PaneShare
    from stream.planning.playing import Played
    from stream.planning.prices import PriceSetter
    from stream.planning.refusal import Refusal
    from stream.planning.runs import RunOutlook

__all__ = ["plan_lines"]


def plan_lines(looked: Sequence[ScopeOutlook], alarms: Alarms) -> Iterator[dict[str, object]]:
    """Yield the same as JSON objects: alarms, their budget, its runs, its overlaps, its changes.

    Args:
        looked: every budget.
        alarms: the configuration.
    """
    for one in looked:
        for alarm in one.plan.alarms:
            yield {**_alarm_line(alarm, one.plan, alarms), **_played(alarm.query, one.played)}
        yield _budget_line(one, alarms.budget.gaussian)
        for price in one.prices:
            yield _price_line(price, one.plan)
        for run in one.runs:
            yield _run_line(run, one.plan, alarms.budget.gaussian)
        for share in one.panes:
            yield _panes_line(share, one.plan, alarms.budget.gaussian)
        if one.plan.sharing is not None:
            for pair in one.plan.sharing.pairs:
                yield _pair_line(pair, one.plan)
        for change in one.changes:
            yield _change_line(change, one)


def _told(units: int | None) -> str | None:
    """Return loss units as records have them; ``None`` where there is no end of them."""
    return None if units is None else epsilon_text(units)


def _alarm_line(alarm: AlarmPlan, plan: ScopePlan, alarms: Alarms) -> dict[str, object]:
    query = alarms.running[alarm.query]
    return {
        "record": "alarm",
        "alarm": alarm.query,
        "budget": plan.terms.scope,
        "mechanism": query.mechanism,
        "max_fnr": float(query.aim.max_fnr),
        **({} if query.aim.promise == "misses" else {"promise": query.aim.promise}),
        "tolerance": query.tolerance,
        loss_name(alarms.budget.gaussian): f"{float(alarm.epsilon):.12f}",
        "limit": alarm.limit,
        "ratio": alarm.ratio,
        "cells": alarm.cells,
        "worst": _told(alarm.worst_units),
        "windows_fit": alarm.windows_fit,
        "contribution": contribution_rule(query, alarms.budget),
        "share": _told(alarm.share_units or None),
        **cap_line(alarm),
    }


def _played(alarm: str, whole: Played | None) -> dict[str, object]:
    """Return what an alarm asks for in a period and gets; nothing where there is no whole."""
    windows = None if whole is None else whole.alarms[alarm]
    return {
        "windows_asked": None if windows is None else windows.asked,
        "windows_granted": None if windows is None else windows.granted,
    }


def _budget_line(one: ScopeOutlook, gaussian: Gaussian | None) -> dict[str, object]:
    plan, best = one.plan, one.recommended
    line: dict[str, object] = {
        "record": "budget",
        "budget": plan.terms.scope,
        "unit": plan.terms.unit.value,
        **wall_fields(gaussian, plan.terms.epsilon_max_units),
        "period": plan.terms.period,
        "worst": _told(plan.worst_units),
        **epsilon_fields(gaussian, "worst", plan.worst_units),
        "bound": plan.bound,
        "exact": plan.exact,
        "cells": plan.cells,
        "fits": plan.fits,
        "windows_fit": plan.windows_fit,
        "first_refusal": _refusal_line(one.refusal),
        "played": None
        if one.played is None
        else {
            "since": iso_utc(one.played.since_ms),
            "until": iso_utc(one.played.until_ms),
            "whole": one.played.whole,
        },
        "total": None
        if one.totals is None
        else {
            "week": epsilon_text(one.totals.week_units),
            "year": epsilon_text(one.totals.year_units),
            **epsilon_fields(gaussian, "week", one.totals.week_units),
            **epsilon_fields(gaussian, "year", one.totals.year_units),
            "periods_a_week": one.totals.periods_week,
            "periods_a_year": one.totals.periods_year,
        },
        "suggestion": plan.suggestion if best is None else best.text,
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


def _price_line(price: PriceSetter, plan: ScopePlan) -> dict[str, object]:
    wider = None if price.epsilon is None else map(decimal, price.wider)
    return {
        "record": "price",
        "alarm": price.query,
        "budget": plan.terms.scope,
        "set_by": dict(zip(price.comparisons, map(decimal, price.tolerances), strict=True)),
        "wider": None if wider is None else dict(zip(price.comparisons, wider, strict=True)),
        loss_name(price.gaussian): None
        if price.epsilon is None
        else f"{float(price.epsilon):.12f}",
    }


def _run_line(run: RunOutlook, plan: ScopePlan, gaussian: Gaussian | None) -> dict[str, object]:
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
        "missed_in_silence": run.silent,
        "missed_in_near_silence": run.silent_near,
        **({} if run.silent_limit is None else {"max_fnr_in_silence": float(run.silent_limit)}),
        f"tslm_{loss_name(gaussian)}": f"{float(run.window_epsilon):.12f}",
        "tslm_worst": _told(run.windows_units),
    }


def _panes_line(share: PaneShare, plan: ScopePlan, gaussian: Gaussian | None) -> dict[str, object]:
    loss = loss_name(gaussian)
    return {
        "record": "shared",
        "noisy_panes": share.panes,
        "budget": plan.terms.scope,
        "windows": share.windows,
        loss: epsilon_text(share.units),
        f"tslm_{loss}": epsilon_text(share.apart_units),
        f"run_{loss}": _told(share.run_units),
        f"tree_{loss}": None if share.tree is None else _told(share.tree.units),
        "alarms": [
            {
                "alarm": one.alarm,
                "noises": one.noises,
                "missed": float(one.missed),
                "false": float(one.false),
                "standard_deviation": one.deviation,
            }
            for one in share.alarms
        ],
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
        "poor": change.poor or None,
        "recommended": change is one.recommended,
    }
