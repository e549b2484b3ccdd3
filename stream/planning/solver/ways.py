"""Other windows than are asked for: evaluated while they fill, or sliding, where an hour is late.

A threshold that is passed waits for the next evaluation. Windows that wait too long can be
evaluated in steps, by early alarms; or be let slide, decided from panes or in SVT runs. Both watch
as much time as before. Of the numbers of steps that are tried the fewest are taken that wait no
longer than required.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from accountant.units import PrivacyUnit
from stream.model.lifecycles import EVERY_WINDOW
from stream.planning.stretching import window_text
from stream.windows.calendars import FixedCalendar
from stream.windows.cumulative import CumulativeCalendar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stream.planning.solver.case import Case
    from stream.windows.calendars import Calendar

__all__ = ["ways"]

_STEPS: Final = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 24, 30, 40, 48, 60, 90, 120, 240, 360, 480)
_SECOND_MS: Final = 1_000
_MINUTE_MS: Final = 60_000


def ways(case: Case) -> Iterator[Case]:
    """Yield a case as it is and, where its windows are too long for its requirements, with others.

    Args:
        case: what is asked.
    """
    yield case
    calendar, step_ms = case.alarm.calendar, _step_ms(case)
    if not step_ms or not isinstance(calendar, FixedCalendar):
        return
    if case.budget.unit is PrivacyUnit.EVENT:  # a person would be charged for every step
        way = _over(case, CumulativeCalendar(calendar.size_ms, step_ms, calendar.schedule))
        if not way.alarm.fires_too_early:
            yield way
    yield _over(case, replace(calendar, step_ms=step_ms))


def _step_ms(case: Case) -> int:
    """Return the longest steps in which windows are seen in time; 0 where none are looked for.

    They are not where the windows are soon enough over, where the mechanism is written, and where
    a lifecycle counts windows.
    """
    alarm = case.alarm
    most, calendar = alarm.max_delay_ms, alarm.calendar
    if most is None or alarm.delay_ms <= most or "mechanism" not in alarm.open:
        return 0
    if not isinstance(calendar, FixedCalendar):
        return 0
    if calendar.size_ms != calendar.step_ms or alarm.lifecycle != EVERY_WINDOW:
        return 0
    late_ms = alarm.delay_ms - calendar.step_ms
    publish_interval_ms = case.standing.settings.publish_interval_ms
    for steps in _STEPS:
        step_ms, rest = divmod(calendar.size_ms, steps)
        round_ms = _MINUTE_MS if step_ms >= _MINUTE_MS else _SECOND_MS
        uneven = rest or step_ms % round_ms or step_ms % publish_interval_ms
        if not uneven and step_ms + late_ms <= most:
            return step_ms
    return 0


def _over(case: Case, calendar: Calendar) -> Case:
    text = window_text(calendar, case.alarm.feed.time)
    return replace(case.with_calendar(calendar), windows=text)
