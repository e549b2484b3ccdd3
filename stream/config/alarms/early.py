"""What an alarm may not be that rings before its window is over: refused where it is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from accountant.units import PrivacyUnit
from operators.conditions.weights import Weight
from operators.descriptors import EARLY_HINT
from operators.registry import mechanism_of
from stream.windows.cumulative import CumulativeCalendar

if TYPE_CHECKING:
    from stream.config.alarms.statistics import Counting
    from stream.config.findings import Findings
    from stream.config.keys import AlarmModel
    from stream.config.sql.select import ParsedQuery
    from stream.model.alarms import Budget
    from stream.model.feeds import Feed
    from stream.windows.calendars import Calendar

__all__ = ["check_early", "is_steady", "looks_of"]

_OF_RUNS: Final = ("max_alarms", "repeat", "repeat_in", "max_fnr_given_no_alarm")


def check_early(
    model: AlarmModel,
    parsed: ParsedQuery,
    *,
    budget: Budget,
    findings: Findings,
) -> None:
    """Refuse what early alarms cannot be.

    Args:
        model: the alarm's keys.
        parsed: its SQL; over other than cumulative windows, there is nothing to refuse.
        budget: the wall.
        findings: receives errors.
    """
    if not parsed.cumulative:
        return
    mechanism = mechanism_of(model.mechanism.name)
    if budget.unit is not PrivacyUnit.EVENT and mechanism.panes is None:
        message = "early alarms are for privacy_unit: event; a person would be charged for every"
        hint = "write TUMBLE instead of CUMULATE, privacy_unit: event, or mechanism: panes"
        findings.at_sql(f"{message} step", hint, parsed.window_offset)
    if mechanism.early is None:
        message = f"{mechanism.name} decides a window when it is over, and not step by step"
        findings.wrong("mechanism", message, EARLY_HINT)
    how = model.mechanism
    if how.bounded_error != "fnr":
        message = "an early alarm bounds misses: it rings at the first look that says so"
        hint = "leave bounded_error out, or write TUMBLE"
        findings.wrong(how.at("bounded_error"), message, hint)
    for key in _OF_RUNS:
        if getattr(how, key) is not None:
            findings.wrong(
                how.at(key),
                f"{key} is for runs over many windows; an early alarm has one run per window and"
                " predicate, which rings once",
                f"remove {key}",
            )


def is_steady(counting: Counting, feed: Feed, budget: Budget) -> bool:
    """Tell whether an event moves every step count that it is in by one, whatever else is there.

    A distinct count forgets an event once its person comes again, an id once its copy does, sums
    are rounded to steps, and the score of several comparisons follows now one and now another.

    Args:
        counting: what the alarm counts.
        feed: where.
        budget: whose unit a neighbour differs in.
    """
    plain = all(spec.kind is Weight.COUNT for spec in counting.aggregates)
    condition = counting.condition
    single = set(condition.sensitivities) == {1} and len(condition.formula.literals) == 1
    return budget.unit is PrivacyUnit.EVENT and plain and single and feed.id is None


def looks_of(calendar: Calendar | None) -> int:
    """Return how often a cell of one window is looked at."""
    return calendar.steps if isinstance(calendar, CumulativeCalendar) else 1
