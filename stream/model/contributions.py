"""The contribution rule of an alarm in words: how much of one person, or event, it counts.

What caps mean follows from the configuration alone, and may be shown to anybody. The rule itself is
kept by ``stream.counting.bounding``.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final

from accountant.units import PrivacyUnit
from operators.conditions.weights import Weight
from operators.registry import mechanism_of
from stream.model.alarms import windows_cap
from stream.model.headings import heading
from stream.model.numbers import decimal
from stream.windows.calendars import LocalCalendar, duration_words
from stream.windows.localtime import DAY_MS

if TYPE_CHECKING:
    from stream.model.alarm import AggregateSpec, Alarm
    from stream.model.alarms import Budget
    from stream.model.feeds import Feed

__all__ = ["article", "contribution_rule"]

_VALUES: Final = frozenset({Weight.SUM, Weight.OFFSET, Weight.LINEAR})


def contribution_rule(alarm: Alarm, budget: Budget) -> str:
    """Return one sentence, without a full stop, that says what one privacy unit counts for.

    Caps on a person are those of a window, and of panes where it is decided from these.

    Args:
        alarm: the alarm.
        budget: its unit and caps.
    """
    size = alarm.calendar.lengths[0]
    size_ms = size * DAY_MS if isinstance(alarm.calendar, LocalCalendar) else size
    window, caps = f"window of {duration_words(size_ms)}", budget.contribution
    if budget.unit is PrivacyUnit.EVENT:
        place = " and ".join([*alarm.counted.fields, window])
        often = alarm.calendar.charged
        windows = f", {often} windows at most" if often > 1 else ""
        return (
            f"each event counts once, in its {place}{windows}{_worth(alarm)}: one event is"
            " protected, not all that one person does"
        )
    few = windows_cap(alarm, budget)
    if mechanism_of(alarm.mechanism).panes is not None:
        window, few = "pane", caps.windows_per_period
    groups = len(alarm.domain)
    cap = min(caps.predicates_per_window, groups)
    where = f"in each {window}"
    if groups > 1:
        which = f"all {groups}" if cap == groups else f"the first {cap} of {groups}"
        where = f"in {which} groups of each {window}"
    if alarm.members.fields:
        where += f", in every {' and '.join(alarm.members.fields)}"
    if few is not None:
        where += f" (the first {few} of a period that they are in)"
    if any(spec.kind is not Weight.DISTINCT_UNITS for spec in alarm.aggregates):
        where += f", with at most {caps.events_per_cell} events in each group{_worth(alarm)}"
    return f"{article(alarm.feed.unit)} counts {where}"


def article(noun: str) -> str:
    """Return a noun with its indefinite article."""
    return f"{'an' if noun[:1] in 'aeiou' else 'a'} {noun}"


def _worth(alarm: Alarm) -> str:
    """Return what one event adds where values are added up, by field."""
    worth = dict.fromkeys(
        _value_text(spec, alarm.feed) for spec in alarm.aggregates if spec.kind in _VALUES
    )
    return f" (worth {' and '.join(worth)})" if worth else ""


def _value_text(spec: AggregateSpec, feed: Feed) -> str:
    resolution = spec.resolution or Fraction(1)
    lo, hi = (decimal(end * resolution) for end in (spec.lo, spec.hi))
    return f"{lo} to {hi} of {spec.field or heading(spec, feed)}"
