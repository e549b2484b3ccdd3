"""How often an alarm fires falsely where every window is at its baseline.

From the configuration alone, and therefore public: ``baseline`` is what its author
writes, not what was counted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from operators.conditions.weights import Weight
from operators.registry import mechanism_of
from stream.model.alarms import has_runs
from stream.model.holds import in_runs
from stream.planning.detection import whole
from stream.planning.occupancy import ActiveWindows
from stream.windows.cumulative import whole_windows
from stream.windows.localtime import DAY_MS
from stream.windows.periods import REFERENCE_MS

if TYPE_CHECKING:
    from stream.model.alarm import Alarm
    from stream.model.alarms import Budget
    from stream.planning.detection import DetectionCurve
    from stream.windows.calendars import Calendar

__all__ = ["FalseAlarms", "false_alarms", "rate", "windows_in_a_week"]

_WEEK_MS: Final = 7 * DAY_MS
_WEEKS: Final = 54
_COUNTS: Final = frozenset({Weight.COUNT, Weight.DISTINCT_UNITS})
_MOST_GROUPS: Final = 2_000
_MOST_COUNTS: Final = 2_000
_MOST_WALKED: Final = 200  # of laws that are followed level by level, count by count
_DEVIATIONS: Final = 7


@dataclass(frozen=True, slots=True)
class FalseAlarms:
    """How often an alarm fires where its condition does not hold.

    Args:
        windows: in the fullest week of the schedule.
        week: false alarms expected in it where every window is exactly at the baseline.
        varying: the same where counts vary about it as independent arrivals do (Poisson), were no
            SVT run ever spent; ``None`` for other aggregates, or where it takes too long to add up.
        most: what its SVT runs carry in that week; infinite without runs.
        alike: how many groups are alike, and how likely each fires falsely at the baseline.
    """

    windows: int
    week: float
    varying: float | None
    most: float
    alike: tuple[tuple[int, float], ...]

    @property
    def fired_varying(self) -> float | None:
        """``varying`` as far as the SVT runs of a week carry it."""
        return None if self.varying is None else min(self.varying, self.most)


def false_alarms(law: DetectionCurve, budget: Budget) -> FalseAlarms | None:
    """Add up the false alarms of the fullest week, if all its windows are decided.

    An alarm is false where the condition does not hold. SVT runs bound how many there are: see
    ``docs/research/proofs/detection.md``.

    Args:
        law: of the alarm.
        budget: unit and periods.

    Returns:
        ``None`` where the alarm has no baseline, where no exact law is known, or where
        groups differ in more ways than are added up, or where it may fire too early.
    """
    alarm = law.alarm
    kinds = law.kinds
    if alarm.baseline is None or alarm.fires_too_early or len(kinds) > _MOST_GROUPS:
        return None
    found: list[tuple[int, float]] = []
    varying: float | None = 0.0
    for cell, size in kinds:
        baseline = float(alarm.baseline[cell])
        granules = np.array([whole(baseline / law.unit)], np.int64)
        here = law.chances(cell, granules)
        if here is None:
            return None
        found.append((size, 0.0 if law.due(cell, granules)[0] else float(here[0])))
        spread = _spread(law, cell, baseline)
        varying = None if varying is None or spread is None else varying + size * spread
    windows = windows_in_a_week(alarm.calendar)
    most = _most_alarms(alarm, budget, windows)
    return FalseAlarms(
        windows=windows,
        week=min(most, windows * sum(size * falsely for size, falsely in found)),
        varying=None if varying is None else windows * varying,
        most=most,
        alike=tuple(found),
    )


def rate(value: float | None) -> str:
    """Return how often something is expected, to two digits."""
    return "?" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.2g}"


def windows_in_a_week(calendar: Calendar) -> int:
    """Return how many active windows begin in the fullest week of the year from 2024 on.

    Windows that are evaluated in steps are one each.
    """
    calendar = whole_windows(calendar)
    edges = [REFERENCE_MS + week * _WEEK_MS for week in range(_WEEKS)]
    active = ActiveWindows(calendar, edges[0], edges[-1])
    numbers = [calendar.first_starting_at(edge) for edge in edges]
    return int(np.diff(active.before(np.array(numbers, np.int64))).max())


def _spread(law: DetectionCurve, cell: int, baseline: float) -> float | None:
    """Return how likely a cell fires falsely whose count is Poisson about the baseline."""
    from scipy.special import gammaln, xlogy  # noqa: PLC0415  # check has no baseline, as a rule

    if law.alarm.aggregates[0].kind not in _COUNTS or law.alarm.reference is not None:
        return None
    reach = _DEVIATIONS * math.sqrt(baseline) + _DEVIATIONS
    counts = np.arange(max(0, math.floor(baseline - reach)), math.ceil(baseline + reach) + 1)
    collective = mechanism_of(law.alarm.mechanism).collective
    if counts.size > (_MOST_WALKED if collective else _MOST_COUNTS):
        return None
    masses = np.exp(xlogy(counts, baseline) - gammaln(counts + 1) - baseline)
    chances = law.chances(cell, counts)
    if chances is None:
        return None
    return float(np.where(law.due(cell, counts), 0.0, chances) @ masses / masses.sum())


def _most_alarms(alarm: Alarm, budget: Budget, windows: int) -> float:
    """Return how often the SVT runs of a week may fire; no bound without runs.

    A run of early alarms is one group's in one window: it bounds nothing.
    """
    if not in_runs(alarm):
        return math.inf
    if not has_runs(alarm, budget):
        return alarm.aim.alarms * windows
    periods = budget.calendar
    return alarm.aim.alarms * (1 if periods is None else windows_in_a_week(periods) or 1)
