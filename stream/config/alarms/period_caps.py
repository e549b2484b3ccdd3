"""What a cap over a budget period cannot be said of, and what it can: configuration alone."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import numpy as np

from accountant.units import PrivacyUnit
from operators.registry import mechanism_of

if TYPE_CHECKING:
    from stream.config.findings import Findings
    from stream.model.alarms import Alarms
    from stream.windows.calendars import Calendar

__all__ = ["check_period_caps"]

_CAP = ("budget", "contribution", "max_windows_per_period")
_REFERENCE_MS: Final = 1_704_067_200_000  # 2024-01-01, a Monday
_LOOKED_AT_MS: Final = 400 * 86_400_000
_MOST_WINDOWS: Final = 20_000


def check_period_caps(alarms: Alarms, findings: Findings) -> None:
    """Refuse a cap beside what it does not go with, and one that limits nobody."""
    budget = alarms.budget
    few = budget.contribution.windows_per_period
    if few is None or budget.unit is PrivacyUnit.EVENT:
        return
    every = (*alarms.running.values(), *alarms.wanted.values())
    for query in every:
        if mechanism_of(query.mechanism).run is not None:
            findings.wrong(
                ("alarms", query.id, "mechanism"),
                f"a run of {query.mechanism} is charged to everybody, whoever is in how few of its"
                " windows: max_windows_per_period makes it no cheaper",
                "write mechanism: tslm, or leave max_windows_per_period out",
            )
        if query.calendar.overlap > few and not query.panes and query.aim.looks == 1:
            findings.wrong(
                ("alarms", query.id, "sql"),
                f"an event lies in {query.calendar.overlap} windows at once, and a person counts in"
                f" {few} of a period: what is true is counted far too low",
                f"write max_windows_per_period: {query.calendar.overlap} or more, windows that do"
                " not overlap, or mechanism: panes",
            )
        if query.share:
            findings.wrong(
                ("alarms", query.id, "share"),
                "shares of a budget whose periods have caps are not kept",
                "leave share out, or max_windows_per_period",
            )
    calendars = [query.calendar for query in every if not query.panes]
    periods = None if budget.periods is None else budget.periods.calendar
    if periods is None:
        findings.wrong(
            _CAP,
            "a cap over a period needs one that ends: of a lifetime nothing could be forgotten",
            "write period: 1d or longer, or leave max_windows_per_period out",
            key=True,
        )
        return
    if not calendars:
        return
    most = max(_most_windows(calendar, periods, few) for calendar in calendars)
    if most < few:
        windows = "windows or panes" if alarms.panes else "windows"
        findings.wrong(
            _CAP,
            f"no period holds more than {most} {windows} of any alarm: the cap limits nobody",
            f"write max_windows_per_period: {max(most - 1, 1)} or less, or leave it out",
        )


def _most_windows(calendar: Calendar, periods: Calendar, enough: int) -> int:
    """Return how many active windows touch one period at most, counted up to ``enough``."""
    touching: Counter[int] = Counter()
    index = calendar.next_active(int(calendar.containing(np.array([_REFERENCE_MS]))[0][0]))
    for _ in range(_MOST_WINDOWS):
        start_ms, end_ms = calendar.bounds(index)
        if start_ms >= _REFERENCE_MS + _LOOKED_AT_MS:
            break
        span = np.array([max(start_ms, 0), end_ms - 1])
        first, last = (int(at) for at in periods.containing(span)[1])
        touching.update(range(first, last + 1))
        if touching[last] >= enough:
            return enough
        index = calendar.next_active(index + 1)
    return max(touching.values(), default=0)
