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
from stream.windows.cumulative import CumulativeCalendar
from stream.windows.localtime import DAY_MS

if TYPE_CHECKING:
    from stream.model.alarm import AggregateSpec, Alarm
    from stream.model.alarms import Budget
    from stream.model.feeds import Feed
    from stream.windows.calendars import Calendar

__all__ = ["article", "contribution_rule", "plural", "window_noun"]

_NOUNS: Final = {60_000: "minute", 3_600_000: "hour", DAY_MS: "day", 7 * DAY_MS: "week"}
_VALUES: Final = frozenset({Weight.SUM, Weight.OFFSET, Weight.LINEAR})


def contribution_rule(alarm: Alarm, budget: Budget) -> str:
    """Return one sentence, without a full stop, that says what one privacy unit counts for.

    Caps on a person are those of a window, and of panes where it is decided from these.

    Args:
        alarm: the alarm.
        budget: its unit and caps.
    """
    window = window_noun(alarm.calendar)
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
        window, few = "pane", budget.contribution.windows_per_period
    caps, cells = budget.contribution, len(alarm.domain)
    cap = min(caps.predicates_per_window, cells)
    noun = " and ".join(alarm.counted.fields if cap == cells else alarm.domain.fields)
    groups = " and ".join(alarm.members.fields)
    if not groups and (cells == 1 or not noun):
        where = f"once in each {window}"
    elif cap == cells:
        where = f"in every {noun} of the {window}"
    elif cap == 1:
        where = f"in the first {noun} of the {window} only"
    else:
        where = f"in the first {cap} {_several(alarm)} of the {window} only"
    if groups and cap < cells:
        where = f"in every {groups} {where.replace('in', 'of', 1)}"
    unit = article(alarm.feed.unit)
    if few is not None:
        one = "pane" if window == "pane" else "window"
        windows = one if few == 1 else f"{few} {one}s"
        where += f" (in the first {windows} of a period that they are in)"
    if all(spec.kind is Weight.DISTINCT_UNITS for spec in alarm.aggregates):
        return f"{unit} counts {where}"
    most = caps.events_per_cell
    events = "one event" if most == 1 else f"at most {most} events"
    each = " in each" if cap > 1 or groups else ""
    where = where if most == 1 else where.removeprefix("once ")
    return f"{unit} counts {where}, with {events}{each}{_worth(alarm)}"


def window_noun(calendar: Calendar) -> str:
    """Return what one window is called: ``hour``, ``week``, ``window of 90 minutes``."""
    size, step = calendar.lengths
    size_ms = size * DAY_MS if isinstance(calendar, LocalCalendar) else size
    whole = size == step or isinstance(calendar, CumulativeCalendar)
    if whole and size_ms in _NOUNS:
        return _NOUNS[size_ms]
    return f"window of {duration_words(size_ms)}"


def article(noun: str) -> str:
    """Return a noun with its indefinite article."""
    return f"{'an' if noun[:1] in 'aeiou' else 'a'} {noun}"


def plural(noun: str) -> str:
    """Return the regular plural of a noun."""
    if noun.endswith("y") and noun[-2:-1] not in tuple("aeiou"):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"


def _several(alarm: Alarm) -> str:
    fields = alarm.domain.fields
    return plural(fields[0]) if len(fields) == 1 else f"combinations of {' and '.join(fields)}"


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
