"""A plan as lines of 80 columns, for a person."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Final

from operators.registry import mechanism_of
from stream.planning.false_alarms import rate
from stream.planning.figures import ALMOST_NEVER, FOR_SURE
from stream.planning.stretching import duration_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stream.planning.figures import AlarmFigures, BudgetFigures, Detection

__all__ = ["many", "number", "plan_lines", "varying_text"]

_WIDTH: Final = 80
_INDENT: Final = 16
_ROW: Final = "\0"
_COLUMNS: Final = (
    "sure",
    "rarely",
    "false/w",
    "missed",
    "delay",
    "episodes",
    "costs",
    "windows",
)


def plan_lines(budgets: Sequence[BudgetFigures]) -> Iterator[str]:
    """Yield the lines of a plan: at most 25 for one alarm, one more for each further one.

    Args:
        budgets: of the plan.
    """
    for line in _lines(budgets):
        if line.startswith(_ROW):  # only a name or a path is longer than a terminal is wide
            yield line.removeprefix(_ROW)
            continue
        yield from wrap(line, _WIDTH, subsequent_indent=" " * _INDENT, break_long_words=False)


def _lines(budgets: Sequence[BudgetFigures]) -> Iterator[str]:
    several = sum(len(one.alarms) for one in budgets) > 1
    for budget in budgets:
        yield from _budget_lines(budget)
        if several:
            yield from _rows(budget)
        else:
            for one in budget.alarms:
                yield from _alarm_lines(one, budget)
        for name, changes in budget.unmet:
            yield from _change_lines(f"{name} cannot meet its requirements; it could with", changes)
        for one in budget.alarms:
            if one.changes:
                why = "does not fit" if not budget.fits else "does not meet its requirements"
                yield from _change_lines(f"{one.alarm} {why}; it would with", one.changes)
    if several:
        yield from _legend(budgets)


def number(value: float | None) -> str:
    """Return a figure to four digits, or in full where it is whole."""
    if value is None:
        return "?"
    return f"{value:,.0f}" if abs(value) >= 1000 or value == round(value) else f"{value:.4g}"


def varying_text(week: float | None) -> str:
    """Return what is added to the false alarms at the baseline; nothing where it is not known."""
    return "" if week is None else f"; {rate(week)} a week if counts vary about it (Poisson)"


def _loss(value: float | None) -> str:
    return "no end" if value is None else f"{value:,.3f}" if value >= 0.01 else f"{value:.3g}"


def _budget_lines(one: BudgetFigures) -> Iterator[str]:
    whose = "an event" if _of_events(one) else f"a person, {one.period}"
    verdict = "fits" if one.fits else "DOES NOT FIT"
    least = "" if one.exact else "at most "
    yield f"budget {one.budget}: {least}{one.worst_text} of {one.limit_text}: {verdict}"
    if one.lock:
        yield _ROW + f"  all would fit, resolved anew: {one.lock}"
    if one.needed:
        yield f'  it would fit with epsilon_max: "{one.needed}"'
    yield f"  privacy unit: {whose}"
    if one.first_refused is not None:
        found = one.first_refused
        yield (
            f"  first refused: {found.alarm}, window of {found.window_start}, after"
            f" {found.granted} granted"
        )
    if one.week is not None and one.year is not None:
        spans = (("week", *one.week), ("year", *one.year))
        sums = (
            f"{_loss(loss)} in the fullest {span} ({many(periods, 'period')})"
            for span, loss, periods in spans
        )
        yield f"  composed: {', '.join(sums)}"


def _of_events(one: BudgetFigures) -> bool:
    return one.privacy_unit == "event"


def _whose(one: BudgetFigures) -> str:
    return "an event" if _of_events(one) else "a person and period"


def many(number: int, noun: str) -> str:
    """Return a number of things, whose plural is regular."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _alarm_lines(one: AlarmFigures, budget: BudgetFigures) -> Iterator[str]:
    tolerance = one.tolerance if isinstance(one.tolerance, str) else "by comparison"
    band = mechanism_of(one.mechanism).bands is not None
    yield f"{one.alarm}: {one.mechanism}" + ("" if band else f", tolerance {tolerance}")
    for each in one.detection:
        yield from _detection_lines(each)
    if one.not_computed:
        yield f"  fires         not computed: {one.not_computed}"
    if one.false_alarms is not None and one.baseline is not None:
        span = " to ".join(dict.fromkeys(map(number, one.baseline)))
        line = f"  false alarms  {rate(one.false_alarms)} a week, all groups at the baseline {span}"
        yield line + varying_text(one.false_alarms_varying)
    else:
        yield "  false alarms  not known: write a baseline"
    where = "outside the band" if band else "above the threshold"
    if one.bounded_error == "fpr":
        where = "beyond twice the tolerance from it"
    yield f"  misses        at most {rate(one.miss_rate)} of what is {where}"
    if one.miss_rate_given_no_alarm is not None:
        yield (
            f"                up to {rate(one.miss_rate_given_no_alarm)} late in a period that has"
            " not fired at all"
        )
    if one.after_lifecycle is not None:
        fired, missed = one.after_lifecycle
        yield (
            f"  lifecycle     leaves {rate(fired)} false alarms a week at most, {rate(missed)}"
            " missed"
        )
    late = duration_text(round(one.delay_s * 1000))
    yield f"  delay         {late} at most after the event that meets the condition"
    what = "window and group"
    if one.episodes is None or one.alarms is None:
        yield "  episodes      no limit: every window that the budget covers is decided"
    else:
        what = "SVT run"
        yield (
            f"  episodes      {one.episodes} in a period; after {many(one.alarms, 'alarm')} it"
            " does not fire until the next period"
        )
    times = f" ({one.charged} x {_loss(one.loss)})" if one.charged not in {None, 1} else ""
    yield f"  costs         {_loss(one.per_person)} {budget.loss} {_whose(budget)}{times}"
    over = f", {one.loss / one.lower_bound:.3g} x its lower bound" if one.lower_bound else ""
    yield f"                {_loss(one.loss)} for each {what}{over}"
    yield f"  windows       {_covered(one, budget)}"


def _covered(one: AlarmFigures, budget: BudgetFigures) -> str:
    if one.windows is None or one.covered is None:
        return "the budget is never renewed: it covers them until it is spent"
    share = "all" if one.covered == one.windows else f"{one.covered:,} of"
    span = "" if _of_events(budget) else " of the fullest period"
    return f"the budget covers {share} {many(one.windows, 'window')}{span}"


def _detection_lines(one: Detection) -> Iterator[str]:
    named = f"{one.severity}: " if one.severity else ""
    if one.for_sure is None or one.almost_never is None:
        yield f"  fires         {named}not one value: --html PATH draws the curve"
    elif one.steps is not None:
        yield (
            f"  fires         {named}with probability {FOR_SURE} at {number(one.for_sure)} steps"
            f" beyond its condition, {ALMOST_NEVER} at {number(-one.almost_never)} steps short of"
            f" it; its tolerances are {many(one.steps, 'step')}"
        )
    else:
        yield (
            f"  fires         {named}with probability {FOR_SURE} at {number(one.for_sure)},"
            f" {ALMOST_NEVER} at {number(one.almost_never)};"
        )
        yield f"                the threshold is {number(one.threshold)}"


def _rows(budget: BudgetFigures) -> Iterator[str]:
    yield _row(_COLUMNS, "alarm")
    for one in budget.alarms:
        first = one.detection[0] if one.detection else None
        steps = " k" if first is not None and first.steps is not None else ""
        cells = (
            "-" if first is None else number(first.for_sure) + steps,
            "-" if first is None else number(first.almost_never) + steps,
            "-" if one.false_alarms is None else rate(one.false_alarms),
            rate(one.miss_rate),
            duration_text(round(one.delay_s * 1000)).replace(" ", ""),
            "no limit" if one.episodes is None else str(one.episodes),
            _loss(one.per_person),
            "all" if one.covered == one.windows else f"{one.covered}/{one.windows}",
        )
        yield _row(cells, one.alarm)


def _row(cells: Sequence[str], alarm: str) -> str:
    pairs = zip(cells, _COLUMNS, strict=True)
    return _ROW + "".join(f" {cell:>{max(7, len(name))}}" for cell, name in pairs) + f"  {alarm}"


def _legend(budgets: Sequence[BudgetFigures]) -> Iterator[str]:
    yield (
        f"sure, rarely: value at which it fires with probability {FOR_SURE}, {ALMOST_NEVER} (k:"
        " steps of a score)"
    )
    yield (
        "false/w: false alarms a week, all groups at the baseline; missed: of what is above the"
        " threshold, or outside the band, at most"
    )
    yield "delay: from the event that meets the condition to the published alarm, at most"
    yield "episodes: in a period"
    span = "" if _of_events(budgets[0]) else " in the fullest period"
    yield f"costs: {budgets[0].loss} {_whose(budgets[0])}; windows: covered by the budget{span}"


def _change_lines(head: str, changes: Sequence[str]) -> Iterator[str]:
    if not changes:
        yield f"{head.rsplit(';', 1)[0]}; no change of one thing alone is enough"
        return
    yield f"{head} one of:"
    yield from (f"  {text}" for text in changes)
