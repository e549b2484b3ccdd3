"""How sure the answers of an SVT run are, late in a period in which it has not fired."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream.decisions.mechanisms import run_of
from stream.planning.budget import periods_of
from stream.planning.occupancy import ActiveWindows, first_ending_after

if TYPE_CHECKING:
    from stream.model.alarm import Alarm
    from stream.model.alarms import Budget

__all__ = ["fullest_windows", "missed_given_no_alarm"]


def missed_given_no_alarm(alarm: Alarm, budget: Budget) -> float | None:
    """Return how likely a cell at its threshold is missed in the last window of a silent run.

    Given that every other query of the run did not fire and was about a cell beyond the tolerance.

    Args:
        alarm: the alarm.
        budget: unit, periods and caps.

    Returns:
        ``None`` without runs, or where these have no end.

    Raises:
        ConfigError: its aim cannot be kept.

    Source: SVT-Exp, Definition 3; MIDE, Algorithm 1 (tslm).
    """
    run, windows = run_of(alarm), fullest_windows(alarm, budget)
    if run is None or windows is None:
        return None
    others = windows * len(alarm.domain) - 1
    return run.missed_in_silence(others * run.outlook.questions, beyond=True)


def fullest_windows(alarm: Alarm, budget: Budget) -> int | None:
    """Return the most windows of a period, or of a lifetime's declared history.

    ``None`` without end, and under unit ``event``.
    """
    if (table := periods_of(budget)) is not None:
        return int(table.windows(alarm.calendar).max())
    if budget.periods is None or alarm.feed.history is None:
        return None
    from_ms, until_ms = alarm.feed.history
    windows = ActiveWindows(alarm.calendar, from_ms, until_ms)
    first = alarm.calendar.first_starting_at(from_ms)
    return windows.between(first, first_ending_after(alarm.calendar, until_ms))
