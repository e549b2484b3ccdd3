"""A plan as lines of 80 columns, for a person."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Final

from stream.planning.figures import ALMOST_NEVER, FOR_SURE
from stream.planning.stretching import duration_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stream.planning.figures import AlarmFigures, BudgetFigures, Detection

__all__ = ["number", "plan_lines", "rate", "varying_text"]

_WIDTH: Final = 80
_INDENT: Final = 16
_ROW: Final = "\0"
_COLUMNS: Final = (
    *("sure", "hardly", "false/w", "missed", "delay", "carries", "costs", "covered"),
)


def plan_lines(budgets: Sequence[BudgetFigures]) -> Iterator[str]:
    """Yield the lines of a plan: at most 25 for one alarm, one more for each further one.

    Args:
        budgets: of the plan.
    """
    for line in _lines(budgets):
        if line.startswith(_ROW):  # only a name is longer than a terminal is wide
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
    return f"{value:,.0f}" if value == round(value) or abs(value) >= 1000 else f"{value:.4g}"


def rate(value: float | None) -> str:
    """Return how often something is expected, to two digits."""
    return "?" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.2g}"


def varying_text(week: float | None) -> str:
    """Return what is added to the false alarms at the baseline; nothing where it is not known."""
    return "" if week is None else f"; {rate(week)} a week if counts vary about it (Poisson)"


def _loss(value: float | None) -> str:
    return "no end" if value is None else f"{value:,.3f}" if value >= 0.01 else f"{value:.3g}"


def _budget_lines(one: BudgetFigures) -> Iterator[str]:
    whose = "an event" if one.privacy_unit == "event" else f"a person, {one.period}"
    verdict = "fits" if one.fits else "DOES NOT FIT"
    least = "" if one.exact else "at most "
    yield f"budget {one.budget}: {least}{one.worst_text} of {one.limit_text}: {verdict}"
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
        sums = (f"{_loss(sum_)} over {periods} periods" for sum_, periods in (one.week, one.year))
        yield "  composed, a week and a year: " + ", ".join(sums)


def _alarm_lines(one: AlarmFigures, budget: BudgetFigures) -> Iterator[str]:
    tolerance = one.tolerance if isinstance(one.tolerance, str) else "by comparison"
    yield f"{one.alarm}: {one.mechanism}, tolerance {tolerance}"
    for each in one.detection:
        yield from _detection_lines(each)
    if one.not_computed:
        yield f"  fires         not computed: {one.not_computed}"
    if one.false_alarms is not None and one.baseline is not None:
        span = " to ".join(dict.fromkeys(map(number, one.baseline)))
        line = f"  false alarms  {rate(one.false_alarms)} a week, all groups at the baseline {span}"
        yield line + varying_text(one.false_alarms_varying)
    else:
        yield "  false alarms  not counted: write a baseline"
    where = "above the threshold"
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
        yield f"  lifecycle     leaves {rate(fired)} false alarms a week, {rate(missed)} missed"
    late = duration_text(round(one.delay_s * 1000))
    yield f"  delay         {late} at most, from due to published"
    if one.episodes is None:
        yield "  episodes      all: every window that the budget covers is decided"
    else:
        yield f"  episodes      a period carries {one.episodes}; after {one.alarms} alarms it does"
        yield "                not fire until the period ends"
    what = "run" if one.episodes is not None else "window and group"
    whose = "an event" if budget.privacy_unit == "event" else "a person and period"
    times = f" ({one.charged} times)" if one.charged not in {None, 1} else ""
    yield f"  costs         {_loss(one.per_person)} {budget.loss} {whose}{times}"
    over = f"{one.loss / one.lower_bound:.3g} times its lower bound" if one.lower_bound else ""
    yield f"                {_loss(one.loss)} a {what}, {over}"
    yield f"  windows       {_covered(one)}"


def _covered(one: AlarmFigures) -> str:
    if one.windows is None or one.covered is None:
        return "the budget is never renewed: it covers them until it is spent"
    if one.covered == one.windows:
        return f"the budget covers all {one.windows:,} of the fullest period"
    return f"the budget covers {one.covered:,} of {one.windows:,} of the fullest period"


def _detection_lines(one: Detection) -> Iterator[str]:
    named = f"{one.severity} " if one.severity else ""
    if one.for_sure is None or one.almost_never is None:
        yield f"  fires         {named}see --details: it has more than one edge"
    elif one.steps is not None:
        yield (
            f"  fires         {named}for sure ({FOR_SURE}) {number(one.for_sure)} steps beyond its"
            f" condition, almost never"
        )
        yield (
            f"                ({ALMOST_NEVER}) {number(-one.almost_never)} steps short of it; its"
            f" tolerances are {one.steps} steps"
        )
    else:
        yield (
            f"  fires         {named}for sure ({FOR_SURE}) at {number(one.for_sure)}, almost never"
            f" ({ALMOST_NEVER}) at {number(one.almost_never)};"
        )
        yield f"                the threshold is {number(one.threshold)}"


def _rows(budget: BudgetFigures) -> Iterator[str]:
    yield _ROW + "".join(f"{name:>8}" for name in _COLUMNS) + "  alarm"
    for one in budget.alarms:
        first = one.detection[0] if one.detection else None
        steps = " k" if first is not None and first.steps is not None else ""
        cells = (
            "-" if first is None else number(first.for_sure) + steps,
            "-" if first is None else number(first.almost_never) + steps,
            "-" if one.false_alarms is None else rate(one.false_alarms),
            rate(one.miss_rate),
            duration_text(round(one.delay_s * 1000)).replace(" ", ""),
            "all" if one.episodes is None else str(one.episodes),
            _loss(one.per_person),
            "all" if one.covered == one.windows else f"{one.covered}/{one.windows}",
        )
        yield _ROW + "".join(f"{cell:>8}" for cell in cells) + f"  {one.alarm}"


def _legend(budgets: Sequence[BudgetFigures]) -> Iterator[str]:
    yield f"sure: fires with {FOR_SURE}; hardly: with {ALMOST_NEVER} (k: steps of a score)"
    yield "false/w: a week, all groups at the baseline; missed: above the threshold, at most"
    yield "delay: from due to published, at most; carries: episodes in a period"
    whose = "event" if budgets[0].privacy_unit == "event" else "person and period"
    yield f"costs: {budgets[0].loss} a {whose}; covered: windows of the fullest period"


def _change_lines(head: str, changes: Sequence[str]) -> Iterator[str]:
    if not changes:
        yield f"{head.rsplit(';', 1)[0]}; no change of one thing alone is enough"
        return
    yield f"{head} one of:"
    yield from (f"  {text}" for text in changes)
